/** The stage that finds the price of a run: the price in force at its admission, or that of its hold. */
import type { CalledAt } from '../../../kernel/model-hosts.ts';
import { type HeldService, type Hold, restoredHold } from '../../../ledger/holds/hold.ts';
import { findEnds } from '../../../ledger/postings/ledger-writes.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { PriceInForce } from '../models/index.ts';
import type { RunDependencies } from './dependencies.ts';
import type { EndOfCall } from './draft-context.ts';
import type { CompleteRun } from './schema.ts';

/** A price, and the service that the decision of the run requested. */
export interface RunPrice extends PriceInForce {
  readonly heldService?: HeldService;
  /** True if the model that served the run has no price. This is then the price of the decision, which gives a lower bound of the cost. */
  readonly isOfDecision?: true;
  /** Prices of the other models of the run, by the name that it states; undefined: a model has none. */
  readonly others?: ReadonlyMap<string, PriceInForce | undefined>;
}

type PriceDependencies = Pick<RunDependencies, 'db' | 'ledger' | 'prices' | 'failOpen'>;

interface PricedRun {
  readonly model: string;
  readonly served_model?: string | null;
  readonly decision_id?: string | null;
  readonly provider?: string | null;
  readonly region?: string | null;
}

/** The price of a gateway call: its place and name, if they differ from those that the decision and the run state. */
export type PricedCall = Pick<EndOfCall, 'calledAt' | 'pricedName'>;

/** Returns the price in force when the run was admitted: at `admittedAt`, or at the time of its decision. */
export function findRunPrice(
  deps: PriceDependencies,
  orgId: string,
  run: PricedRun,
  admittedAt: Date,
  { calledAt, pricedName }: PricedCall = {},
): RunPrice | undefined | Promise<RunPrice | undefined> {
  const name = pricedName ?? run.served_model ?? run.model;
  return run.decision_id == null
    ? deps.prices.findForCall(orgId, name, admittedAt.getTime(), calledAt ?? run)
    : findDecisionPrice(deps, orgId, run, run.decision_id, admittedAt, { calledAt, name });
}

/** Finds the price of a decision. Without a hold, uses the time of a fail-open decision, or else `admittedAt`. */
async function findDecisionPrice(
  deps: PriceDependencies,
  orgId: string,
  { model, provider, region }: PricedRun,
  decisionId: string,
  admittedAt: Date,
  { calledAt, name }: { readonly calledAt: CalledAt | undefined; readonly name: string },
): Promise<RunPrice | undefined> {
  const hold =
    (await deps.ledger.reads.findHold(orgId, decisionId)) ??
    (await findEndedHold(deps.db, orgId, decisionId));
  const price = await findSettledPrice(deps.prices, orgId, name, {
    model: hold?.scope.model ?? model,
    priceVersion: hold?.priceVersion,
    admittedAtMs: hold?.admittedAtMs ?? deps.failOpen.decidedAtMs(orgId, decisionId) ?? admittedAt.getTime(),
    at: calledAt ?? {
      provider: hold?.scope.provider ?? provider ?? null,
      region: region ?? hold?.service?.region ?? null,
    },
  });
  return price === undefined || hold?.service === undefined ? price : { ...price, heldService: hold.service };
}

/** The model of a decision, and the price version of its hold. */
interface DecidedModel {
  readonly model: string;
  readonly priceVersion: string | null | undefined;
  readonly admittedAtMs: number;
  /** Provider and region of the call. */
  readonly at: CalledAt;
}

/**
 * Returns the price of the model that served a call. Another name of the decided model has the price of the hold. A model without a
 * price has the default rates of the org. Without those, the price of the decision is returned, marked as such.
 */
export async function findSettledPrice(
  prices: RunDependencies['prices'],
  orgId: string,
  served: string,
  decided: DecidedModel,
): Promise<RunPrice | undefined> {
  const { admittedAtMs, at } = decided;
  const inForce =
    served === decided.model
      ? await prices.findForCall(orgId, served, admittedAtMs, at)
      : await prices.find(orgId, served, admittedAtMs, at);
  // Most responses name a dated version of the decided model. Its price is then that of the hold, and no further lookup is needed.
  if (inForce !== undefined && inForce.versionId === decided.priceVersion) {
    return inForce;
  }
  const priceOf = async (name: string): Promise<PriceInForce | undefined> => {
    const held = decided.priceVersion
      ? await prices.version(orgId, name, decided.priceVersion, at)
      : undefined;
    if (held !== undefined && name === decided.model) {
      return held;
    }
    const found = await prices.find(orgId, name, admittedAtMs, at);
    return found === undefined || found.model === held?.model ? (held ?? found) : found;
  };
  const own = await priceOf(served);
  if (own !== undefined) {
    return own;
  }
  const byPolicy = await prices.findForCall(orgId, served, admittedAtMs, at);
  if (served === decided.model || byPolicy?.unpriced === 'hold_default') {
    return byPolicy;
  }
  const ofDecision = await priceOf(decided.model);
  return ofDecision === undefined ? byPolicy : { ...ofDecision, isOfDecision: true };
}

/** Returns the price with those of the other models that the run states. */
export async function withOtherPrices(
  prices: RunDependencies['prices'],
  orgId: string,
  { other_models = [] }: Pick<CompleteRun, 'other_models'>,
  price: RunPrice | undefined,
  { atMs, at }: { readonly atMs: number; readonly at: CalledAt },
): Promise<RunPrice | undefined> {
  if (price === undefined || other_models.length === 0) {
    return price;
  }
  const others = new Map<string, PriceInForce | undefined>();
  for (const { model } of other_models) {
    const found = await prices.findForCall(orgId, model, atMs, at);
    others.set(model, found?.unpriced === 'record' ? undefined : found);
  }
  return { ...price, others };
}

/** Returns the body with the tier and region of its decision, where it states none: calls are served as decided. */
export function asDecided<Body extends { service_tier?: string; region?: string }>(
  body: Body,
  price: RunPrice | undefined,
): Body {
  const held = price?.heldService;
  return held === undefined
    ? body
    : {
        ...(held.tier !== undefined && { service_tier: held.tier }),
        ...(held.region !== undefined && { region: held.region }),
        ...body,
      };
}

async function findEndedHold(db: Queryable, orgId: string, holdId: string): Promise<Hold | undefined> {
  const [end] = await findEnds(db, [orgId], [holdId]);
  return end && restoredHold(end.body);
}
