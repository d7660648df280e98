import { expect, test } from 'vitest';
import { errorCatalog, errorCodes } from './errors.ts';
import { refuse, refuseFields, refuseWith } from './refusal.ts';

/** Written off the contract by hand: the catalog must agree with it, not with itself. */
const contract = `
bad_request 400
unauthorized 401
key_expired 401
session_revoked 401
forbidden 403
missing_scope 403 required
ip_not_allowed 403
org_suspended 403
residency_violation 403
policy_blocked 403 reason attempted rule_id
policy_approval_required 403 reason attempted rule_id
content_safety_blocked 403 detector sample
support_scope_denied 403 reason scope method
not_found 404
conflict 409
idempotency_key_conflict 409
idempotency_key_processing 409
gone 410
payload_too_large 413
validation_failed 422 fields
insufficient_cohort_size 400 minimum_cohort_size
spend_cap_exceeded 402 cap_usd spent_usd resets_at reason
chain_budget_exceeded 402,429 reason current attempted limit
budget_exceeded 402 budget_id scope_kind limit_usd spent_usd period_start period_end
quota_exhausted 402,429
credits_exhausted 402 available_usd attempted_usd
plan_limit_exceeded 402 limit_kind limit used
rate_limited 429 retry_after_seconds
policy_expression_error 500 rule_id
internal 500
no_model_passes_eval 503
service_unavailable 503`;

const rows = contract
  .trim()
  .split('\n')
  .map((line) => line.split(' '))
  .map(([code = '', statuses = '', ...details]) => ({
    code,
    statuses: statuses.split(',').map(Number),
    details,
  }));

test('the catalog has exactly the codes of the contract', () => {
  expect([...errorCodes].sort()).toEqual(rows.map(({ code }) => code).sort());
  expect(errorCodes).toHaveLength(32);
});

test.each(rows)('$code has the statuses and details of the contract', ({ code, statuses, details }) => {
  const entry = errorCatalog[code as keyof typeof errorCatalog];
  expect(entry.statuses).toEqual(statuses);
  expect(Object.keys(entry.details.properties)).toEqual(expect.arrayContaining(details));
});

test('a refusal is the envelope, with details also where there are none', () => {
  expect(refuse('not_found').envelope).toEqual({
    error: { code: 'not_found', message: expect.any(String), details: {} },
  });
  const limited = refuseWith('rate_limited', { retry_after_seconds: 3 });
  expect([limited.status, limited.details]).toEqual([429, { retry_after_seconds: 3 }]);
});

test('the message of a failed validation names the first fields', () => {
  const field = (name: string) => ({ field: name, code: 'required', message: 'x' }) as const;
  expect(refuseFields(['a', 'b', 'c', 'd', 'e'].map(field)).message).toBe(
    'The request is invalid: see a, b, c and 2 more.',
  );
});
