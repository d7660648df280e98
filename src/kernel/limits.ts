/**
 * Limits: unit, window, capacity, and which of an org's limits apply to a charge. All kinds of limits share this
 * structure, so one admission check handles them all.
 */
import {
  forEachName,
  inOrder,
  type LimitDimension,
  limitDimensions,
  runDimensions,
  type ScopeDimension,
  scopeDimensions,
} from '../contract/run-dimensions.ts';
import { calendarWindow, fixedWindow, lifetime, type Period, type Window } from './windows.ts';

/** In the order in which denials are reported. Rates with a window are counted elsewhere, see `rate.ts`. */
export const limitKinds = [
  'rate',
  'plan_runs',
  'plan_tokens',
  'prepaid',
  'quota',
  'spend_cap',
  'budget',
  'customer',
  'chain_cost',
  'chain_depth',
  'chain_tokens',
  'credits',
] as const;
export type LimitKind = (typeof limitKinds)[number];

/**
 * A limit on requests in flight: a rate without a window, which counts one for each open hold and nothing that is settled.
 * It is stored and shown as a `rate`; `limitUnits` has its unit.
 */
export type CheckedKind = LimitKind | 'concurrency';

export const units = ['usd', 'tokens', 'requests'] as const;
export type Unit = (typeof units)[number];

/** Units as the API shows them: `concurrent` is the unit of limits on requests in flight. */
export const limitUnits = [...units, 'concurrent'] as const;
export type LimitUnit = (typeof limitUnits)[number];

/** The attributes of a charge. A limit applies to charges whose fields equal those in its match. */
export interface Scope extends Readonly<Record<Exclude<ScopeDimension, 'key_id'>, string | null>> {
  readonly key_id: string;
  readonly tags: Tags | null;
}

/** A placeholder: limits without wildcards do not depend on a scope. */
export const emptyScope: Scope = { ...forEachName(scopeDimensions, null), key_id: '', tags: null };

/** Tag values by tag name. */
export type Tags = Readonly<Record<string, string>>;

/** The fields that a limit can match, besides tags. `route_class` is only used by request rates. */
export type NamedMatchField = LimitDimension | 'route_class';
/** The order is part of the key of a counter with several wildcards, so new fields must follow at the end. */
export const matchFields: readonly NamedMatchField[] = inOrder<NamedMatchField>(
  [
    'department',
    'workflow',
    'deployment',
    'customer_id',
    'chain_id',
    'key_id',
    'model',
    'route_class',
    'team',
    'provider',
  ],
  limitDimensions,
);
/** The field that matches the tag of this name. */
export type TagField = `tag:${string}`;
export type MatchField = NamedMatchField | TagField;
export type Match = Readonly<Partial<Record<MatchField, string>>>;

/** Marks a tag in the name of a field. */
export const tagPrefix = 'tag:';

export function isTagField(field: string): field is TagField {
  return field.startsWith(tagPrefix);
}

export function tagNameOf(field: TagField): string {
  return field.slice(tagPrefix.length);
}

/** Returns the fields of a match: named ones in the order of `matchFields`, then tags in the order of their names. */
export function fieldsOf(match: Match): MatchField[] {
  return [
    ...matchFields.filter((field) => match[field] !== undefined),
    ...Object.keys(match).filter(isTagField).sort(),
  ];
}

/** Does not build a list of all fields: it is called several times for each of possibly thousands of limits. */
function firstFieldOf(match: Match): MatchField | undefined {
  return matchFields.find((field) => match[field] !== undefined) ?? Object.keys(match).find(isTagField);
}

/** Returns the value of a charge in a field; null if it has none. */
export function valueIn(scope: Scope, field: MatchField): string | null {
  if (isTagField(field)) {
    const name = tagNameOf(field);
    // A tag may have the name of an inherited property, such as `constructor`.
    return scope.tags !== null && Object.hasOwn(scope.tags, name) ? (scope.tags[name] ?? null) : null;
  }
  return field === 'route_class' ? null : scope[field];
}

/** In the match of a limit, stands for every value; each value has its own counter. */
export const WILDCARD = '*';

export type Span =
  | { readonly kind: 'calendar'; readonly period: Period; readonly timezone: string | null }
  | { readonly kind: 'fixed'; readonly seconds: number }
  | { readonly kind: 'lifetime' };

