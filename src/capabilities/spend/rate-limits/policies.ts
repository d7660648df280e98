/** One rate-limit policy: what a request may say of it, and the way to the columns of its limit and back. */

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

/** What the schema cannot say. Names every field that is wrong. */
export function checkPolicies(policies: readonly PutPolicy[]): void {
  const names = new Set<string>();
  const faults = policies.flatMap((policy, index) => {
    const found = faultsOf(policy);
    if (names.has(policy.name)) {
      found.push(['name', 'invalid_value', 'Another policy in the list has this name.']);
    }
    names.add(policy.name);
    return found.map(([field, code, message]) => ({ field: `policies[${index}].${field}`, code, message }));
  });
  if (faults.length > 0) {
    throw invalidFields(faults);
  }
}

type Fault = [field: string, code: FieldError['code'], message: string];

function faultsOf({ match = {}, unit, limit, kind, burst }: PutPolicy): Fault[] {
  const faults: Fault[] = [...amountFaults('limit', unit, limit)];
  if (burst != null) {
    faults.push(
      ...(kind === 'rate'
        ? amountFaults('burst', unit, burst)
        : [['burst', 'invalid_value', 'Only a rate has a burst.'] satisfies Fault]),
    );
  }
  if (match.route_class !== undefined) {
    if (kind !== 'rate' || unit !== 'requests') {
      faults.push([
        'match.route_class',
        'invalid_value',
        'Only a rate of requests goes by the class of the route.',
      ]);
    } else if (match.model !== undefined || match.customer_id !== undefined) {
      // It is looked at before the body is read, which says what model and customer a request is about.
      faults.push(['match.route_class', 'invalid_value', 'This goes together with key_id alone.']);
    }
  }
  return faults;
}

function amountFaults(field: string, unit: PutPolicy['unit'], given: string | number): Fault[] {
  if (unit === 'usd') {
    if (typeof given !== 'string') {
      return [[field, 'invalid_type', 'This has to be a decimal string, since the unit is usd.']];
    }
    return nanosOf(given) === 0n ? [[field, 'out_of_range', 'This has to be more than 0.']] : [];
  }
  return typeof given === 'number'
    ? []
    : [[field, 'invalid_type', `This has to be integer, since the unit is ${unit}.`]];
}
