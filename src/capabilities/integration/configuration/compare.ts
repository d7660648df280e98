/** Compares the fields of a resource with those in the file, and lists the differences for a plan. */
import { formatUsd, parseUsd } from '../../../kernel/money.ts';
import { canonicalJson } from '../../../platform/canonical-json.ts';
import type { FileFields } from './section.ts';

export interface FieldChange {
  /** Such as `limit_usd`, `timeouts.idle_ms` or `policies[Per minute].limit`. */
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Returns true if both values mean the same: amounts such as `5` and `5.00`, and named items in another order. */
export function isSameValue(field: string, one: unknown, other: unknown): boolean {
  return canonicalJson(normalized(field, one)) === canonicalJson(normalized(field, other));
}

function normalized(field: string, value: unknown): unknown {
  if (typeof value === 'string') {
    const nanos = /usd(_per_million)?$/.test(field) ? parseUsd(value) : undefined;
    return nanos === undefined ? value : formatUsd(nanos);
  }
  const items = namedItems(value);
  if (items !== undefined) {
    return Object.fromEntries([...items].map(([name, item]) => [name, normalized(field, item)]));
  }
  if (Array.isArray(value)) {
    return value.map((item) => normalized(field, item));
  }
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, normalized(name, item)]))
    : value;
}

/** Returns the items by their names; undefined if the value is not a list of items with different names. */
function namedItems(value: unknown): Map<string, object> | undefined {
  if (!Array.isArray(value) || !value.every((item) => isObject(item) && typeof item.name === 'string')) {
    return undefined;
  }
  const byName = new Map(value.map((item) => [item.name as string, item as object]));
  return byName.size === value.length ? byName : undefined;
}

function isObject(value: unknown): value is FileFields {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Lists the differences of two values, those of objects and of named items one by one. */
export function differences(field: string, before: unknown, after: unknown): FieldChange[] {
  if (isSameValue(lastPart(field), before, after)) {
    return [];
  }
  const [oldItems, newItems] = [namedItems(before), namedItems(after)];
  if (oldItems !== undefined && newItems !== undefined) {
    const names = new Set([...oldItems.keys(), ...newItems.keys()]);
    return [...names].flatMap((name) =>
      differences(`${field}[${name}]`, oldItems.get(name) ?? null, newItems.get(name) ?? null),
    );
  }
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) =>
      differences(`${field}.${name}`, before[name] ?? null, after[name] ?? null),
    );
  }
  return [{ field, before: before ?? null, after: after ?? null }];
}

function lastPart(field: string): string {
  return field.slice(field.lastIndexOf('.') + 1);
}
