/** `POST /v1/edge/decision`: decides whether a model call is allowed, and holds its cost. */
import { invalidFields } from '../contract/api-error.ts';
import type { OrgLimits } from '../kernel/limits.ts';
import type { CalledAt } from '../kernel/model-hosts.ts';
import { attributed, lockedFieldError } from '../ledger/attribution.ts';
import { type RequestKey, requestKeyOf } from '../ledger/holds/hold-keys.ts';
import type { HoldRequest, HoldResult } from '../ledger/holds/hold-request.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { denialError, replayedResponse } from '../ledger/ledger-errors.ts';
import {
  type FittedRates,
  giveBackUnused,
  rateDenial,
  takeAdmissionRates,
  takeAdmissionRatesUpTo,
} from '../ledger/limits/admission-rates.ts';
import type { LimitEvents } from '../ledger/limits/limit-events.ts';
import type { OrgLimitsCache } from '../ledger/limits/org-limits.ts';
import { decisionCounts } from '../ledger/metrics.ts';
import type { CustomerDigest } from '../platform/http/pipeline/idempotency.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import { type DecisionResponse, decision, type Route } from '../platform/http/routes/route.ts';
import { allowed, type RateLimiter } from '../platform/rates/rate-limiter.ts';
import { decisionRequestOf, fieldErrorsOf, type Price, verdictText } from './decision.ts';
import type { FailOpenDecisions } from './fail-open-decisions.ts';
import { DecisionBody, Verdict } from './schema.ts';

export interface EdgeDependencies {
  readonly ledger: Ledger;
  readonly orgLimits: OrgLimitsCache;
  readonly rates: RateLimiter;
  readonly limitEvents: LimitEvents;
  /** The fail-open mode, for requests while the ledger is unavailable; undefined: such requests fail. */
  readonly failOpen?: FailOpenMode | undefined;
  findPrice(
    orgId: string,
    model: string,
    atMs: number,
    at: CalledAt,
  ): Price | undefined | Promise<Price | undefined>;
  /** Returns the maximum output of a model; undefined if it is unknown. */
  findMaxOutputTokens(model: string): Promise<number | undefined>;
  /** Returns true if the org has policies. The edge does not check them, but lists them in `not_checked`. */
  hasPolicies(orgId: string): boolean | Promise<boolean>;
  readonly customerDigest: CustomerDigest;
  readonly pendingHolds: PendingHolds;
}

export interface FailOpenMode {
  readonly decisions: FailOpenDecisions;
  lastKnownPrice(orgId: string, model: string, at: CalledAt): Price | undefined;
}

/**
 * Holds that the fast path requested before it fell back to the pipeline, by the identity of the HTTP request. The handler awaits
 * such a hold instead of requesting a second one, because the first may exist although its result was lost.
 */
export type PendingHolds = WeakMap<WeakKey, Promise<HoldResult>>;

export function edgeRoutes(deps: EdgeDependencies): Route[] {
  return [
    decision({
      id: 'edge.decide',
      method: 'POST',
      path: '/v1/edge/decision',
      summary: 'Decide whether a model call is allowed',
      description:
        'Holds the maximum cost in every applicable limit, or returns an error and holds nothing. To settle the hold, post the ' +
        'run with its `decision_id`; an unsettled hold is released when it expires. Fields that are left out have the values of ' +
        'the attribution of the key; another value for a locked field is `forbidden`. An `Idempotency-Key` is valid for 72 hours, ' +
        'even after the hold has ended: a late retry returns the same decision and takes no second hold. With `fit: true` the ' +
        'largest hold that all limits allow is taken, at least for `min_output_tokens`: a call for 64,000 output tokens under a ' +
        'cap that has room for 59,000 gets `max_output_tokens: 59000` instead of an error. Increase, extend or void the hold ' +
        'under `/v1/decisions/{decision_id}`.',
      access: { kind: 'org', scope: 'edge:decide', role: 'member' },
      body: DecisionBody,
      response: Verdict,
      errors: ['budget_exceeded', 'quota_exhausted', 'spend_cap_exceeded', 'rate_limited'],
      async handler({ body: stated, caller, now, requestIdentity }, idempotencyKey) {
        const { customerDigest, failOpen, pendingHolds } = deps;
        const pendingHold = requestIdentity && pendingHolds.get(requestIdentity);
        const decisionCaller = { orgId: caller.tenantId, keyId: caller.keyId };
        const key =
          idempotencyKey === undefined
            ? undefined
            : requestKeyOf(
                {
                  route: 'edge',
                  ...decisionCaller,
                  idempotencyKey,
                  body: stated,
                  attribution: caller.attribution,
                },
                customerDigest,
              );
        const replay = key && (await failOpen?.decisions.replay(decisionCaller.orgId, key));
        if (replay !== undefined) {
          return replayedResponse(replay);
        }
        const body = attributed(stated, caller.attribution);
        if (typeof body === 'string') {
          const earlier = key && (await deps.ledger.replay(decisionCaller.orgId, key));
          if (earlier !== undefined) {
            return replayedResponse(earlier);
          }
          throw lockedFieldError(body);
        }
        try {
          return await decide(deps, { body, caller, now, key, pendingHold });
        } catch (error) {
          if (
            failOpen === undefined ||
            !failOpen.decisions.isOutage(error) ||
            // The maximum output of the model cannot be read now, so the decision cannot be allowed.
            needsOutputLimit(body)
          ) {
            throw error;
          }
          const price = failOpen.lastKnownPrice(decisionCaller.orgId, body.model, body);
          const allowed = await failOpen.decisions.allow({ body, caller: decisionCaller, key, price });
          if (!allowed.replayed) {
            decisionCounts.count('edge', 'allow', '');
          }
          return allowed;
        }
      },
    }),
  ];
}

