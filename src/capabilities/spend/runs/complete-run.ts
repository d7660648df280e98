import { apiError, invalidFields } from '../../../contract/api-error.ts';
import { holdIdOfCall } from '../../../ledger/holds/hold.ts';
import { completionPosting } from './build-posting.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import type { EndOfCall } from './draft-context.ts';
import { type Drafted, isInvalid } from './draft-run.ts';
import { asDecided, findRunPrice, type RunPrice, withOtherPrices } from './find-price.ts';
import { postRuns } from './post-runs.ts';
import { isFieldError, settledCost, type TriedUsage, withStated, withStatedKept } from './price-run.ts';
import type { RunRow } from './queries.ts';
import { requireRun } from './read-run.ts';
import { countsOf, hasUsage, storedCounts } from './run-usage.ts';
import type { CompleteRun, RunView } from './schema.ts';
import { placeOfStored } from './scope-run.ts';
import { validateMeasured } from './validate-run.ts';
import { viewRun } from './view.ts';

/** Completes a run. `ended` is undefined for a client, which cannot complete the run of a gateway call. */
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
  const price = await priceOf(deps, run, body, ended);
  if (run.decision_id !== null) {
    await deps.failOpen.importNow(orgId, [run.decision_id]);
  }
  const drafted = draftCompletion(deps, call.now, run, body, price, ended);
  if (isInvalid(drafted)) {
    throw invalidFields(drafted.fieldErrors);
  }
  return postRuns(deps, call, [drafted], {
    bulk: false,
    async respond(db, [outcome]) {
      return viewRun(await requireRun(db, orgId, runId), { parts: outcome?.posting.parts });
    },
  });
}

/** Returns the price at the run's admission; undefined if there is none, or if the cost is given. */
async function priceOf(
  deps: RunDependencies,
  { org_id, model, served_model, decision_id, charged_at, provider, region }: RunRow,
  body: CompleteRun,
  ended: EndOfCall | undefined,
): Promise<RunPrice | undefined> {
  if (body.cost_usd !== undefined) {
    return undefined;
  }
  const priced = {
    model,
    served_model: body.served_model ?? served_model,
    decision_id,
    provider,
    region: body.region ?? region,
  };
  const price = await findRunPrice(deps, org_id, priced, charged_at, ended);
  return withOtherPrices(deps.prices, org_id, body, price, {
    atMs: charged_at.getTime(),
    at: ended?.calledAt ?? priced,
  });
}

/** Takes the completion through the stages of a run. Stored fields that the body leaves out keep their values from the creation. */
function draftCompletion(
  { ids, failOpen }: RunDependencies,
  ownNow: Date,
  run: RunRow,
  stated: CompleteRun & TriedUsage,
  price: RunPrice | undefined,
  end: EndOfCall | undefined,
): Drafted {
  // The clock may have been set back since the start of the run, or may be behind that of the process that started it.
  const now = new Date(Math.max(ownNow.getTime(), run.started_at.getTime()));
  const sent = withStated(asDecided(completed(run, stated), price), run.model);
  const fieldErrors = validateMeasured(sent, run.started_at, now);
  const body = withStatedKept({ ...(run.metadata && { metadata: run.metadata }), ...sent }, price);
  const counts = countsOf(body);
  // Input tokens from the creation may be an estimate. Output tokens are only known once there is output.
  const isUsageKnown = hasUsage(stated) || run.output_tokens > 0n;
  const served = body.served_model ?? run.served_model ?? run.model;
  const cost = settledCost(body, counts, served, price, isUsageKnown);
  if (isFieldError(cost) || fieldErrors.length > 0) {
    return { fieldErrors: isFieldError(cost) ? [...fieldErrors, cost] : fieldErrors };
  }
  const { decision_id: decisionId, org_id: orgId } = run;
  const failOpenAtMs = decisionId === null ? undefined : failOpen.decidedAtMs(orgId, decisionId);
  const place = placeOfStored(run, decisionId, failOpenAtMs);
  return completionPosting(
    run,
    { body, contentDigest: null, counts, cost, place, startedAt: run.started_at, end },
    { ids, now },
  );
}

/** Returns the body, completed by the stored fields. */
function completed(run: RunRow, body: CompleteRun & TriedUsage): CompleteRun & TriedUsage {
  const stored = storedCounts(run);
  return {
    input_tokens: Number(stored.inputTokens),
    cached_input_tokens: Number(stored.cachedInputTokens),
    cache_write_tokens: Number(stored.cacheWriteTokens),
    cache_write_1h_tokens: Number(stored.cacheWrite1hTokens),
    output_tokens: Number(stored.outputTokens),
    ...(run.service_tier !== null && { service_tier: run.service_tier }),
    ...(run.region !== null && { region: run.region }),
    ...(run.units !== null && { units: run.units }),
    ...body,
  };
}
