/** The entry that reverses the charge of an unsettled run, in the scope in which it was charged. */
import { applicableCounters } from '../../kernel/admission.ts';
import { negatedParts } from '../../kernel/cost-parts.ts';
import { prepareReversal } from '../../kernel/reversal.ts';
import type { OrgLedgerState } from '../holds/org-ledger-state.ts';
import type { Posting } from '../posting.ts';
import { uncommittedPosting } from './accept-posting.ts';
import { surfaceOf } from './effective-scope.ts';
import type { UnsettledRun } from './existing-records.ts';
import type { UncommittedPosting } from './uncommitted-posting.ts';

export function reversalOf<Run>(
  orgState: OrgLedgerState,
  { runId, run, scope, depth, atMs, amounts, paid, usage, reversalId }: UnsettledRun<Run>,
  nowMs: number,
): UncommittedPosting<Run> {
  const posting: Posting<Run> = {
    kind: 'reverse',
    runId,
    externalId: null,
    entryId: reversalId,
    note: 'Reverses the held amount: the run was settled late',
    scope,
    depth,
    amounts: { usd: -amounts.usd, tokens: -amounts.tokens, requests: -amounts.requests },
    parts: negatedParts(paid.parts),
    // The reversed charge was the held amount, which has no savings.
    cacheSavings: 0n,
    decisionId: null,
    holdSeconds: 0,
    atMs,
    priceVersion: null,
    usage: {
      ...usage,
      inputTokens: -usage.inputTokens,
      cachedInputTokens: -usage.cachedInputTokens,
      cacheWriteTokens: -usage.cacheWriteTokens,
      outputTokens: -usage.outputTokens,
    },
    run,
  };
  const { limits } = orgState;
  const { counters: windows } = applicableCounters(limits, scope, atMs, surfaceOf(posting), nowMs);
  const charged = prepareReversal({ windows, amounts, paid });
  return uncommittedPosting(orgState, posting, nowMs, { scope, atMs, charged });
}
