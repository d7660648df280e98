/**
 * Plans the sums that determine the expected value of each counter: one sum for all counters that match the same
 * fields, in any number of windows and for any number of values.
 */
import {
  applicable,
  emptyScope,
  fieldsOf,
  isTagField,
  type Limit,
  type OrgLimits,
  type Scope,
  tagNameOf,
  WILDCARD,
  windowOf,
} from '../../../kernel/limits.ts';
import type { Window } from '../../../kernel/windows.ts';
import type { CounterState } from '../../../ledger/ledger.ts';
import { counterName, limitIdOf } from './counter-keys.ts';
import type { EntryField } from './entry-sums.ts';
import type { Payment } from './payments.ts';

/** Location of the expected value of a counter. */
type SettledSource =
  | { readonly kind: 'entries'; readonly group: RecountGroup; readonly name: string }
  | { readonly kind: 'paid'; readonly name: string }
  /** Nothing is settled in the counter, whatever was charged. */
  | { readonly kind: 'none' };

export interface Planned {
  readonly limit: Limit;
  readonly window: Window;
  readonly place: SettledSource;
}

export interface RecountGroup {
  readonly fields: readonly EntryField[];
  readonly windows: Map<string, Window>;
  /** Relevant values of each field; null: all values. */
  readonly values: (Set<string> | null)[];
  /** Limits with several wildcards, whose sums are grouped by counter key. */
  readonly combining: Set<Limit>;
}

export interface RecountPlan {
  readonly planned: ReadonlyMap<string, Planned>;
  readonly groups: readonly RecountGroup[];
  /** Ids of limits with at least one counter that is no longer in use. */
  readonly retiredLimits: readonly string[];
}

export function planFor(limits: OrgLimits, counters: readonly CounterState[]): RecountPlan {
  const byId = new Map(limits.all.map((limit) => [limit.id, limit]));
  const planned = new Map<string, Planned>();
  const groups = new Map<string, RecountGroup>();
  const retiredLimits = new Set<string>();
  for (const { key } of counters) {
    const limit = byId.get(limitIdOf(key));
    const one = limit && planOne(limits, limit, key, groups);
    if (one === undefined) {
      retiredLimits.add(limitIdOf(key));
    } else {
      planned.set(key, one);
    }
  }
  return { planned, groups: [...groups.values()], retiredLimits: [...retiredLimits] };
}

/**
 * Returns undefined if charges no longer count in this counter, because the window or match of the limit has changed.
 */
function planOne(
  limits: OrgLimits,
  limit: Limit,
  key: string,
  groups: Map<string, RecountGroup>,
): Planned | undefined {
  const { startMs, values: own = '' } = counterName(key);
  const window = windowOf(limit, limits.timezone, startMs);
  const fields = fieldsOf(limit.match).filter((field) => field !== 'route_class');
  const combines = fields.filter((field) => limit.match[field] === WILDCARD).length > 1;
  const values = fields.map((field) => (limit.match[field] === WILDCARD ? own : (limit.match[field] ?? '')));
  if (window.startMs !== startMs || !counts(limits, limit, scopeWith(fields, values))) {
    return undefined;
  }
  if (limit.kind === 'concurrency') {
    return { limit, window, place: { kind: 'none' } };
  }
  if (limit.kind === 'credits' || limit.kind === 'prepaid') {
    const name = paidName(limit.kind, limit.kind === 'credits' ? limit.id : '');
    return { limit, window, place: { kind: 'paid', name } };
  }
  const group = groupOf(groups, fields);
  group.windows.set(windowName(window), window);
  for (const [index, field] of fields.entries()) {
    if (combines && limit.match[field] === WILDCARD) {
      group.values[index] = null;
    } else {
      group.values[index]?.add(values[index] ?? '');
    }
  }
  if (combines) {
    group.combining.add(limit);
  }
  const name = combines ? key : placeName(window, values);
  return { limit, window, place: { kind: 'entries', group, name } };
}

function groupOf(groups: Map<string, RecountGroup>, fields: readonly EntryField[]): RecountGroup {
  const name = JSON.stringify(fields);
  const there = groups.get(name);
  const group = there ?? {
    fields,
    windows: new Map(),
    values: fields.map(() => new Set<string>()),
    combining: new Set(),
  };
  groups.set(name, group);
  return group;
}

/** Returns whether a charge with this scope counts in this limit, and not in another one instead. */
function counts(limits: OrgLimits, limit: Limit, scope: Scope): boolean {
  return applicable(limits, scope).includes(limit);
}

export function scopeWith(fields: readonly EntryField[], values: readonly string[]): Scope {
  const pairs = fields.map((field, index) => [field, values[index] ?? ''] as const);
  const tags = pairs.flatMap(([field, value]) => (isTagField(field) ? [[tagNameOf(field), value]] : []));
  return {
    ...emptyScope,
    ...Object.fromEntries(pairs.filter(([field]) => !isTagField(field))),
    tags: tags.length === 0 ? null : Object.fromEntries(tags),
  };
}

function windowName({ startMs, endMs }: Window): string {
  return `${startMs} ${endMs}`;
}

export function placeName(window: Window, values: readonly string[]): string {
  return JSON.stringify([windowName(window), ...values]);
}

export function paidName(kind: Payment['kind'], id: string): string {
  return `${kind} ${id}`;
}
