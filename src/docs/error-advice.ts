/** Advice for callers about each error code. Links are relative to `docs/generated` in the repository. */
import type { ErrorCode } from '../contract/errors.ts';

export const errorAdvice: Readonly<Record<ErrorCode, string>> = {
  bad_request: 'Read `message`, correct the URL, the headers or the request as a whole, and send it again.',
  unauthorized:
    'Send `Authorization: Bearer <key>` with a complete key. A key that never existed is rejected like a missing one. See [keys](../guides/keys.md).',
  key_expired:
    'Use a key that is valid now: [create or rotate one](../guides/keys.md). The validity of a key does not change.',
  session_revoked: 'Sign in to the console again. The response clears the old cookie.',
  forbidden:
    'Use a key with a higher role, or leave out the field in `details.field`: the key fixes its value ([attribution](../guides/attribution.md)).',
  missing_scope:
    'Create a key with the scope in `details.required`. The scopes of a key are fixed when it is created. See [keys](../guides/keys.md).',
  ip_not_allowed:
    'Call from an address in the allow-list, or have an administrator add yours. Behind a proxy, check `SVC_TRUSTED_PROXIES`.',
  org_suspended: 'Ask the operator of the service to reinstate the organization.',
  residency_violation:
    'Call the home region of the organization. The request is never forwarded silently under a strict rule. See [regions](../guides/regions.md).',
  policy_blocked:
    'Choose another model or action, or change the rule in `details.rule_id`. See [policies](../guides/policies.md).',
  policy_approval_required:
    'Have someone else approve `details.approval_id`, then send the same request again. See [policies](../guides/policies.md).',
  content_safety_blocked:
    'Remove what `details.sample` shows, or change the action of the detector. See [safety](../guides/safety.md).',
  support_scope_denied:
    'Ask for a new grant whose scope covers the operation; a grant is never widened. See [support access](../guides/support-access.md).',
  not_found:
    'Check the path and the id, and that the key belongs to the organization of the resource: resources of others are reported as missing.',
  conflict: 'Read the current state, decide again, and send a request that fits it.',
  idempotency_key_conflict:
    'Use a new `Idempotency-Key` for a new request; repeat the body exactly for a retry. See [idempotency](../guides/idempotency.md).',
  idempotency_key_processing:
    'Wait and send the same request with the same key: you get the response of the first one. See [idempotency](../guides/idempotency.md).',
  gone: 'Use another key or resource. This one does not come back.',
  payload_too_large:
    'Send less at once: split a batch into several. The maximum is `SVC_BODY_LIMIT_BYTES`; most operations accept less ([settings](settings.md)).',
  validation_failed:
    'Correct every field in `details.fields`; all invalid fields are listed at once, with a code and a message each.',
  insufficient_cohort_size:
    'Use wider criteria, so that at least `details.minimum_cohort_size` organizations contribute. See [benchmarks](../guides/benchmarks.md).',
  spend_cap_exceeded:
    'Wait until `details.resets_at`, or raise the cap. See [limits](../guides/limits.md) and `GET /v1/orgs/{id}/refusals` for what was denied.',
  chain_budget_exceeded:
    'Stop the chain of runs, or raise the limit in `details.reason`. Do not retry, also if the status is 429. See [limits](../guides/limits.md).',
  budget_exceeded:
    'Ask for less (a cheaper model, fewer output tokens), wait until `details.period_end`, or raise the budget `details.budget_id`. See [limits](../guides/limits.md).',
  quota_exhausted:
    'Top up the prepaid balance (`details.quota_kind` is `prepaid`), or wait until `details.window_end` (`window`). See [limits](../guides/limits.md).',
  credits_exhausted: 'Give the end customer another credit pack. See [limits](../guides/limits.md).',
  plan_limit_exceeded: 'Move to a larger plan or wait for the next month. See [limits](../guides/limits.md).',
  rate_limited: 'Wait for the seconds in `Retry-After`, then send the same request again.',
  policy_expression_error:
    'Correct or disable the rule in `details.rule_id`; until then its requests are neither allowed nor denied by it. See [policies](../guides/policies.md).',
  internal:
    'Retry with backoff, writes with the same `Idempotency-Key`. Quote the header `x-svc-trace-id` when you report it: it finds the request in the [logs](../operations/running.md).',
  no_model_passes_eval:
    'Lower the minimum score, run the evaluations again, or add candidates. See [routing](../guides/routing.md).',
  service_unavailable:
    'Retry with backoff, writes with the same `Idempotency-Key`. Operators: [doctor](../operations/doctor.md) names the cause.',
};
