/**
 * Which model a request goes to, for one org at one moment. What the choice looks at is gathered first: prices, facts, results,
 * policies, and what the limits would say, of which nothing is taken. The kernel chooses. Where a hold is asked for it is taken
 * of the best; if a limit refuses it by then, the choice is made anew with that known, so the next best is tried.
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
import { type RequestKey, requestKeyOf, storeResponse } from '../../../ledger/holds/hold-keys.ts';
import type { Held } from '../../../ledger/holds/hold-request.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import { denialError, replayedResponse } from '../../../ledger/ledger-errors.ts';
import { rateDenial, takeAdmissionRates } from '../../../ledger/limits/admission-rates.ts';
import type { LimitEvents } from '../../../ledger/limits/limit-events.ts';
import type { OrgLimitsCache } from '../../../ledger/limits/org-limits.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import { defaultHoldSeconds } from '../../../ledger/scope.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { CustomerDigest } from '../../../platform/http/pipeline/idempotency.ts';
import type { DecisionResponse } from '../../../platform/http/routes/route.ts';
import type { RateLimiter } from '../../../platform/rates/rate-limiter.ts';
import type { ResidencyOf } from '../../compliance/residency/index.ts';
import { type Option, type OptionDependencies, type Options, optionsOf, type RouteCall } from './options.ts';
import type { RoutingPolicyRow } from './queries.ts';
import { type MoneyRefusal, refusalOf } from './refusals.ts';
import type { RoutingMemory } from './routing-cache.ts';
import type { RouteDecision, reasons } from './schema.ts';
import { scoreOf } from './scores.ts';

export interface DecisionDependencies extends OptionDependencies {
  readonly db: Database;
  readonly customerDigest: CustomerDigest;
  readonly memory: RoutingMemory;
  readonly ledger: Ledger;
  readonly orgLimits: OrgLimitsCache;
  readonly rates: RateLimiter;
  readonly limitEvents: LimitEvents;
  readonly residencyOf: ResidencyOf;
}

const dayMs = 86_400_000;

/** Answers with the text itself. An `Idempotency-Key` is kept with the hold; without one its response is stored by itself. */
export async function decideRoute(
  deps: DecisionDependencies,
  call: RouteCall,
  idempotencyKey: string | undefined,
): Promise<DecisionResponse> {
  const { body, caller, now } = call;
  const asker = { orgId: caller.tenantId, keyId: caller.keyId };
  const key =
    idempotencyKey === undefined
      ? undefined
      : requestKeyOf({ route: 'routing', ...asker, idempotencyKey, body }, deps.customerDigest);
  const earlier = key && (await deps.ledger.replay(asker.orgId, key));
  if (earlier !== undefined) {
    return replayedResponse(earlier);
  }
  const answer = await choose(deps, call, key);
  if (answer.replayed) {
    return answer;
  }
  const first =
    key === undefined || body.hold === true
      ? undefined
      : await storeResponse(deps.db, asker.orgId, key, answer.text, now.getTime());
  decisionCounts.count('routing', 'allow', '');
  return first === undefined ? answer : replayedResponse(first);
}

async function choose(
  deps: DecisionDependencies,
  call: RouteCall,
  key: RequestKey | undefined,
): Promise<DecisionResponse> {
  const orgId = call.caller.tenantId;
  const { policy, evaluated } = await deps.memory(orgId);
  if (policy === undefined) {
    throw apiError('conflict', 'The organization has no routing policy: put one first.');
  }
  const request = await requestOf(deps, call);
  const drawn = await optionsOf(deps, call, policy, evaluated);
  const refusals = new Map<string, MoneyRefusal>();
  await lookAtMoney(deps, orgId, request, drawn, refusals);
  const notChecked = await notCheckedOf(deps, call);
  for (;;) {
    const candidateOf = ({ candidate }: Option): Candidate => ({
      ...candidate,
      moneyRefusal: refusals.get(candidate.model)?.error.code ?? null,
    });
    const routed = route({
      candidates: drawn.candidates.map(candidateOf),
      fallbacks: drawn.fallbacks.map(candidateOf),
      request,
      ...wishesOf(policy),
    });
    const chosen = optionNamed(drawn, routed.ranking[0]?.model);
    if (chosen === undefined) {
      const error = await refusalOf(deps, call, drawn, routed, refusals);
      decisionCounts.count('routing', 'deny', error.code);
      throw error;
    }
    const view = viewDecision(drawn, routed, chosen, notChecked);
    if (call.body.hold !== true) {
      return { text: JSON.stringify(view), replayed: false };
    }
    const taken = await takeHold(deps, call, chosen, view, key);
    if ('text' in taken) {
      return taken;
    }
    refusals.set(chosen.candidate.model, taken);
  }
}

