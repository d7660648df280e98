/**
 * The error catalog: the only place that maps a code to its statuses, details and meaning.
 * Codes are append-only and statuses are frozen: new conditions get new entries.
 */
import { type Static, type TObject, type TSchema, Type } from 'typebox';
import { scopeKinds, tagScope } from './scope-kinds.ts';

/** The kind of retry that can clear an error. */
export type Retry =
  /** The same request fails until something is changed. */
  | 'after_change'
  /** The same request succeeds after the interval in `Retry-After`. */
  | 'after_interval'
  /** The same request succeeds when the window in `details` ends, or after a change. */
  | 'after_window'
  /** The cause is transient: retry with backoff. */
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

/** Fields may be added to details later and clients ignore unknown fields, so the objects allow additional properties. */
const none = Type.Object({});
const usd = Type.String({
  pattern: '^-?\\d+(\\.\\d{1,9})?$',
  description: 'US dollars as a decimal string.',
});
const spent = Type.String({ ...usd, description: 'Settled and held amounts, as a decimal string.' });
const held = Type.String({
  ...usd,
  description: 'The part of `spent_usd` that is held for calls in progress, as a decimal string.',
});
const reserved = Type.String({
  ...usd,
  description:
    'The amount that a new call of the gateway leaves free for calls in progress (`reserve_for_running`), as a decimal string.',
});
/** Present while the limit is raised. */
const raised = {
  raised_usd: Type.Optional(
    Type.String({
      ...usd,
      description: 'The part of the limit that temporary raises add, as a decimal string.',
    }),
  ),
  raised_until: Type.Optional(
    Type.String({ format: 'date-time', description: 'When the first of the raises ends.' }),
  ),
};
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
  attempted: Type.String({ description: 'The requested model or action.' }),
  rule_id: Type.String({ description: 'The rule that decided.' }),
};

