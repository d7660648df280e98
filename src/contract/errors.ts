/**
 * The error catalog: the only place where a code meets its status, its details and its meaning.
 * Codes are append-only and their statuses frozen, so an entry is added here or not at all.
 */
import { type Static, type TObject, type TSchema, Type } from 'typebox';

/** What a caller can do about a refusal. */
export type Retry =
  /** The same request is refused until the caller or someone else changes something. */
  | 'after_change'
  /** The same request passes once the interval in `Retry-After` is over. */
  | 'after_interval'
  /** The same request passes when the window in `details` rolls over, or after a change. */
  | 'after_window'
  /** The cause is expected to pass by itself: retry with backoff. */
  | 'with_backoff'
  /** Permanent. */
  | 'never';

interface CatalogEntry<
  Statuses extends readonly number[] = readonly number[],
  Details extends TSchema = TSchema,
> {
  readonly statuses: Statuses;
  readonly details: Details;
  readonly retry: Retry;
  readonly meaning: string;
}

function entry<const Statuses extends readonly number[], Details extends TObject>(
  statuses: Statuses,
  retry: Retry,
  meaning: string,
  details: Details,
): CatalogEntry<Statuses, Details> {
  return { statuses, retry, meaning, details };
}

/** Details grow over time and clients ignore what they do not know, so the objects stay open. */
const none = Type.Object({});
const usd = Type.String({
  pattern: '^-?\\d+(\\.\\d{1,9})?$',
  description: 'US dollars as a decimal string.',
});
const timestamp = Type.String({ format: 'date-time' });
const count = Type.Integer();
const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const FieldError = Type.Object({
  field: Type.String({ description: 'Name of the offending field, such as `runs[3].cost_usd`.' }),
  code: Type.String({
    description:
      'One of `invalid_json`, `invalid_type`, `invalid_content_type`, `invalid_body`, `out_of_range`, `empty`, ' +
      '`too_many`, `required`, `unknown_field`, `invalid_value`, `invalid_format`. The list is open-ended.',
  }),
  message: Type.String(),
});

export type FieldErrorCode =
  | 'invalid_json'
  | 'invalid_type'
  | 'invalid_content_type'
  | 'invalid_body'
  | 'out_of_range'
  | 'empty'
  | 'too_many'
  | 'required'
  | 'unknown_field'
  | 'invalid_value'
  | 'invalid_format';

export interface FieldError {
  readonly field: string;
  readonly code: FieldErrorCode;
  readonly message: string;
}

const policyDetails = {
  reason: Type.String(),
  attempted: Type.String({ description: 'The model or action as asked for.' }),
  rule_id: Type.String({ description: 'The deciding rule.' }),
};