export interface Limit {
  readonly id: string;
  readonly kind: CheckedKind;
  readonly unit: Unit;
  readonly match: Match;
  readonly span: Span;
  /** In the limit's unit; nanodollars for usd. */
  readonly capacity: bigint;
  /** Maximum amount at once. Only used by rates. */
  readonly burst: bigint;
  readonly enforcement: 'block' | 'alert';
  /** Percentages of the capacity at which an event is emitted. */
  readonly thresholds: readonly number[];
  readonly createdAtMs: number;
  /** Null: the limit does not expire. */
  readonly expiresAtMs: number | null;
  /** Temporary raises; those that have ended may still be listed. Left out if there are none. */
  readonly raises?: readonly Raise[];
  /** The part of the capacity that active raises add. Only set by `raisedLimit` (`raises.ts`). */
  readonly raised?: Raised;
}

/** Adds an amount to the capacity of a limit until a time. */
export interface Raise {
  readonly amount: bigint;
  readonly untilMs: number;
  /** The value of the limit's wildcard that is raised; null: each value, or a limit without a wildcard. */
  readonly value: string | null;
}

/** The sum of the active raises, and the time at which the first of them ends. */
export interface Raised {
  readonly amount: bigint;
  readonly untilMs: number;
}

/** Returns the kind and unit of a limit as the API shows them. */
export function shownKind({ kind, unit }: Pick<Limit, 'kind' | 'unit'>): {
  kind: LimitKind;
  unit: LimitUnit;
} {
  return kind === 'concurrency' ? { kind: 'rate', unit: 'concurrent' } : { kind, unit };
}

/** The amounts of one charge, by unit. */
export type Amounts = Readonly<Record<Unit, bigint>>;

/** Checks without counters. They are implemented outside the kernel, which only reports that they apply. */
export const runOnlyChecks = ['safety'] as const;
export type RunOnlyCheck = (typeof runOnlyChecks)[number];

/** Treatment of holds that expire without a settlement: they are released, or their amount is posted. */
export const unsettledTreatments = ['release', 'post_held'] as const;
export type OnUnsettled = (typeof unsettledTreatments)[number];

export interface OrgLimits {
  readonly orgId: string;
  /** Incremented with every change of a limit, the time zone, the read limit, the run-only checks or `onUnsettled`. */
  readonly version: bigint;
  readonly timezone: string;
  /** Read requests per minute; null: the default of the deployment. */
  readonly readRpm: number | null;
  readonly all: readonly Limit[];
  /** Checks without counters that apply to the org. */
  readonly runOnlyChecks: readonly RunOnlyCheck[];
  readonly onUnsettled: OnUnsettled;
  /** True if there are rate limits, which are counted elsewhere. */
  readonly hasRates: boolean;
  /** True if there are chain depth limits, which have no counter. */
  readonly hasDepths: boolean;
  readonly index: LimitIndex;
}

/** Index that finds the limits of a charge independent of the number of other limits. */
interface LimitIndex {
  /** Fields in the match of any limit. Charges that are equal in these fields and tags have the same limits. */
  readonly fields: readonly Exclude<NamedMatchField, 'route_class'>[];
  readonly tagFields: readonly TagField[];
  readonly unconditional: readonly Limit[];
  readonly byValue: ReadonlyMap<MatchField, ReadonlyMap<string, readonly Limit[]>>;
}

export function orgLimits(
  of: Omit<OrgLimits, 'index' | 'hasRates' | 'hasDepths' | 'runOnlyChecks' | 'onUnsettled'> &
    Partial<Pick<OrgLimits, 'runOnlyChecks' | 'onUnsettled'>>,
): OrgLimits {
  const unconditional: Limit[] = [];
  const byValue = new Map<MatchField, Map<string, Limit[]>>();
  for (const limit of [...of.all].sort(inReportingOrder)) {
    const field = firstFieldOf(limit.match);
    if (field === undefined) {
      unconditional.push(limit);
    } else {
      const values = byValue.get(field) ?? new Map<string, Limit[]>();
      byValue.set(field, values);
      const value = limit.match[field] ?? '';
      const existing = values.get(value);
      if (existing === undefined) {
        values.set(value, [limit]);
      } else {
        existing.push(limit);
      }
    }
  }
  const matched = new Set(of.all.flatMap(({ match }) => Object.keys(match)));
  const fields = matchFields.filter(
    (field): field is Exclude<NamedMatchField, 'route_class'> =>
      field !== 'route_class' && matched.has(field),
  );
  const tagFields = [...matched].filter(isTagField).sort();
  const has = (expected: LimitKind) => of.all.some(({ kind }) => kind === expected);
  return {
    runOnlyChecks: [],
    onUnsettled: 'release',
    ...of,
    hasRates: has('rate'),
    hasDepths: has('chain_depth'),
    index: { fields, tagFields, unconditional, byValue },
  };
}

