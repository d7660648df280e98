/** A rate-limit policy: validation, and conversion between its API form and the columns of its limit. */

import { invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import { formatUsd } from '../../../kernel/money.ts';
import { nanosOf, viewTimes } from '../../../ledger/limits/limit-fields.ts';
import type { LimitRow } from '../../../ledger/limits/limits.ts';
import type { PolicyView, PutPolicy } from './schema.ts';

export type PolicyColumns = Pick<
  LimitRow,
  'kind' | 'name' | 'unit' | 'match' | 'window_seconds' | 'capacity' | 'burst'
>;

export function viewPolicy(row: LimitRow): PolicyView {
  return {
    id: row.id,
    name: row.name ?? '',
    match: row.match as PolicyView['match'],
    unit: row.unit,
    limit: inUnit(row, row.capacity),
    window_seconds: row.window_seconds ?? 0,
    kind: row.kind === 'rate' ? 'rate' : 'quota',
    burst: row.burst === null ? null : inUnit(row, row.burst),
    ...viewTimes(row),
  };
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
    unit,
    match: match ?? {},
    window_seconds,
    capacity: amountOf(limit),
    burst: burst == null ? null : amountOf(burst),
  };
}

function amountOf(given: string | number): bigint {
  return typeof given === 'string' ? nanosOf(given) : BigInt(given);
}

/** Checks the rules that the schema cannot express. Throws all field errors together. */
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

function fieldErrorsOf({ match = {}, unit, limit, kind, burst }: PutPolicy): PolicyFieldError[] {
  const fieldErrors: PolicyFieldError[] = [...amountErrors('limit', unit, limit)];
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
      // Route classes are checked before the body, which contains model and customer, is read.
      fieldErrors.push(['match.route_class', 'invalid_value', 'Can only be combined with `key_id`.']);
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
    : [[field, 'invalid_type', `Must be an integer for the unit ${unit}.`]];
}