export const errorCatalog = {
  bad_request: entry(
    [400],
    'after_change',
    'The request is malformed or makes no sense as a whole; no single field is to blame.',
    none,
  ),
  unauthorized: entry([401], 'after_change', 'The bearer token is missing or invalid.', none),
  key_expired: entry(
    [401],
    'after_change',
    'The key has expired or is not valid yet. The same key will not do; a new one is needed.',
    none,
  ),
  session_revoked: entry([401], 'after_change', 'The console session was revoked or has expired.', none),
  forbidden: entry([403], 'after_change', 'The role of the caller is not sufficient.', none),
  missing_scope: entry(
    [403],
    'after_change',
    'The key lacks a scope. Scopes are fixed when a key is minted.',
    Type.Object({ required: Type.String({ description: 'The scope that is missing.' }) }),
  ),
  ip_not_allowed: entry([403], 'after_change', "The caller's address is outside the org's allow-list.", none),
  org_suspended: entry([403], 'after_change', 'The organization is suspended.', none),
  residency_violation: entry(
    [403],
    'after_change',
    'A residency rule refuses the operation in this region.',
    none,
  ),
  policy_blocked: entry(
    [403],
    'after_change',
    'A policy of the org blocks the model or action.',
    Type.Object(policyDetails),
  ),
  policy_approval_required: entry(
    [403],
    'after_change',
    'Someone has to approve the action first; it proceeds once approved.',
    Type.Object({ ...policyDetails, approval_id: Type.String() }),
  ),
  content_safety_blocked: entry(
    [403],
    'after_change',
    'A content-safety detector fired.',
    Type.Object({
      detector: Type.String({ description: 'Its name.' }),
      detector_id: Type.Optional(Type.String()),
      sample: Type.String({ description: 'The offending excerpt, capped in length.' }),
    }),
  ),
  support_scope_denied: entry(
    [403],
    'after_change',
    'The operation is outside the support grant; widening it takes a new grant.',
    Type.Object({ reason: Type.String(), scope: Type.Array(Type.String()), method: Type.String() }),
  ),
  not_found: entry(
    [404],
    'after_change',
    'There is no such resource, or the caller may not know of it.',
    none,
  ),
  conflict: entry(
    [409],
    'after_change',
    'The operation conflicts with the present state.',
    Type.Object({
      run_index: Type.Optional(Type.Integer({ description: 'The run of a bulk request that conflicts.' })),
    }),
  ),
  idempotency_key_conflict: entry(
    [409],
    'after_change',
    'The `Idempotency-Key` was used before with a different body.',
    none,
  ),
  idempotency_key_processing: entry(
    [409],
    'with_backoff',
    'A request with this `Idempotency-Key` is still in flight.',
    none,
  ),
  gone: entry([410], 'never', 'The resource is permanently unavailable, such as a revoked key.', none),
  payload_too_large: entry([413], 'after_change', 'The body exceeds the configured limit.', none),
  validation_failed: entry(
    [422],
    'after_change',
    'One or more fields are invalid; each is listed.',
    Type.Object({ fields: Type.Array(FieldError) }),
  ),
  insufficient_cohort_size: entry(
    [400],
    'after_change',
    'The benchmark cohort has fewer contributing orgs than the k-anonymity floor.',
    Type.Object({ minimum_cohort_size: count }),
  ),
  spend_cap_exceeded: entry(
    [402],
    'after_window',
    'The daily spend cap is reached, or would be.',
    Type.Object({
      cap_usd: usd,
      spent_usd: usd,
      resets_at: timestamp,
      reason: Type.Optional(
        Type.String({ description: '`pre_flight`: refused before any cost was incurred.' }),
      ),
      held_usd: Type.Optional(usd),
      attempted_usd: Type.Optional(usd),
    }),
  ),
  chain_budget_exceeded: entry(
    [402, 429],
    'after_change',
    'The budget of the run chain is exceeded: 402 for cost and tokens, 429 for depth.',
    Type.Object({
      reason: Type.Union([Type.Literal('cost'), Type.Literal('depth'), Type.Literal('tokens')]),
      current: Type.Union([usd, count]),
      attempted: Type.Union([usd, count]),
      limit: Type.Union([usd, count]),
    }),
  ),
  budget_exceeded: entry(
    [402],
    'after_window',
    'A budget or per-customer limit would be exceeded for its period.',
    Type.Object({
      budget_id: Type.String(),
      scope_kind: Type.Union([
        Type.Literal('org'),
        Type.Literal('workflow'),
        Type.Literal('deployment'),
        Type.Literal('department'),
        Type.Literal('customer'),
      ]),
      limit_usd: usd,
      spent_usd: usd,
      period_start: timestamp,
      period_end: timestamp,
      held_usd: Type.Optional(usd),
      attempted_usd: Type.Optional(usd),
    }),
  ),
  quota_exhausted: entry(
    [402, 429],
    'after_window',
    'A prepaid quota is exhausted: 402 for the prepaid balance, 429 for a quota window of a rate-limit policy.',
    Type.Object({
      quota_kind: Type.Union([Type.Literal('prepaid'), Type.Literal('window')]),
      unit: Type.String(),
      limit: Type.Union([usd, count]),
      used: Type.Union([usd, count]),
      window_start: nullable(timestamp),
      window_end: nullable(timestamp),
    }),
  ),
  credits_exhausted: entry(
    [402],
    'after_change',
    "The end customer's live credit packs cannot cover the charge.",
    Type.Object({ available_usd: usd, attempted_usd: usd }),
  ),
  plan_limit_exceeded: entry(
    [402],
    'after_window',
    'The monthly entitlement of the plan is used up, and the plan blocks overage.',
    Type.Object({
      limit_kind: Type.Union([Type.Literal('runs'), Type.Literal('tokens')]),
      limit: count,
      used: count,
    }),
  ),
  rate_limited: entry(
    [429],
    'after_interval',
    'Too many requests; `Retry-After` says when the next one may pass.',
    Type.Object({ retry_after_seconds: Type.Integer({ minimum: 1 }) }),
  ),
  policy_expression_error: entry(
    [500],
    'after_change',
    'The expression of a policy rule failed to evaluate; the request is neither allowed nor cleanly denied.',
    Type.Object({ rule_id: Type.String() }),
  ),
  internal: entry(
    [500],
    'with_backoff',
    'An unexpected fault of the server. Quote `x-svc-trace-id` in a report.',
    none,
  ),
  no_model_passes_eval: entry([503], 'after_change', 'No eligible model met the configured eval bar.', none),
  service_unavailable: entry(
    [503],
    'with_backoff',
    'A dependency is unavailable or a queue is full. Retry with backoff, a write with its `Idempotency-Key`.',
    none,
  ),
} as const;

export type ErrorCode = keyof typeof errorCatalog;
export type ErrorDetails<Code extends ErrorCode> = Static<(typeof errorCatalog)[Code]['details']>;

export const errorCodes = Object.keys(errorCatalog) as ErrorCode[];

/** What the gates refuse with, in their order: of several that refuse, the first is told. */
export const admissionErrorCodes = [
  'rate_limited',
  'policy_blocked',
  'policy_approval_required',
  'policy_expression_error',
  'content_safety_blocked',
  'plan_limit_exceeded',
  'quota_exhausted',
  'spend_cap_exceeded',
  'budget_exceeded',
  'chain_budget_exceeded',
  'credits_exhausted',
] as const satisfies readonly ErrorCode[];
