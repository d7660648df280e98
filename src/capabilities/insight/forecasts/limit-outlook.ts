/** Predicts when limits run out under a forecast: budgets, caps, quotas, plans, credit packs, prepaid balances. */
import { inUnit } from '../../../kernel/denial.ts';
import type { Forecast } from '../../../kernel/forecast/forecast.ts';
import {
  type DaysAhead,
  dayOfRunningOut,
  daysAhead,
  daysOfPacksRunningOut,
} from '../../../kernel/forecast/run-out.ts';
import {
  applicable,
  counterKey,
  emptyScope,
  type Limit,
  type OrgLimits,
  type Scope,
  shownKind,
  WILDCARD,
  windowOf,
} from '../../../kernel/limits.ts';
import { raisedLimit } from '../../../kernel/raises.ts';
import { lifetime, type Window } from '../../../kernel/windows.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import { readSettled } from '../../../ledger/limits/counters.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { dateOf, dayMs, middleOfDay, type Today } from './calendar.ts';
import type { ScopeFilter } from './history.ts';
import type { ForecastMeasure } from './measures.ts';

/** A limit with its current usage, and with the raises that are active now. */
export interface LimitNow {
  readonly limit: Limit;
  /** Returns the capacity at a time, which changes when a raise ends. */
  capacityAt(atMs: number): bigint;
  readonly window: Window;
  readonly key: string;
  readonly used: bigint;
}

/** `runsOut`, `earliest` and `latest` are numbers of days from today. Undefined: not within the forecast. */
export interface Outlook extends LimitNow {
  readonly runsOut: number | undefined;
  readonly earliest: number | undefined;
  readonly latest: number | undefined;
  /** True if the limit runs out before its window ends; without a window, if it runs out at any time. */
  readonly inWindow: boolean;
  /** Predicted usage when the window ends; null without a window, or if it ends after the forecast. */
  readonly usedAtEnd: number | null;
}

const countedKinds: readonly Limit['kind'][] = [
  'plan_runs',
  'plan_tokens',
  'prepaid',
  'quota',
  'spend_cap',
  'budget',
  'customer',
  'credits',
];
/**
 * Maximum number of limits per scope. An org may have thousands of customers, but a customer rarely has hundreds of
 * packs.
 */
const limitsMax = 100;

/**
 * Returns whether a forecast can tell when the limit runs out. Not for a window shorter than a day: forecasts are by day, and do
 * not say how much of a day's usage is in which window.
 */
export function isForecastable({ kind, span, expiresAtMs }: Limit, nowMs: number): boolean {
  const isShort = span.kind === 'fixed' && span.seconds * 1_000 < dayMs;
  return countedKinds.includes(kind) && !isShort && (expiresAtMs === null || expiresAtMs > nowMs);
}

export function scopeOfFilter(filter: ScopeFilter): Scope {
  return { ...emptyScope, ...filter };
}

/** Returns the limits that count exactly this scope, in the unit of the measure, and can be forecast. */
export function limitsOfScope(
  limits: OrgLimits,
  filter: ScopeFilter,
  measure: ForecastMeasure,
  nowMs: number,
): Limit[] {
  const scope = scopeOfFilter(filter);
  const named = Object.keys(filter).sort().join();
  return applicable(limits, scope)
    .filter(
      (limit) =>
        isForecastable(limit, nowMs) &&
        limit.unit === measure.unit &&
        Object.keys(limit.match).sort().join() === named,
    )
    .slice(0, limitsMax);
}

export interface LimitReader {
  readonly db: Queryable;
  readonly ledger: Pick<LedgerReads, 'limitUsage'>;
}

/**
 * Returns the settled and held amount of each limit. For a limit with a wildcard, only the amount settled for this
 * value.
 */
export async function limitsNow(
  { db, ledger }: LimitReader,
  { orgId, timezone }: OrgLimits,
  filter: ScopeFilter,
  limits: readonly Limit[],
  nowMs: number,
): Promise<LimitNow[]> {
  const scope = scopeOfFilter(filter);
  const usages = await ledger.limitUsage(
    orgId,
    limits.map(({ id }) => id),
  );
  const found: LimitNow[] = [];
  for (const unraised of limits) {
    const { limit } = raisedLimit(unraised, scope, nowMs);
    const capacityAt = (atMs: number) => raisedLimit(unraised, scope, atMs).limit.capacity;
    const window = windowOf(limit, timezone, nowMs);
    const key = counterKey(limit, window, scope);
    const usage = usages.find((one) => one.limit.id === limit.id);
    if (usage !== undefined) {
      found.push({ limit, capacityAt, window, key, used: usage.settled + usage.held });
    } else if (Object.values(limit.match).includes(WILDCARD)) {
      const { settled } = await readSettled(db, orgId, { limit, window, key }, scope);
      found.push({ limit, capacityAt, window, key, used: settled });
    }
  }
  return found;
}

