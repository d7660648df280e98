/**
 * Limits: what they count, in which window, up to where, and which of an org's limits a charge falls under.
 * Every kind of limit is the same thing with other parameters, so one admission serves them all.
 */
import { calendarWindow, fixedWindow, lifetime, type Period, type Window } from './windows.ts';

/** In the order in which their refusals are reported. Rates are not counted here, see `rate.ts`. */
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

export const units = ['usd', 'tokens', 'requests'] as const;
export type Unit = (typeof units)[number];

/** What a charge is about. A limit applies to the charges whose fields equal those it names. */
export interface Scope {
  readonly key_id: string;
  readonly model: string | null;
  readonly provider: string | null;
  readonly action: string | null;
  readonly workflow: string | null;
  readonly deployment: string | null;
  readonly department: string | null;
  readonly team: string | null;
  readonly customer_id: string | null;
  readonly chain_id: string | null;
}

/** The order of budgets among each other follows from this one; `route_class` is for request rates alone. */
export const matchFields = [
  'department',
  'workflow',
  'deployment',
  'customer_id',
  'chain_id',
  'key_id',
  'model',
  'route_class',
] as const;
export type MatchField = (typeof matchFields)[number];
export type Match = Readonly<Partial<Record<MatchField, string>>>;

/** In a match: each value by itself, with a counter of its own. */
export const WILDCARD = '*';

export type Span =
  | { readonly kind: 'calendar'; readonly period: Period; readonly timezone: string | null }
  | { readonly kind: 'fixed'; readonly seconds: number }
  | { readonly kind: 'lifetime' };

export interface Limit {
  readonly id: string;
  readonly kind: LimitKind;
  readonly unit: Unit;
  readonly match: Match;
  readonly span: Span;
  /** In the limit's unit; nanodollars for usd. */
  readonly capacity: bigint;
  /** How much may come at once; for rates. */
  readonly burst: bigint;
  readonly enforcement: 'block' | 'alert';
  /** Percents of the capacity at which an event is due. */
  readonly thresholds: readonly number[];
  readonly createdAtMs: number;
  /** Null: never. */
  readonly expiresAtMs: number | null;
}

/** What one charge takes of each unit. */
export type Amounts = Readonly<Record<Unit, bigint>>;

/** Gates that count nothing. They are none of the kernel's; it only knows that they are there. */
export const runOnlyChecks = ['safety'] as const;
export type RunOnlyCheck = (typeof runOnlyChecks)[number];

export interface OrgLimits {
  readonly orgId: string;
  /** Moves with every change of a limit. */
  readonly version: bigint;
  readonly timezone: string;
  /** Reads per minute; null: as the deployment says. */
  readonly readRpm: number | null;
  readonly all: readonly Limit[];
  /** Those that the org has besides its limits. */
  readonly runOnlyChecks: readonly RunOnlyCheck[];
  /** Some of them are rates, which are counted elsewhere. */
  readonly hasRates: boolean;
  /** Some of them are depths of chains, which have no counter. */
  readonly hasDepths: boolean;
  readonly index: LimitIndex;
}

/** Finds the limits of a charge without looking at those of others, however many there are. */
interface LimitIndex {
  /** Those that any limit names: two charges that agree in them fall under the same limits. */
  readonly fields: readonly Exclude<MatchField, 'route_class'>[];
  readonly everyone: readonly Limit[];
  readonly byValue: ReadonlyMap<MatchField, ReadonlyMap<string, readonly Limit[]>>;
}

export function orgLimits(
  of: Omit<OrgLimits, 'index' | 'hasRates' | 'hasDepths' | 'runOnlyChecks'> &
    Partial<Pick<OrgLimits, 'runOnlyChecks'>>,
): OrgLimits {
  const everyone: Limit[] = [];
  const byValue = new Map<MatchField, Map<string, Limit[]>>();
  for (const limit of [...of.all].sort(inReportingOrder)) {
    const field = matchFields.find((name) => limit.match[name] !== undefined);
    if (field === undefined) {
      everyone.push(limit);
    } else {
      const values = byValue.get(field) ?? new Map<string, Limit[]>();
      byValue.set(field, values);
      const value = limit.match[field] ?? '';
      const there = values.get(value);
      if (there === undefined) {
        values.set(value, [limit]);
      } else {
        there.push(limit);
      }
    }
  }
  const fields = matchFields.filter(
    (field): field is Exclude<MatchField, 'route_class'> =>
      field !== 'route_class' && of.all.some(({ match }) => match[field] !== undefined),
  );
  const has = (wanted: LimitKind) => of.all.some(({ kind }) => kind === wanted);
  return {
    runOnlyChecks: [],
    ...of,
    hasRates: has('rate'),
    hasDepths: has('chain_depth'),
    index: { fields, everyone, byValue },
  };
}

function inReportingOrder(a: Limit, b: Limit): number {
  return rank(a) - rank(b) || (a.id < b.id ? -1 : 1);
}

const kindRank = new Map(limitKinds.map((kind, index) => [kind, index * 10]));

/** Budgets of the whole org come before those of a department, then workflow, then deployment. */
function rank({ kind, match }: Limit): number {
  const field = kind === 'budget' ? matchFields.findIndex((name) => match[name] !== undefined) : -1;
  return (kindRank.get(kind) ?? 0) + field + 1;
}

/** The limits that a charge falls under, in the order in which their refusals are reported. */
export function applicable({ index }: OrgLimits, scope: Scope): readonly Limit[] {
  const found = [...index.everyone];
  for (const [field, values] of index.byValue) {
    if (field === 'route_class') {
      continue;
    }
    const value = scope[field];
    if (value === null) {
      continue;
    }
    // A customer or chain may be called like the wildcard; its limits are not to be met twice.
    const named = value === WILDCARD ? undefined : values.get(value);
    if (named !== undefined) {
      found.push(...named.filter((limit) => matches(limit, scope)));
    }
    const forEach = values.get(WILDCARD);
    if (forEach !== undefined) {
      // A customer with a limit of its own is not held to the one for all others.
      const displaced = named?.some(({ kind }) => kind === 'customer') === true;
      found.push(
        ...forEach.filter((limit) => matches(limit, scope) && !(displaced && limit.kind === 'customer')),
      );
    }
  }
  return found.length === index.everyone.length ? found : found.sort(inReportingOrder);
}

/** Whether every field that the limit names has the value it names. */
function matches({ match }: Limit, scope: Scope): boolean {
  for (const field of matchFields) {
    const wanted = match[field];
    if (wanted === undefined) {
      continue;
    }
    const value = field === 'route_class' ? null : scope[field];
    if (value === null || (wanted !== WILDCARD && wanted !== value)) {
      return false;
    }
  }
  return true;
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

/** Names the counter of a limit in a window; where it counts each value by itself, of that value. */
export function counterKey({ id, match }: Limit, { startMs }: Window, scope: Scope): string {
  const values = matchFields.flatMap((field) =>
    match[field] === WILDCARD && field !== 'route_class' ? [scope[field]] : [],
  );
  const key = `${id}@${startMs}`;
  // Two values must not look like two others, whatever is in them.
  return values.length === 0 ? key : `${key}:${values.length === 1 ? values[0] : JSON.stringify(values)}`;
}
