/** The settlement of a call: the charges for its outcome, and the line that is stored. */
import { performance } from 'node:perf_hooks';
import {
  type Connection,
  kindOf,
  mayBeDeployment,
  modelIdAt,
} from '../capabilities/integration/connections/index.ts';
import { isOrgPrice } from '../capabilities/spend/models/index.ts';
import { statedCost } from '../capabilities/spend/runs/index.ts';
import type { CalledAt } from '../kernel/model-hosts.ts';
import { formatUsd } from '../kernel/money.ts';
import { isOffPeak, offPeakTier } from '../kernel/off-peak-hours.ts';
import {
  type CallBounds,
  type CallOutcome,
  type SettledUsage,
  settledUsage,
} from '../kernel/providers/call-end.ts';
import { type CallUsage, otherModel } from '../kernel/providers/call-usage.ts';
import type { Tariff } from '../kernel/rate-modifiers.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import type { CallAttempts } from './call-attempts.ts';
import { isSamePlace, placeOf } from './call-price.ts';
import { toolChargesOf } from './call-tools.ts';
import { outputCap } from './hold-coverage.ts';
import { type CallPlan, inputBoundOf } from './plan-call.ts';
import type { Settlement } from './settle/settlement.ts';

export interface CallCharges {
  readonly settled: SettledUsage;
  /** Cost of tools that have no rate in the price. */
  readonly toolNanos: bigint;
}

/** The output that the hold of a call covers at its end, if its hold has followed the call. */
export interface CoveredOutput extends Pick<CallBounds, 'generatedOutputTokens' | 'unsentOutputTokens'> {
  readonly heldTokens?: number | undefined;
}

/** Returns the charges for an outcome. */
export function chargesOf(
  { plan, admitted }: AdmittedRequest,
  outcome: CallOutcome,
  earlier: CallAttempts,
  { heldTokens, ...generated }: CoveredOutput,
): CallCharges {
  const maxOutputTokens = outputCap(plan, admitted);
  let { toolNanos } = earlier;
  const bounds = {
    ...inputBoundOf(plan),
    inputGrows: plan.input.hasUnseen,
    serverTools: plan.service.searches,
    maxOutputTokens,
    heldOutputTokens: heldTokens ?? maxOutputTokens,
    ...generated,
    unseenOutputTokens: plan.predictedTokens,
    chargedTools: (usage: CallUsage) => {
      const charges = toolChargesOf(plan.price, plan.tools, outcome, usage);
      toolNanos += charges.nanos;
      return { serverTools: charges.units, toolModels: charges.toolModels };
    },
  };
  return { settled: settledUsage(outcome, bounds, earlier.usage), toolNanos };
}

export function settlementOf(
  { plan, admitted, caller, attribution, request, startedMs }: AdmittedRequest,
  outcome: CallOutcome,
  { settled, toolNanos }: CallCharges,
  { connection = plan.candidates[0] as Connection, charged }: Pick<CallAttempts, 'connection' | 'charged'>,
  responseId: string | undefined,
): Settlement {
  const served = placeOf(connection, plan.listedProvider);
  // One price applies to all attempts: that of their place if it is the same for all, otherwise the most expensive one.
  const isOnePlace = charged.every((one) => isSamePlace(placeOf(one, plan.listedProvider), served));
  const calledAt = isOnePlace ? served : plan.pricedAt;
  const { attempts, isFree, marks } = settled;
  const { stated_cost_usd: statedUsd, ...fields } = settled.fields;
  const latencyMs = Math.max(0, Math.round(performance.now() - startedMs));
  const hasOffPeakRates =
    isOnePlace &&
    isOffPeakCall(connection, request.now.getTime(), latencyMs) &&
    hasTier(plan.price, offPeakTier);
  const servedModel = otherModel(outcome.servedModel, plan.model);
  const pricedName = pricedNameOf(plan, connection, servedModel);
  return {
    orgId: caller.tenantId,
    keyId: caller.keyId,
    runId: admitted.runId,
    isStored: admitted.isStored,
    decisionId: admitted.decisionId,
    priceVersion: isSamePlace(calledAt, plan.pricedAt) ? admitted.priceVersion : null,
    servedBy: served.provider ?? plan.provider,
    calledAt,
    ...(pricedName !== undefined && { pricedName }),
    model: plan.model,
    attribution: admitted.chainId === null ? attribution : { chain_id: admitted.chainId, ...attribution },
    depth: admitted.depth,
    admittedAtMs: request.now.getTime(),
    body: {
      status: outcome.status,
      ...plan.service.stated,
      ...regionOf(plan, calledAt),
      // Set explicitly, because the held run stated this field.
      ...(plan.service.charged.cache_write_1h_tokens !== undefined && { cache_write_1h_tokens: 0 }),
      ...(hasOffPeakRates && { service_tier: offPeakTier }),
      ...fields,
      ...(servedModel !== undefined && { served_model: servedModel }),
      ...(statedUsd !== undefined && {
        stated: statedCost(plan.model, statedUsd),
        ...(isOrgPrice(plan.price) && { metadata: { stated_cost_usd: statedUsd } }),
      }),
      ...(attempts !== undefined && { attempts }),
      // Zero tokens would count as missing usage, so the held amount would be posted.
      ...(isFree && { cost_usd: '0' }),
      latency_ms: latencyMs,
    },
    marks,
    ...(toolNanos > 0n && { toolUsd: formatUsd(toolNanos) }),
    ...(responseId !== undefined && { responseId }),
    ...(isFree && toolNanos === 0n && outcome.status !== 'succeeded' && { releasesKey: true }),
  };
}

/**
 * Returns the region that served the call, or that the request names. A call that was held at the price of a region, and served by a
 * connection without one, may have been served anywhere: without a region, the run would have that of its hold.
 */
function regionOf({ call, service }: CallPlan, { region }: CalledAt): { readonly region?: string } {
  const served = region ?? call.format.request.serviceOf(call.body).region;
  const found = served ?? (service.stated.region === undefined ? undefined : 'global');
  return found === undefined ? {} : { region: found };
}

/**
 * Returns the name whose price applies, if it is not the model that the response names: the id of the model at its provider, a deployment
 * with a price of its own, or the model that is known of a deployment whose response names none.
 */
function pricedNameOf(
  { model, hasOwnPrice, learnedModel }: CallPlan,
  connection: Connection,
  servedModel: string | undefined,
): string | undefined {
  const isDeployment = mayBeDeployment(connection, model);
  if (!isDeployment && !hasOwnPrice && kindOf(connection).isPricedById) {
    // Its responses name the model without the place that the id has, whose price may be another one.
    return modelIdAt(connection, model);
  }
  if (servedModel === undefined) {
    return learnedModel;
  }
  return hasOwnPrice && isDeployment ? model : undefined;
}

/** The provider must be known by its URL: others that serve its models have no such hours. */
function isOffPeakCall({ calledAt }: Connection, startMs: number, durationMs: number): boolean {
  return calledAt.provider != null && isOffPeak(calledAt.provider, startMs, startMs + durationMs);
}

function hasTier({ modifiers }: Tariff, tier: string): boolean {
  return modifiers.some(({ when }) => when.tier === tier);
}
