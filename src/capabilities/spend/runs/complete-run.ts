import { apiError, invalidFields } from '../../../contract/api-error.ts';
import { holdIdOfCall } from '../../../ledger/holds/hold.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import type { TriedUsage } from './drafted-cost.ts';
import { draftCompletion, isInvalid } from './drafts.ts';
import { type EndOfCall, withEnd } from './end-of-call.ts';
import { postRuns } from './post-runs.ts';
import { requireRun } from './read-run.ts';
import { findRunPrice } from './run-price.ts';
import type { CompleteRun, RunView } from './schema.ts';
import { viewRun } from './view.ts';

/** `ended` is undefined for a client, which cannot complete the run of a call of this service. */
export async function completeRun(
  deps: RunDependencies,
  call: RunCall,
  runId: string,
  body: CompleteRun & TriedUsage,
  ended?: EndOfCall,
): Promise<RunView> {
  const orgId = call.caller.tenantId;
  const run = await requireRun(deps.db, orgId, runId);
  if (run.status !== 'running') {
    throw apiError('conflict', `The run is not running: its status is \`${run.status}\`.`);
  }
  if (ended === undefined && run.decision_id === holdIdOfCall(run.id)) {
    throw apiError('conflict', 'The run is completed by the gateway, when its call ends.');
  }
  const price =
    body.cost_usd === undefined
      ? await findRunPrice(
          deps,
          orgId,
          { ...run, served_model: body.served_model ?? run.served_model },
          run.charged_at,
        )
      : undefined;
  if (run.decision_id !== null) {
    await deps.failOpen.importNow(orgId, [run.decision_id]);
  }
  const failOpenAtMs = (decisionId: string) => deps.failOpen.decidedAtMs(orgId, decisionId);
  const drafted = draftCompletion(run, body, { ids: deps.ids, now: call.now, price, failOpenAtMs });
  if (isInvalid(drafted)) {
    throw invalidFields(drafted);
  }
  return postRuns(deps, call, [ended === undefined ? drafted : withEnd(drafted, ended)], {
    bulk: false,
    amountField: 'cost_usd',
    respond: async (db) => viewRun(await requireRun(db, orgId, runId)),
  });
}
