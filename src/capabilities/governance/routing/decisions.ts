/**
 * Chooses the model for a request. The input is collected first: prices, capabilities, eval results, policies, and a preview of the
 * limits, which does not reserve anything. The kernel chooses. If a hold is requested, it is taken for the best model. If a limit
 * denies it by then, the choice is repeated with that denial, so that the next best model is tried.
 */
import { apiError } from '../../../contract/api-error.ts';
import { formatUsd } from '../../../kernel/money.ts';
import {
  type Candidate,
  exclusionOf,
  type Routed,
  type RoutedRequest,
  route,
  type Weights,
} from '../../../kernel/routing.ts';
import { attributed, lockedFieldError } from '../../../ledger/attribution.ts';
import { type RequestKey, requestKeyOf, storeResponse } from '../../../ledger/holds/hold-keys.ts';
import type { Held } from '../../../ledger/holds/hold-request.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import { denialError, replayedResponse } from '../../../ledger/ledger-errors.ts';
import { rateDenial, takeAdmissionRates } from '../../../ledger/limits/admission-rates.ts';
import type { LimitEvents } from '../../../ledger/limits/limit-events.ts';
import type { OrgLimitsCache } from '../../../ledger/limits/org-limits.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import { defaultHoldSeconds } from '../../../ledger/scope.ts';
import { heldServiceOf } from '../../../ledger/service-fields.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { CustomerDigest } from '../../../platform/http/pipeline/idempotency.ts';
import type { DecisionResponse } from '../../../platform/http/routes/route.ts';
import type { RateLimiter } from '../../../platform/rates/rate-limiter.ts';
import type { ResidencyOf } from '../../compliance/residency/index.ts';
import { type LimitDenial, noModelError } from './no-model-error.ts';
import {
  type OptionDependencies,
  type Options,
  optionsOf,
  type RouteOption,
  type RoutingCall,
} from './options.ts';
import type { RoutingPolicyRow } from './queries.ts';
import type { RoutingCache } from './routing-cache.ts';
import type { RouteDecision, reasons } from './schema.ts';
import { scoreOf } from './scores.ts';

export interface DecisionDependencies extends OptionDependencies {
  readonly db: Database;
  readonly customerDigest: CustomerDigest;
  readonly memory: RoutingCache;
  readonly ledger: Ledger;
  readonly orgLimits: OrgLimitsCache;
  readonly rates: RateLimiter;
  readonly limitEvents: LimitEvents;
  readonly residencyOf: ResidencyOf;
}

const dayMs = 86_400_000;

/** Returns the text of the response. An `Idempotency-Key` is stored with the hold. Without a hold, the response is stored separately. */
export async function decideRoute(
  deps: DecisionDependencies,
  call: RoutingCall,
  idempotencyKey: string | undefined,
): Promise<DecisionResponse> {
  const { body, caller, now } = call;
  const owner = { orgId: caller.tenantId, keyId: caller.keyId };
  const key =
    idempotencyKey === undefined
      ? undefined
      : requestKeyOf(
          { route: 'routing', ...owner, idempotencyKey, body, attribution: caller.attribution },
          deps.customerDigest,
        );
  const earlier = key && (await deps.ledger.replay(owner.orgId, key));
  if (earlier !== undefined) {
    return replayedResponse(earlier);
  }
  const attributedBody = attributed(body, caller.attribution);
  if (typeof attributedBody === 'string') {
    throw lockedFieldError(attributedBody);
  }
  const answer = await choose(deps, { ...call, body: attributedBody }, key);
  if (answer.replayed) {
    return answer;
  }
  const first =
    key === undefined || body.hold === true
      ? undefined
      : await storeResponse(deps.db, owner.orgId, key, answer.text, now.getTime());
  decisionCounts.count('routing', 'allow', '');
  return first === undefined ? answer : replayedResponse(first);
}