/** Returns the days that a forecast must cover to include the end of every window that ends within `daysMax`. */
export function daysUntilEnds(
  limits: readonly Limit[],
  timezone: string,
  today: Today,
  daysMax: number,
): number {
  const ends = limits.map((limit) => windowOf(limit, timezone, middleOfDay(today, 0)).endMs);
  const days = ends.map((endMs) => Math.ceil((endMs - today.startMs) / dayMs));
  return Math.max(1, ...days.filter((count) => count <= daysMax));
}

export function outlooks(
  limits: readonly LimitNow[],
  { sums }: Pick<Forecast, 'sums'>,
  today: Today,
  orgTimezone: string,
): Outlook[] {
  const ahead = daysAhead(sums, today.left);
  const packs = packOutlooks(limits, ahead, today);
  return limits.map((one) => packs.get(one.limit.id) ?? windowOutlook(one, ahead, today, orgTimezone));
}

function windowOutlook(now: LimitNow, ahead: DaysAhead, today: Today, orgTimezone: string): Outlook {
  const { limit, window, used, capacityAt } = now;
  const windows = ahead.expected.map((_, day) =>
    day === 0 || limit.span.kind === 'lifetime'
      ? window.startMs
      : windowOf(limit, orgTimezone, middleOfDay(today, day)).startMs,
  );
  const capacities = windows.map((_, day) =>
    Number(day === 0 ? limit.capacity : capacityAt(middleOfDay(today, day))),
  );
  const toCome = { capacities, left: Number(limit.capacity - used), windows };
  const runsOut = dayOfRunningOut(toCome, ahead.expected);
  const daysOfWindow = windows.findIndex((start) => start !== window.startMs);
  const hasEnd = window !== lifetime && daysOfWindow !== -1;
  return {
    ...now,
    runsOut,
    earliest: dayOfRunningOut(toCome, ahead.high),
    latest: dayOfRunningOut(toCome, ahead.low),
    inWindow: runsOut !== undefined && (!hasEnd || runsOut < daysOfWindow),
    usedAtEnd: hasEnd
      ? ahead.expected.slice(0, daysOfWindow).reduce((total, day) => total + day, Number(used))
      : null,
  };
}

/**
 * Packs of a customer are used one after the other: the earliest expiry first, and of equal expiries the oldest pack.
 */
function packOutlooks(limits: readonly LimitNow[], ahead: DaysAhead, today: Today): Map<string, Outlook> {
  const inOrder = limits
    .filter(({ limit }) => limit.kind === 'credits')
    .sort(
      (a, b) =>
        (a.limit.expiresAtMs ?? Number.POSITIVE_INFINITY) -
          (b.limit.expiresAtMs ?? Number.POSITIVE_INFINITY) || a.limit.createdAtMs - b.limit.createdAtMs,
    );
  const packs = inOrder.map(({ limit, used }) => ({
    left: Number(limit.capacity - used),
    lastDay: limit.expiresAtMs === null ? null : Math.floor((limit.expiresAtMs - today.startMs) / dayMs),
  }));
  const [expected, earliest, latest] = [ahead.expected, ahead.high, ahead.low].map((days) =>
    daysOfPacksRunningOut(packs, days),
  );
  return new Map(
    inOrder.map((now, index) => [
      now.limit.id,
      {
        ...now,
        runsOut: expected?.[index],
        earliest: earliest?.[index],
        latest: latest?.[index],
        inWindow: expected?.[index] !== undefined,
        usedAtEnd: null,
      },
    ]),
  );
}

/** Formats an outlook for events and responses. */
export function viewOutlook(outlook: Outlook, measure: ForecastMeasure, today: Today) {
  const { limit, window, used, usedAtEnd } = outlook;
  const date = (daysLater: number | undefined) =>
    daysLater === undefined ? null : dateOf(today.number + daysLater);
  const hasWindow = window !== lifetime;
  return {
    limit_id: limit.id,
    kind: shownKind(limit).kind,
    match: { ...limit.match } as Record<string, string>,
    unit: limit.unit,
    limit: String(inUnit(limit, limit.capacity)),
    used: String(inUnit(limit, used)),
    window_start: hasWindow ? new Date(window.startMs).toISOString() : null,
    window_end: hasWindow ? new Date(window.endMs).toISOString() : null,
    expires_at: limit.expiresAtMs === null ? null : new Date(limit.expiresAtMs).toISOString(),
    runs_out_on: date(outlook.runsOut),
    earliest_on: date(outlook.earliest),
    latest_on: date(outlook.latest),
    runs_out_in_window: outlook.inWindow,
    expected_at_window_end: usedAtEnd === null ? null : measure.estimate(usedAtEnd),
  };
}
