import { apiError, invalidField } from '../../../contract/api-error.ts';
import { formatUsd, parseSignedUsd } from '../../../kernel/money.ts';
import type { Posting } from '../../../ledger/posting.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import { type Adjustment, adjustmentPosting } from './build-posting.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import { postRuns } from './post-runs.ts';
import type { RunDraft, RunRow } from './queries.ts';
import { requireRun } from './read-run.ts';
import type { AdjustmentView } from './schema.ts';
import { viewStored } from './view.ts';

/** The request that corrects a run. */
export interface AdjustingCall extends RunCall {
  readonly actor: Adjustment['actor'];
  /** Stores the audit entry and the event. */
  record(tx: Transaction, change: Change): Promise<void>;
}

export async function adjustRun(
  deps: RunDependencies,
  call: AdjustingCall,
  runId: string,
  { amount_usd, reason }: { readonly amount_usd: string; readonly reason: string },
): Promise<AdjustmentView> {
  const run = await requireRun(deps.db, call.caller.tenantId, runId);
  if (run.cost_nanos === null) {
    throw apiError('conflict', 'The run is still running. Complete it with its actual cost.');
  }
  const delta = parseSignedUsd(amount_usd) ?? 0n;
  if (run.cost_nanos + run.adjusted_nanos + delta < 0n) {
    throw invalidField('amount_usd', 'out_of_range', 'Adjustments must not reduce the cost below zero.');
  }
  const parts = [{ code: 'j', quantity: 1n, nanos: delta }] as const;
  return postAdjustment(deps, call, run, { delta, parts, reason, price: null });
}

export async function postAdjustment(
  deps: RunDependencies,
  call: AdjustingCall,
  run: RunRow,
  adjustment: Omit<Adjustment, 'id' | 'actor'>,
): Promise<AdjustmentView> {
  const id = deps.ids.next('adj');
  const { actor } = call;
  const posting = adjustmentPosting(run, { id, actor, ...adjustment });
  return postRuns(deps, call, [posting], {
    bulk: false,
    async respond(db, [outcome]) {
      const posted = outcome?.kind === 'posted' ? outcome : undefined;
      return {
        id,
        run_id: run.id,
        amount_usd: formatUsd(adjustment.delta),
        reason: adjustment.reason,
        actor,
        uncovered_usd: formatUsd(posted?.charged?.uncovered ?? 0n),
        created_at: new Date(posted?.postedAtMs ?? call.now).toISOString(),
        run: await viewStored(db, await requireRun(db, run.org_id, run.id)),
      };
    },
    record: (tx, view) => call.record(tx, adjustmentChange(run, posting, view)),
  });
}

function adjustmentChange(
  before: RunRow,
  { run: { adjustedAfter = 0n }, amounts }: Posting<RunDraft>,
  { run, ...adjustment }: AdjustmentView,
): Change {
  const views = {
    before: { adjustment_usd: formatUsd(adjustedAfter - amounts.usd), price_version: before.price_version },
    after: {
      ...adjustment,
      // Included, so that an erasure of the customer finds the reason.
      customer_id: before.customer_id,
      adjustment_usd: formatUsd(adjustedAfter),
      price_version: run.price_version,
    },
  };
  return changeOf('run', before, views, 'run.adjusted');
}