async function choose(
  deps: DecisionDependencies,
  call: RoutingCall,
  key: RequestKey | undefined,
): Promise<DecisionResponse> {
  const orgId = call.caller.tenantId;
  const { policy, evaluated } = await deps.memory(orgId);
  if (policy === undefined) {
    throw apiError('conflict', 'The organization has no routing policy. Set one first.');
  }
  const request = await requestOf(deps, call);
  const options = await optionsOf(deps, call, policy, evaluated);
  const limitDenials = new Map<string, LimitDenial>();
  await previewLimits(deps, orgId, request, options, limitDenials);
  const notChecked = await notCheckedOf(deps, call);
  for (;;) {
    const candidateOf = ({ candidate }: RouteOption): Candidate => ({
      ...candidate,
      moneyRefusal: limitDenials.get(candidate.model)?.error.code ?? null,
    });
    const routed = route({
      candidates: options.candidates.map(candidateOf),
      fallbacks: options.fallbacks.map(candidateOf),
      request,
      ...criteriaOf(policy),
    });
    const chosen = optionNamed(options, routed.ranking[0]?.model);
    if (chosen === undefined) {
      const error = await noModelError(deps, call, options, routed, limitDenials);
      decisionCounts.count('routing', 'deny', error.code);
      throw error;
    }
    const view = viewDecision(options, routed, chosen, notChecked);
    if (call.body.hold !== true) {
      return { text: JSON.stringify(view), replayed: false };
    }
    const taken = await takeHold(deps, call, chosen, view, key);
    if ('text' in taken) {
      return taken;
    }
    limitDenials.set(chosen.candidate.model, taken);
  }
}

/** Previews the limits, except rate limits, for all models that passed the earlier filters, in one call. */
async function previewLimits(
  { ledger, limitEvents }: DecisionDependencies,
  orgId: string,
  request: RoutedRequest,
  { candidates, fallbacks }: Options,
  limitDenials: Map<string, LimitDenial>,
): Promise<void> {
  const eligible = [...candidates, ...fallbacks].filter(
    ({ candidate }) => exclusionOf(candidate, request) === undefined,
  );
  const denials = await ledger.previewDenials(
    orgId,
    eligible.map(({ preview }) => preview),
  );
  for (const [index, { candidate, preview }] of eligible.entries()) {
    const denial = denials[index];
    if (denial !== undefined) {
      limitDenials.set(candidate.model, {
        error: denialError(denial, 'run'),
        emitEvent: () => limitEvents.limitDenied(orgId, preview.scope, denial),
      });
    }
  }
}

/** Returns the response with the hold, or the denial of a rate limit, or that of a limit that was reached after the preview. */
async function takeHold(
  { ledger, orgLimits, rates, limitEvents }: DecisionDependencies,
  { caller, now, body }: RoutingCall,
  { preview, price }: RouteOption,
  view: RouteDecision,
  key: RequestKey | undefined,
): Promise<DecisionResponse | LimitDenial> {
  const orgId = caller.tenantId;
  const service = heldServiceOf(price, body);
  const limits = orgLimits.peek(orgId) ?? (await orgLimits.get(orgId));
  const reservation = takeAdmissionRates(rates, limits, [preview], now.getTime());
  const denial = reservation && rateDenial(reservation, await reservation.verdict, 'run');
  if (denial !== undefined) {
    return { error: denial.error, emitEvent: () => denial.enqueueEvent(limitEvents, orgId, preview.scope) };
  }
  let isHeld = false;
  try {
    const responseOf = ({ hold }: Held) =>
      JSON.stringify({
        ...view,
        decision_id: hold.id,
        expires_at: new Date(hold.expiresAtMs).toISOString(),
        held_usd: formatUsd(hold.amounts.usd),
      } satisfies RouteDecision);
    const result = await ledger.hold({
      orgId,
      ...preview,
      holdSeconds: body.expires_in_seconds ?? defaultHoldSeconds,
      priceVersion: price?.versionId ?? null,
      ...(service !== undefined && { service }),
      ...(key !== undefined && { key: { ...key, responseOf } }),
    });
    isHeld = result.kind === 'held';
    switch (result.kind) {
      case 'held':
        return { text: result.response ?? responseOf(result), replayed: false };
      case 'denied':
        return {
          error: denialError(result.denial, 'run'),
          emitEvent: () => limitEvents.limitDenied(orgId, preview.scope, result.denial),
        };
      default:
        return replayedResponse(result);
    }
  } finally {
    if (!isHeld && reservation !== undefined) {
      rates.giveBack(reservation.debits, now.getTime());
    }
  }
}

