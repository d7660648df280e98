import { apiError, invalidFields } from '../../../contract/api-error.ts';
import type { Mark } from '../../../ledger/posting.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import { draftCompletion, isInvalid } from './drafts.ts';
import { postRuns } from './post-runs.ts';
import { requireRun } from './read-run.ts';
import { findRunPrice } from './run-price.ts';
import type { CompleteRun, RunView } from './schema.ts';
import { viewRun } from './view.ts';

/** `marks` are set in addition to those of the ledger; `responseId` is the provider's id of the response. */
export async function completeRun(
  deps: RunDependencies,
  call: RunCall,
  runId: string,
  body: CompleteRun,
  marks: readonly Mark[] = [],
  responseId?: string,
): Promise<RunView> {
  const orgId = call.caller.tenantId;
  const run = await requireRun(deps.db, orgId, runId);
  if (run.status !== 'running') {
    throw apiError('conflict', `The run is not running: its status is \`${run.status}\`.`);
  }
  const price =
    body.cost_usd === undefined ? await findRunPrice(deps, orgId, run, run.charged_at) : undefined;
  if (run.decision_id !== null) {
    await deps.failOpen.importNow(orgId, [run.decision_id]);
  }
  const failOpenAtMs = (decisionId: string) => deps.failOpen.decidedAtMs(orgId, decisionId);
  const drafted = draftCompletion(run, body, { ids: deps.ids, now: call.now, price, failOpenAtMs });
  if (isInvalid(drafted)) {
    throw invalidFields(drafted);
  }
  const named =
    responseId === undefined ? drafted : { ...drafted, run: { ...drafted.run, response_id: responseId } };
  return postRuns(deps, call, [marks.length === 0 ? named : { ...named, marks }], {
    bulk: false,
    amountField: 'cost_usd',
    respond: async (db) => viewRun(await requireRun(db, orgId, runId)),
  });
}
