/** A rate-limit policy: validation, and conversion between its API form and the columns of its limit. */

import { invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import { formatUsd } from '../../../kernel/money.ts';
import { nanosOf, viewTimes } from '../../../ledger/limits/limit-fields.ts';
import { isConcurrency, type LimitRow } from '../../../ledger/limits/limits.ts';
import { canonicalJson } from '../../../platform/canonical-json.ts';
import type { PutPolicy, RatePolicyView } from './schema.ts';

export type PolicyColumns = Pick<
  LimitRow,
  'kind' | 'name' | 'unit' | 'match' | 'window_seconds' | 'capacity' | 'burst'
>;

export function viewPolicy(row: LimitRow): RatePolicyView {
  return {
    id: row.id,
    name: row.name ?? '',
    match: row.match as RatePolicyView['match'],
    unit: isConcurrency(row) ? 'concurrent' : row.unit,
    limit: inUnit(row, row.capacity),
    window_seconds: row.window_seconds ?? 0,
    kind: row.kind === 'rate' ? 'rate' : 'quota',
    burst: row.burst === null ? null : inUnit(row, row.burst),
    ...viewTimes(row),
  };
}

/**
 * Returns the identity of a policy. Policies with the same identity are the same limit, so its id is kept, and its counters too
 * unless its window changes.
 */
export function policyIdentity({
  name,
  kind,
  unit,
  match = {},
}: Pick<PutPolicy, 'name' | 'kind' | 'unit' | 'match'>): string {
  return canonicalJson([name, kind, unit, match]);
}

function inUnit({ unit }: LimitRow, amount: bigint): string | number {
  return unit === 'usd' ? formatUsd(amount) : Number(amount);
}

export function policyColumns({
  name,
  match,
  unit,
  limit,
  window_seconds,
  kind,
  burst,
}: PutPolicy): PolicyColumns {
  return {
    kind,
    name,
    unit: unit === 'concurrent' ? 'requests' : unit,
    match: match ?? {},
    window_seconds: unit === 'concurrent' ? null : (window_seconds ?? null),
    capacity: amountOf(limit),
    burst: burst == null ? null : amountOf(burst),
  };
}

function amountOf(given: string | number): bigint {
  return typeof given === 'string' ? nanosOf(given) : BigInt(given);
}

/** Checks rules that the schema cannot express. Throws all field errors together. */
export function checkPolicies(policies: readonly PutPolicy[]): void {
  const names = new Set<string>();
  const fieldErrors = policies.flatMap((policy, index) => {
    const found = fieldErrorsOf(policy);
    if (names.has(policy.name)) {
      found.push(['name', 'invalid_value', 'Another policy in the list has the same name.']);
    }
    names.add(policy.name);
    return found.map(([field, code, message]) => ({ field: `policies[${index}].${field}`, code, message }));
  });
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
}

type PolicyFieldError = [field: string, code: FieldError['code'], message: string];

function fieldErrorsOf(policy: PutPolicy): PolicyFieldError[] {
  const { match = {}, unit, limit, kind, burst, window_seconds = 0 } = policy;
  const fieldErrors: PolicyFieldError[] = [...amountErrors('limit', unit, limit)];
  if (unit === 'concurrent') {
    return [...fieldErrors, ...concurrencyErrors(policy)];
  }
  if (window_seconds < 1) {
    fieldErrors.push(
      policy.window_seconds === undefined
        ? ['window_seconds', 'required', 'Required, except for the unit `concurrent`.']
        : ['window_seconds', 'out_of_range', 'Must be at least 1.'],
    );
  }
  if (burst != null) {
    fieldErrors.push(
      ...(kind === 'rate'
        ? amountErrors('burst', unit, burst)
        : [['burst', 'invalid_value', 'Only allowed for kind `rate`.'] satisfies PolicyFieldError]),
    );
  }
  if (match.route_class !== undefined) {
    if (kind !== 'rate' || unit !== 'requests') {
      fieldErrors.push([
        'match.route_class',
        'invalid_value',
        'Only allowed for kind `rate` and unit `requests`.',
      ]);
    } else if (match.model !== undefined || match.customer_id !== undefined) {
      // Route classes are checked before the body, which contains the model and the customer, is read.
      fieldErrors.push(['match.route_class', 'invalid_value', 'Can only be combined with `key_id`.']);
    }
  }
  return fieldErrors;
}

/** Returns the errors of a limit on requests in flight. It has no window and no burst, and is checked before the model is known. */
function concurrencyErrors({ match = {}, kind, burst, window_seconds = 0 }: PutPolicy): PolicyFieldError[] {
  const fieldErrors: PolicyFieldError[] = [];
  const reject = (field: string, message: string) => fieldErrors.push([field, 'invalid_value', message]);
  if (kind !== 'rate') {
    reject('kind', 'Must be `rate` for the unit `concurrent`.');
  }
  if (window_seconds !== 0) {
    reject('window_seconds', 'Not allowed for the unit `concurrent`, which has no window.');
  }
  if (burst != null) {
    reject('burst', 'Not allowed for the unit `concurrent`.');
  }
  for (const field of ['model', 'customer_id', 'route_class'] as const) {
    if (match[field] !== undefined) {
      reject(`match.${field}`, 'The unit `concurrent` can only be limited by `key_id`.');
    }
  }
  return fieldErrors;
}

function amountErrors(field: string, unit: PutPolicy['unit'], given: string | number): PolicyFieldError[] {
  if (unit === 'usd') {
    if (typeof given !== 'string') {
      return [[field, 'invalid_type', 'Must be a decimal string for the unit usd.']];
    }
    return nanosOf(given) === 0n ? [[field, 'out_of_range', 'Must be greater than 0.']] : [];
  }
  return typeof given === 'number'
    ? []
    : [[field, 'invalid_type', `Must be a whole number for the unit ${unit}.`]];
}