/** Returns the request for the kernel. Orgs with strict residency only use models that are known to be served in their home region. */
async function requestOf(
  { residencyOf }: DecisionDependencies,
  { caller, now, body, capsOutput }: RoutingCall,
): Promise<RoutedRequest> {
  const { homeRegion, mode } = await residencyOf(caller.tenantId);
  return {
    inputTokens: BigInt(body.input_tokens),
    // Every model has room for a maximum that is lowered to its own.
    maxOutputTokens: capsOutput === true ? 1n : BigInt(body.max_output_tokens),
    capabilities: body.capabilities ?? [],
    regions: [
      ...(mode === 'strict' && homeRegion !== null ? [homeRegion] : []),
      ...(body.region ? [body.region] : []),
    ],
    atMs: now.getTime(),
  };
}

function criteriaOf(policy: RoutingPolicyRow) {
  return {
    bar: {
      minScoreMillionths: policy.min_score_millionths,
      minSamples: policy.min_samples,
      maxAgeMs: Number(policy.max_age_days) * dayMs,
    },
    preference: { objective: policy.objective, weights: weightsOf(policy) },
  };
}

function weightsOf({ weights }: RoutingPolicyRow): Weights | null {
  const [cost = 0n, latency = 0n, quality = 0n] = weights ?? [];
  return weights && { cost, latency, quality };
}

/**
 * Returns the checks of the org that a decision cannot make, because it does not know the run's content, its depth in the chain
 * and, without `chain_id`, its chain.
 */
async function notCheckedOf(
  { orgLimits }: DecisionDependencies,
  { caller, body }: RoutingCall,
): Promise<RouteDecision['not_checked']> {
  const limits = orgLimits.peek(caller.tenantId) ?? (await orgLimits.get(caller.tenantId));
  const isChained = body.chain_id !== undefined;
  const chain = limits.all.some(
    ({ kind }) =>
      kind === 'chain_depth' || (!isChained && (kind === 'chain_cost' || kind === 'chain_tokens')),
  );
  return [
    ...(limits.runOnlyChecks.includes('safety') ? (['safety'] as const) : []),
    ...(chain ? (['chain'] as const) : []),
  ];
}

function optionNamed({ candidates, fallbacks }: Options, model: string | undefined): RouteOption | undefined {
  return [...candidates, ...fallbacks].find(({ candidate }) => candidate.model === model);
}

function viewDecision(
  options: Options,
  { ranking, passedOver: rejected, isFallback }: Routed,
  { candidate, price }: RouteOption,
  notChecked: RouteDecision['not_checked'],
): RouteDecision {
  const { expected_cost_usd, ...measures } = viewMeasures(candidate);
  return {
    model: candidate.model,
    provider: price?.provider ?? null,
    ...measures,
    expected_cost_usd: expected_cost_usd ?? '0',
    fallback: isFallback,
    considered: [
      ...ranking.slice(1).map((other, index) => ({
        model: other.model,
        reason: 'not_best' as const,
        rank: index + 2,
        ...viewMeasures(other),
        rule_id: null,
      })),
      ...rejected.map(({ candidate: other, reason }) => ({
        model: other.model,
        reason: reason as (typeof reasons)[number],
        rank: null,
        ...viewMeasures(other),
        rule_id: optionNamed(options, other.model)?.policyDenial?.ruleId ?? null,
      })),
    ],
    not_checked: notChecked,
  };
}

function viewMeasures({ costNanos, evaluated, latencyMs }: Candidate) {
  return {
    expected_cost_usd: costNanos === null ? null : formatUsd(costNanos),
    score: evaluated === null ? null : scoreOf(evaluated.scoreMillionths),
    latency_ms: latencyMs === null ? null : Number(latencyMs),
  };
}
