import { apiError, invalidField } from '../../../contract/api-error.ts';
import { formatUsd, parseSignedUsd } from '../../../kernel/money.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import { draftAdjustment } from './drafts.ts';
import { postRuns } from './post-runs.ts';
import { requireRun } from './read-run.ts';
import type { AdjustmentView } from './schema.ts';
import { viewRun } from './view.ts';

export async function adjustRun(
  deps: RunDependencies,
  call: RunCall,
  runId: string,
  { amount_usd, reason }: { readonly amount_usd: string; readonly reason: string },
): Promise<AdjustmentView> {
  const orgId = call.caller.tenantId;
  const run = await requireRun(deps.db, orgId, runId);
  if (run.cost_nanos === null) {
    throw apiError('conflict', 'The run is still running. Complete it with its actual cost.');
  }
  const delta = parseSignedUsd(amount_usd) ?? 0n;
  if (run.cost_nanos + run.adjusted_nanos + delta < 0n) {
    throw invalidField('amount_usd', 'out_of_range', 'Adjustments must not reduce the cost below zero.');
  }
  const id = deps.ids.next('adj');
  return postRuns(deps, call, [draftAdjustment(run, { id, delta, reason })], {
    bulk: false,
    amountField: 'amount_usd',
    async respond(db, [outcome]) {
      const uncovered = outcome?.kind === 'posted' ? (outcome.charged?.uncovered ?? 0n) : 0n;
      return {
        id,
        run_id: runId,
        amount_usd: formatUsd(delta),
        reason,
        uncovered_usd: formatUsd(uncovered),
        created_at: call.now.toISOString(),
        run: viewRun(await requireRun(db, orgId, runId)),
      };
    },
  });
}