export const errorCatalog = {
  bad_request: entry(
    [400],
    'after_change',
    'The request is malformed or invalid as a whole, not because of a single field.',
    none,
  ),
  unauthorized: entry([401], 'after_change', 'The bearer token is missing or invalid.', none),
  key_expired: entry(
    [401],
    'after_change',
    'The key has expired or is not valid yet. Use a different key.',
    none,
  ),
  session_revoked: entry([401], 'after_change', 'The console session was revoked or has expired.', none),
  forbidden: entry(
    [403],
    'after_change',
    'Your role or the attribution of your key does not allow this operation.',
    Type.Object({
      field: Type.Optional(
        Type.String({ description: 'The field whose value the key fixes, such as `customer_id`.' }),
      ),
      run_index: Type.Optional(Type.Integer({ description: 'Index of the run in a bulk request.' })),
    }),
  ),
  missing_scope: entry(
    [403],
    'after_change',
    'The key lacks a required scope. Scopes cannot be changed: create a key that has the scope.',
    Type.Object({ required: Type.String({ description: 'The missing scope.' }) }),
  ),
  ip_not_allowed: entry([403], 'after_change', "Your IP address is not in the org's allow-list.", none),
  org_suspended: entry([403], 'after_change', 'The organization is suspended.', none),
  residency_violation: entry(
    [403],
    'after_change',
    "The org's residency rule does not allow this operation in this region.",
    none,
  ),
  policy_blocked: entry(
    [403],
    'after_change',
    'An org policy blocks this model or action.',
    Type.Object(policyDetails),
  ),
  policy_approval_required: entry(
    [403],
    'after_change',
    'This model or action needs an approval. Retry once it is approved.',
    Type.Object({ ...policyDetails, approval_id: Type.String() }),
  ),
  content_safety_blocked: entry(
    [403],
    'after_change',
    'A safety detector blocked the content.',
    Type.Object({
      detector: Type.String({ description: 'Name of the detector.' }),
      detector_id: Type.Optional(Type.String()),
      sample: Type.String({ description: 'The offending excerpt, capped in length.' }),
    }),
  ),
  support_scope_denied: entry(
    [403],
    'after_change',
    'The support grant does not cover this operation. A new grant is needed.',
    Type.Object({ reason: Type.String(), scope: Type.Array(Type.String()), method: Type.String() }),
  ),
  not_found: entry([404], 'after_change', 'The resource does not exist or is not visible to you.', none),
  conflict: entry(
    [409],
    'after_change',
    'The operation conflicts with the current state.',
    Type.Object({
      run_index: Type.Optional(
        Type.Integer({ description: 'Index of the conflicting run in a bulk request.' }),
      ),
      etag: Type.Optional(
        Type.String({ description: 'The current version of the resource, if `If-Match` names another one.' }),
      ),
    }),
  ),
  idempotency_key_conflict: entry(
    [409],
    'after_change',
    'The `Idempotency-Key` was already used with a different request.',
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
    'One or more fields are invalid; see `details.fields`.',
    Type.Object({ fields: Type.Array(FieldError) }),
  ),
  insufficient_cohort_size: entry(
    [400],
    'after_change',
    'The benchmark cohort has fewer contributing orgs than the minimum for anonymity.',
    Type.Object({ minimum_cohort_size: count }),
  ),
  spend_cap_exceeded: entry(
    [402],
    'after_window',
    'The daily spend cap is reached or would be exceeded.',
    Type.Object({
      cap_usd: usd,
      spent_usd: spent,
      resets_at: timestamp,
      reason: Type.Optional(
        Type.String({ description: '`pre_flight`: denied before any cost was incurred.' }),
      ),
      held_usd: Type.Optional(held),
      reserved_usd: Type.Optional(reserved),
      ...raised,
      attempted_usd: Type.Optional(usd),
    }),
  ),
  chain_budget_exceeded: entry(
    [402, 429],
    'after_change',
    'The budget of the run chain would be exceeded: 402 for cost and tokens, 429 for depth.',
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
    'A budget or customer limit would be exceeded for its period.',
    Type.Object({
      budget_id: Type.String(),
      scope_kind: Type.Unsafe<string>({
        anyOf: [{ type: 'string', enum: [...scopeKinds, 'customer'] }, tagScope],
      }),
      limit_usd: usd,
      spent_usd: spent,
      period_start: timestamp,
      period_end: timestamp,
      held_usd: Type.Optional(held),
      reserved_usd: Type.Optional(reserved),
      ...raised,
      attempted_usd: Type.Optional(usd),
    }),
  ),
  quota_exhausted: entry(
    [402, 429],
    'after_window',
    'A prepaid quota is exhausted: 402 for the prepaid balance. For a quota window of a rate-limit policy, 402 on the edge and 429 elsewhere.',
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
    'The monthly allowance of the plan is used up, and the plan blocks overage.',
    Type.Object({
      limit_kind: Type.Union([Type.Literal('runs'), Type.Literal('tokens')]),
      limit: count,
      used: count,
    }),
  ),
  rate_limited: entry(
    [429],
    'after_interval',
    'Too many requests. Retry after the time in `Retry-After`.',
    Type.Object({ retry_after_seconds: Type.Integer({ minimum: 1 }) }),
  ),
  policy_expression_error: entry(
    [500],
    'after_change',
    'The expression of a policy rule failed to evaluate. Fix or disable the rule.',
    Type.Object({ rule_id: Type.String() }),
  ),
  internal: entry(
    [500],
    'with_backoff',
    'Unexpected server error. Include `x-svc-trace-id` when you report it.',
    none,
  ),
  no_model_passes_eval: entry([503], 'after_change', 'No eligible model meets the minimum eval score.', none),
  service_unavailable: entry(
    [503],
    'with_backoff',
    'A dependency is unavailable or a queue is full. Retry with backoff, and writes with the same `Idempotency-Key`.',
    none,
  ),
} as const;

export type ErrorCode = keyof typeof errorCatalog;
export type ErrorDetails<Code extends ErrorCode> = Static<(typeof errorCatalog)[Code]['details']>;

export const errorCodes = Object.keys(errorCatalog) as ErrorCode[];

/** The error codes of the admission checks, in the order of the checks. The first check that fails determines the error. */
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