function inReportingOrder(a: Limit, b: Limit): number {
  return rank(a) - rank(b) || (a.id < b.id ? -1 : 1);
}

/** Order of the budgets by the field that they match. Budgets of the whole org come before them, budgets of tags after them. */
const budgetFields: readonly MatchField[] = inOrder<MatchField>(
  ['department', 'team', 'member_id', 'workflow', 'deployment', 'key_id', 'provider', 'model'],
  limitDimensions.filter((name) => runDimensions[name].scopeKind !== null),
);

const kindRank = new Map<CheckedKind, number>(
  limitKinds.map((kind, index) => [kind, index * (budgetFields.length + 2)]),
);

function rank({ kind, match }: Limit): number {
  return (kindRank.get(kind) ?? 0) + (kind === 'budget' ? budgetRank(match) : 0);
}

function budgetRank(match: Match): number {
  const field = firstFieldOf(match);
  if (field === undefined) {
    return 0;
  }
  return 1 + (isTagField(field) ? budgetFields.length : budgetFields.indexOf(field));
}

/** Returns the limits that apply to a charge, in the order in which denials are reported. */
export function applicable({ index }: OrgLimits, scope: Scope): readonly Limit[] {
  const found = [...index.unconditional];
  for (const [field, values] of index.byValue) {
    const value = valueIn(scope, field);
    if (value === null) {
      continue;
    }
    // A value may equal the wildcard. Its limits must not be found twice.
    const named = value === WILDCARD ? undefined : values.get(value);
    if (named !== undefined) {
      found.push(...named.filter((limit) => matches(limit, scope)));
    }
    const wildcards = values.get(WILDCARD);
    if (wildcards !== undefined) {
      // A customer's own limit overrides the wildcard limit.
      const overridden = named?.some(({ kind }) => kind === 'customer') === true;
      found.push(
        ...wildcards.filter((limit) => matches(limit, scope) && !(overridden && limit.kind === 'customer')),
      );
    }
  }
  return found.length === index.unconditional.length ? found : found.sort(inReportingOrder);
}

/** Returns true if every field in the match has the matching value. */
function matches({ match }: Limit, scope: Scope): boolean {
  return (Object.entries(match) as [MatchField, string][]).every(([field, expected]) => {
    const value = valueIn(scope, field);
    return value !== null && (expected === WILDCARD || expected === value);
  });
}

export function windowOf({ span }: Limit, orgTimezone: string, atMs: number): Window {
  switch (span.kind) {
    case 'calendar':
      return calendarWindow(span.period, span.timezone ?? orgTimezone, atMs);
    case 'fixed':
      return fixedWindow(span.seconds, atMs);
    case 'lifetime':
      return lifetime;
  }
}

/** Returns the match of a limit with the values of one of its counters in place of wildcards. */
export function matchedValues({ match }: Limit, key: string): Match {
  const wildcards = fieldsOf(match).filter((field) => match[field] === WILDCARD && field !== 'route_class');
  const colon = key.indexOf(':');
  if (wildcards.length === 0 || colon < 0) {
    return match;
  }
  const text = key.slice(colon + 1);
  const values: readonly string[] = wildcards.length === 1 ? [text] : JSON.parse(text);
  return { ...match, ...Object.fromEntries(wildcards.map((field, index) => [field, values[index]])) };
}

/** Returns the key of a limit's counter in a window. For wildcard limits it includes the matched values. */
export function counterKey({ id, match }: Limit, { startMs }: Window, scope: Scope): string {
  const values = fieldsOf(match).flatMap((field) =>
    match[field] === WILDCARD && field !== 'route_class' ? [valueIn(scope, field)] : [],
  );
  const key = `${id}@${startMs}`;
  // Several values are encoded as JSON, so that different values never collide.
  return values.length === 0 ? key : `${key}:${values.length === 1 ? values[0] : JSON.stringify(values)}`;
}

/**
 * Returns the key under which the alerts of a counter are deduplicated. For a limit without a window the key contains the capacity:
 * after its capacity was raised, for example by a top-up, the limit can be used up again.
 */
export function alertKey({ span, capacity }: Limit, counter: string): string {
  return span.kind === 'lifetime' ? `${counter}#${capacity}` : counter;
}
