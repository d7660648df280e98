import { type HeldService, type Hold, restoredHold } from '../../../ledger/holds/hold.ts';
import { findEnds } from '../../../ledger/postings/ledger-writes.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { PriceInForce } from '../models/index.ts';
import type { RunDependencies } from './dependencies.ts';

/** A price, and how the model is served according to the decision that the run settles. */
export interface RunPrice extends PriceInForce {
  readonly heldService?: HeldService;
}

type PriceDependencies = Pick<RunDependencies, 'db' | 'ledger' | 'prices' | 'failOpen'>;

/** Returns the price in force when the run was admitted: at `admittedAt`, or when its decision was made. */
export function findRunPrice(
  deps: PriceDependencies,
  orgId: string,
  { model, decision_id }: { readonly model: string; readonly decision_id?: string | null },
  admittedAt: Date,
): RunPrice | undefined | Promise<RunPrice | undefined> {
  return decision_id == null
    ? deps.prices.findForCall(orgId, model, admittedAt.getTime())
    : findDecisionPrice(deps, orgId, model, decision_id, admittedAt);
}

/**
 * Falls back to the time of a fail-open decision, or else to `admittedAt`, if the decision has no hold; to the price of the
 * model that was decided on if the run names one without a price, because providers report a more exact name than the one
 * that was requested; and then to the price that the org's policy provides for models without one.
 */
async function findDecisionPrice(
  deps: PriceDependencies,
  orgId: string,
  model: string,
  decisionId: string,
  admittedAt: Date,
): Promise<RunPrice | undefined> {
  const hold =
    (await deps.ledger.findHold(orgId, decisionId)) ?? (await findEndedHold(deps.db, orgId, decisionId));
  const admittedAtMs =
    hold?.admittedAtMs ?? deps.failOpen.decidedAtMs(orgId, decisionId) ?? admittedAt.getTime();
  const decidedModel = hold?.scope.model ?? model;
  /** The held version applies to the decided name, and to other names of the same model. */
  const priceOf = async (name: string): Promise<PriceInForce | undefined> => {
    const held = hold?.priceVersion ? await deps.prices.version(orgId, name, hold.priceVersion) : undefined;
    if (held !== undefined && name === decidedModel) {
      return held;
    }
    const found = await deps.prices.find(orgId, name, admittedAtMs);
    return found === undefined || found.model === held?.model ? (held ?? found) : found;
  };
  const price = (await priceOf(model)) ?? (decidedModel === model ? undefined : await priceOf(decidedModel));
  const applied = price ?? (await deps.prices.findForCall(orgId, model, admittedAtMs));
  return applied === undefined || hold?.service === undefined
    ? applied
    : { ...applied, heldService: hold.service };
}

async function findEndedHold(db: Queryable, orgId: string, holdId: string): Promise<Hold | undefined> {
  const [end] = await findEnds(db, [orgId], [holdId]);
  return end && restoredHold(end.body);
}