interface DecisionInput {
  readonly body: DecisionBody;
  readonly caller: Caller;
  readonly now: Date;
  readonly key: RequestKey | undefined;
  readonly pendingHold: Promise<HoldResult> | undefined;
}

async function decide(
  deps: EdgeDependencies,
  { body, caller, now, key, pendingHold }: DecisionInput,
): Promise<DecisionResponse> {
  const { ledger, orgLimits, rates, findPrice, limitEvents } = deps;
  const orgId = caller.tenantId;
  const price = await findPrice(orgId, body.model, now.getTime(), body);
  const request = decisionRequestOf(await withOutputLimit(deps, body), { orgId, keyId: caller.keyId }, price);
  const limits = orgLimits.peek(orgId) ?? (await orgLimits.get(orgId));
  // A retry is replayed before a rate limit or a removed price could deny it.
  const replay = key && ('code' in request || limits.hasRates) ? await ledger.replay(orgId, key) : undefined;
  if (replay !== undefined) {
    return replayedResponse(replay);
  }
  if ('code' in request) {
    throw invalidFields(fieldErrorsOf(request, body, price));
  }
  const hasPolicies = await deps.hasPolicies(orgId);
  const fitted = await takeRates(rates, limits, request.request, now.getTime());
  const { reservation } = fitted;
  const denial = reservation && rateDenial(reservation, fitted.verdict, 'edge');
  if (denial !== undefined) {
    decisionCounts.count('edge', 'deny', denial.error.code);
    denial.enqueueEvent(limitEvents, orgId, request.request.scope);
    throw denial.error;
  }
  const giveBack = () => reservation && rates.giveBack(reservation.debits, now.getTime());
  const { fit } = request.request;
  try {
    const result = await (pendingHold ??
      ledger.hold({
        ...request.request,
        ...(fit !== undefined && { fit: { ...fit, atMost: fitted.units } }),
        ...(key !== undefined && {
          key: { ...key, responseOf: (held) => verdictText(request, held, hasPolicies) },
        }),
      }));
    switch (result.kind) {
      case 'held':
        decisionCounts.count('edge', 'allow', '');
        if (fit !== undefined) {
          giveBackUnused(rates, fitted, fit, result.hold.amounts, now.getTime());
        }
        return { text: result.response ?? verdictText(request, result, hasPolicies), replayed: false };
      case 'denied':
        decisionCounts.count('edge', 'deny', result.denial.code);
        limitEvents.limitDenied(orgId, request.request.scope, result.denial);
        throw denialError(result.denial, 'edge');
      default: {
        const answer = replayedResponse(result);
        giveBack();
        return answer;
      }
    }
  } catch (error) {
    giveBack();
    throw error;
  }
}

/** Adds the maximum output of the model to a request with `fit` that does not state one. */
async function withOutputLimit(
  { findMaxOutputTokens }: EdgeDependencies,
  body: DecisionBody,
): Promise<DecisionBody> {
  if (!needsOutputLimit(body)) {
    return body;
  }
  const most = await findMaxOutputTokens(body.model);
  return most === undefined ? body : { ...body, max_output_tokens: most };
}

function needsOutputLimit({ fit, max_output_tokens }: DecisionBody): boolean {
  return fit === true && max_output_tokens === undefined;
}

/** Debits the rate limits for the whole request. With `fit`, debits as much of it as they allow. */
async function takeRates(
  rates: RateLimiter,
  limits: OrgLimits,
  { scope, amounts, fit }: HoldRequest,
  nowMs: number,
): Promise<FittedRates> {
  if (fit !== undefined) {
    return takeAdmissionRatesUpTo(rates, limits, scope, fit, nowMs);
  }
  const reservation = takeAdmissionRates(rates, limits, [{ scope, amounts }], nowMs);
  return { reservation, verdict: reservation === undefined ? allowed : await reservation.verdict, units: 0n };
}
