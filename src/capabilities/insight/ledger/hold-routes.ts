/**
 * Changes of open holds. Each has two routes: one under the org, and one by the id of the decision alone, for callers that
 * have a key and do not know the id of their org.
 */
import type { ErrorCode } from '../../../contract/errors.ts';
import { posting, type Route } from '../../../platform/http/routes/route.ts';
import { type IncreaseDependencies, increaseHold } from './hold-increases.ts';
import { extendHold, ownsDecision, voidHold } from './holds.ts';
import { ExtendHold, HoldView, IncreaseHold } from './schema.ts';

/** A key that can make decisions can also change their holds. */
const access = { kind: 'org', scope: 'edge:decide', role: 'member' } as const;

const extend = {
  method: 'POST',
  summary: 'Extend a hold',
  description:
    'For a long stream. Returns `conflict` if the hold has ended, which can still be settled, late, or if it belongs to a call ' +
    'through the gateway.',
  access,
  body: ExtendHold,
  response: HoldView,
  errors: ['conflict'] satisfies ErrorCode[],
} as const;

const increase = {
  method: 'POST',
  summary: 'Increase a hold',
  description:
    'Raises the held amount by `output_tokens`, or by `cost_usd`, in every limit that applies to the hold, or returns the error ' +
    'of the limit that denies and leaves the hold as it was. For a stream that needs more than it has held: increase first, ' +
    'then continue. The increase counts in the windows of the admission, and takes from rate limits by tokens or cost. Send ' +
    'an `Idempotency-Key`: a retry then raises the hold once. Returns `conflict` if the hold has ended, or belongs to a ' +
    'call through the gateway.',
  access,
  body: IncreaseHold,
  response: HoldView,
  errors: [
    'conflict',
    'budget_exceeded',
    'quota_exhausted',
    'spend_cap_exceeded',
    'chain_budget_exceeded',
    'plan_limit_exceeded',
    'credits_exhausted',
    'rate_limited',
  ] satisfies ErrorCode[],
} as const;

const voiding = {
  method: 'DELETE',
  summary: 'Void a hold',
  description:
    'Releases the held amount. If the run costs something after all, settle it: it is posted late. Returns ' +
    '`conflict` if the hold has ended, or belongs to a call through the gateway, which ends it.',
  access,
  errors: ['conflict'] satisfies ErrorCode[],
} as const;

export function holdRoutes(deps: IncreaseDependencies): Route[] {
  const isOwn = (orgId: string, params: { readonly decision_id: string }) =>
    ownsDecision(deps, orgId, params.decision_id);
  return [
    posting({
      ...extend,
      id: 'holds.extend',
      path: '/v1/orgs/{id}/holds/{decision_id}/extend',
      handler: ({ params, body }, storeResponse) =>
        extendHold(deps, params.id, params.decision_id, body.seconds, storeResponse),
    }),
    posting({
      ...extend,
      id: 'decisions.extend',
      path: '/v1/decisions/{decision_id}/extend',
      isOwn,
      handler: ({ caller, params, body }, storeResponse) =>
        extendHold(deps, caller.tenantId, params.decision_id, body.seconds, storeResponse),
    }),
    posting({
      ...increase,
      id: 'holds.increase',
      path: '/v1/orgs/{id}/holds/{decision_id}/increase',
      handler: ({ params, body, now }, storeResponse, requestId) =>
        increaseHold(deps, {
          orgId: params.id,
          holdId: params.decision_id,
          body,
          now,
          storeResponse,
          requestId,
        }),
    }),
    posting({
      ...increase,
      id: 'decisions.increase',
      path: '/v1/decisions/{decision_id}/increase',
      isOwn,
      handler: ({ caller, params, body, now }, storeResponse, requestId) =>
        increaseHold(deps, {
          orgId: caller.tenantId,
          holdId: params.decision_id,
          body,
          now,
          storeResponse,
          requestId,
        }),
    }),
    posting({
      ...voiding,
      id: 'holds.void',
      path: '/v1/orgs/{id}/holds/{decision_id}',
      async handler({ params }, storeResponse) {
        await voidHold(deps, params.id, params.decision_id, storeResponse);
        return {};
      },
    }),
    posting({
      ...voiding,
      id: 'decisions.void',
      path: '/v1/decisions/{decision_id}',
      isOwn,
      async handler({ caller, params }, storeResponse) {
        await voidHold(deps, caller.tenantId, params.decision_id, storeResponse);
        return {};
      },
    }),
  ];
}