/** One look at all limits, for every model that nothing else speaks against. */
async function lookAtMoney(
  { ledger, limitEvents }: DecisionDependencies,
  orgId: string,
  request: RoutedRequest,
  { candidates, fallbacks }: Options,
  refusals: Map<string, MoneyRefusal>,
): Promise<void> {
  const asked = [...candidates, ...fallbacks].filter(
    ({ candidate }) => exclusionOf(candidate, request) === undefined,
  );
  const denials = await ledger.previewDenials(
    orgId,
    asked.map(({ preview }) => preview),
  );
  for (const [index, { candidate, preview: look }] of asked.entries()) {
    const denial = denials[index];
    if (denial !== undefined) {
      refusals.set(candidate.model, {
        error: denialError(denial, 'run'),
        tell: () => limitEvents.limitDenied(orgId, look.scope, denial),
      });
    }
  }
}

/** The answer with the hold in it, or what refused it since it was looked at. */
async function takeHold(
  { ledger, orgLimits, rates, limitEvents }: DecisionDependencies,
  { caller, now, body }: RouteCall,
  { preview, price }: Option,
  view: RouteDecision,
  key: RequestKey | undefined,
): Promise<DecisionResponse | MoneyRefusal> {
  const orgId = caller.tenantId;
  const limits = orgLimits.peek(orgId) ?? (await orgLimits.get(orgId));
  const reservation = takeAdmissionRates(rates, limits, [preview], now.getTime());
  const refused = reservation && rateDenial(reservation, await reservation.verdict, 'run');
  if (refused !== undefined) {
    return { error: refused.error, tell: () => refused.enqueueEvent(limitEvents, orgId, preview.scope) };
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
      ...(key !== undefined && { key: { ...key, responseOf } }),
    });
    isHeld = result.kind === 'held';
    switch (result.kind) {
      case 'held':
        return { text: result.response ?? responseOf(result), replayed: false };
      case 'denied':
        return {
          error: denialError(result.denial, 'run'),
          tell: () => limitEvents.limitDenied(orgId, preview.scope, result.denial),
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

/** An org that must not leave its region takes no model that is not known to be served there. */
async function requestOf(
  { residencyOf }: DecisionDependencies,
  { caller, now, body }: RouteCall,
): Promise<RoutedRequest> {
  const { homeRegion, mode } = await residencyOf(caller.tenantId);
  return {
    inputTokens: BigInt(body.input_tokens),
    maxOutputTokens: BigInt(body.max_output_tokens),
    capabilities: body.capabilities ?? [],
    regions: [
      ...(mode === 'strict' && homeRegion !== null ? [homeRegion] : []),
      ...(body.region ? [body.region] : []),
    ],
    atMs: now.getTime(),
  };
}

function wishesOf(policy: RoutingPolicyRow) {
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

/** Content is not known here, and neither is how deep in its chain the run will be. */
async function notCheckedOf(
  { orgLimits }: DecisionDependencies,
  { caller, body }: RouteCall,
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

function optionNamed({ candidates, fallbacks }: Options, model: string | undefined): Option | undefined {
  return [...candidates, ...fallbacks].find(({ candidate }) => candidate.model === model);
}

function viewDecision(
  drawn: Options,
  { ranking, passedOver, isFallback }: Routed,
  { candidate, price }: Option,
  notChecked: RouteDecision['not_checked'],
): RouteDecision {
  const { expected_cost_usd, ...known } = viewKnown(candidate);
  return {
    model: candidate.model,
    provider: price?.provider ?? null,
    ...known,
    expected_cost_usd: expected_cost_usd ?? '0',
    fallback: isFallback,
    considered: [
      ...ranking.slice(1).map((other, index) => ({
        model: other.model,
        reason: 'not_best' as const,
        rank: index + 2,
        ...viewKnown(other),
        rule_id: null,
      })),
      ...passedOver.map(({ candidate: other, reason }) => ({
        model: other.model,
        reason: reason as (typeof reasons)[number],
        rank: null,
        ...viewKnown(other),
        rule_id: optionNamed(drawn, other.model)?.objection?.ruleId ?? null,
      })),
    ],
    not_checked: notChecked,
  };
}

function viewKnown({ costNanos, evaluated, latencyMs }: Candidate) {
  return {
    expected_cost_usd: costNanos === null ? null : formatUsd(costNanos),
    score: evaluated === null ? null : scoreOf(evaluated.scoreMillionths),
    latency_ms: latencyMs === null ? null : Number(latencyMs),
  };
}
