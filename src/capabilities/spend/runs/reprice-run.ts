/** Corrects a run whose model had no price. Such a run was posted at the held amount, at the default rates of its org, or at 0. */
import { apiError, invalidField, invalidFields } from '../../../contract/api-error.ts';
import { negatedParts, noParts, sumOfParts } from '../../../kernel/cost-parts.ts';
import { postableAmount } from '../../../ledger/postings/amount-range.ts';
import { unitErrors } from '../../../ledger/service-fields.ts';
import type { PriceInForce } from '../models/index.ts';
import { type AdjustingCall, postAdjustment } from './adjust-run.ts';
import type { RunDependencies } from './dependencies.ts';
import { chargeOf } from './price-run.ts';
import { pricedName, type RunRow, readPaid } from './queries.ts';
import { requireRun } from './read-run.ts';
import { storedCounts } from './run-usage.ts';
import type { AdjustmentView } from './schema.ts';
import { isWithoutPrice } from './view.ts';

export async function repriceRun(
  deps: RunDependencies,
  call: AdjustingCall,
  runId: string,
): Promise<AdjustmentView> {
  const orgId = call.caller.tenantId;
  const run = await requireRun(deps.db, orgId, runId);
  if (run.cost_nanos === null || !run.marks.includes('unpriced')) {
    throw apiError('conflict', 'Only runs marked `unpriced` can be repriced.');
  }
  if (!isWithoutPrice(run)) {
    throw apiError('conflict', 'The run was repriced already.');
  }
  const price = await findLaterPrice(deps, run, call.now);
  if (price === undefined) {
    throw invalidField(
      'model',
      'invalid_value',
      `The model \`${pricedName(run)}\` has no price. Set one, or make it an alias, then try again.`,
    );
  }
  const fieldErrors = unitErrors(price, run);
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
  const charge = chargeOf(price, run, storedCounts(run));
  const cost = postableAmount(charge.usd, run.model, 'output_tokens');
  if (typeof cost !== 'bigint') {
    throw invalidField(cost.field, cost.code, cost.message);
  }
  const delta = cost - run.cost_nanos - run.adjusted_nanos;
  const before = await readPaid(deps.db, orgId, run.id);
  // If retention has deleted entries, it is unknown which kinds the old cost is counted in.
  const isWhole = before.usd === run.cost_nanos + run.adjusted_nanos;
  const parts = isWhole ? sumOfParts(charge.parts, negatedParts(before.parts)) : noParts;
  const reason = `Priced as ${price.versionId}`;
  return postAdjustment(deps, call, run, { delta, parts, reason, price });
}

/**
 * Returns the price at the time of the run, if it was set later with an earlier start and has the units of the run. Otherwise
 * returns the current price.
 */
async function findLaterPrice(
  { prices }: Pick<RunDependencies, 'prices'>,
  run: RunRow,
  now: Date,
): Promise<PriceInForce | undefined> {
  const name = pricedName(run);
  const atThatTime = await prices.find(run.org_id, name, run.charged_at.getTime(), run);
  return atThatTime !== undefined && unitErrors(atThatTime, run).length === 0
    ? atThatTime
    : prices.find(run.org_id, name, now.getTime(), run);
}
