/**
 * Postings in the form in which they are settled: with the held amount if their cost is unknown, and under the id of their
 * unsettled run.
 */
import { noParts } from '../../kernel/cost-parts.ts';
import type { Amounts } from '../../kernel/limits.ts';
import type { Mark, Posting } from '../posting.ts';
import type { UnsettledRun } from './existing-records.ts';

interface WithAmounts {
  readonly amounts: Amounts;
}

/** Returns the posting with the held amount as its cost if the actual cost is unknown. A larger known amount is kept. */
export function withKnownCost<Run>(posting: Posting<Run>, hold: WithAmounts | undefined): Posting<Run> {
  const heldUsd = hold?.amounts.usd ?? 0n;
  return posting.costAsHeld === undefined || posting.amounts.usd >= heldUsd
    ? posting
    : { ...posting, amounts: { ...posting.amounts, usd: heldUsd }, parts: noParts, cacheSavings: 0n };
}

/** Returns the posting of a run in progress with the cost that was charged already, and with the tokens known so far. */
export function withAmountsOf<Run>(
  posting: Posting<Run>,
  { amounts, paid: { parts } }: UnsettledRun,
): Posting<Run> {
  const { inputTokens, outputTokens } = posting.usage;
  return { ...posting, amounts: { ...amounts, tokens: inputTokens + outputTokens }, parts };
}

/** Returns the posting with another id for its run, and for its chain if the run starts one. */
export function withRunId<Run>(posting: Posting<Run>, runId: string): Posting<Run> {
  const { scope, run, runUnder } = posting;
  return {
    ...posting,
    runId,
    run: runUnder?.(runId) ?? run,
    scope: scope.chain_id === posting.runId ? { ...scope, chain_id: runId } : scope,
  };
}

/** Returns the marks of the caller, and the mark that says why the cost is not that of a price. */
export function costMarks({ costAsHeld, isUnpriced, marks = [] }: Posting): Mark[] {
  if (costAsHeld !== undefined) {
    return [...marks, costAsHeld];
  }
  return isUnpriced === true ? [...marks, 'unpriced'] : [...marks];
}
