/**
 * Emits an event for each limit that is expected to run out before its window ends: once per limit and window. A limit
 * without a window is reported when it is expected to run out within a month, and again after it was topped up.
 *
 * Each run checks a few orgs, and a few groups of limits of each, to bound its cost: orgs with recent postings that
 * subscribe to the event. A large org is checked over several runs.
 */
import type { EventType } from '../../../contract/events.ts';
import { inUnit } from '../../../kernel/denial.ts';
import { forecast } from '../../../kernel/forecast/forecast.ts';
import { alertKey, type OrgLimits, WILDCARD } from '../../../kernel/limits.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import type { OrgLimitsCache } from '../../../ledger/limits/org-limits.ts';
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database } from '../../../platform/db/database.ts';
import { deleteBatch } from '../../../platform/db/delete-batch.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { runForEach } from '../../../platform/jobs/run-for-each.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import { enqueueEvents } from '../../../platform/outbox/outbox.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { dayMs, type Today, todayIn } from './calendar.ts';
import { readHistory, type ScopeFilter, scopeFields } from './history.ts';
import {
  daysUntilEnds,
  isForecastable,
  limitsNow,
  limitsOfScope,
  type Outlook,
  outlooks,
  viewOutlook,
} from './limit-outlook.ts';
import { type ForecastMeasure, measures } from './measures.ts';
import { claimDueOrgs, type DueOrg, insertReported, saveCheck } from './queries.ts';
import { horizonDays } from './schema.ts';

export interface WatchDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly clock: SharedClock;
  readonly ledger: Pick<LedgerReads, 'limitUsage'>;
  readonly orgLimits: Pick<OrgLimitsCache, 'get'>;
  /** Returns whether the org subscribes to the event. */
  wants(orgId: string, type: EventType): boolean;
}

const eventType: EventType = 'limit.exhaustion_forecast';
const everyMs = 60_000;
const orgsPerRun = 5;
const groupsPerOrg = 25;
/** Interval between two checks of an org. */
const restMs = 3_600_000;
/** An org without postings for this long is not checked. */
const activeMs = 2 * dayMs;
const historyDaysMax = 90;
/** Minimum number of days of history for an alert. */
const historyDaysMin = 7;
/** A limit without a window is reported if it is expected to run out within this many days. */
const reportWithinDays = 30;
/** Longer than any window. */
const noticesKeptMs = 400 * dayMs;
const oldNotices = {
  table: 'forecast_notices',
  key: 'org_id, counter_key',
  where: 'told_at < $1',
  limit: 500,
};

/** Limits with the same match and unit, which share a forecast. */
interface ForecastGroup {
  readonly name: string;
  readonly scope: ScopeFilter;
  readonly measure: ForecastMeasure;
}

export function exhaustionWatch(deps: WatchDependencies): Job {
  const { db, clock, orgLimits } = deps;

  async function check({ org_id, after_group }: DueOrg, now: Date): Promise<void> {
    if (!deps.wants(org_id, eventType)) {
      return;
    }
    const limits = await orgLimits.get(org_id);
    const today = todayIn(limits.timezone, now.getTime());
    const toCome = groupsOf(limits, now.getTime()).filter(({ name }) => name > after_group);
    const found: { readonly outlook: Outlook; readonly measure: ForecastMeasure }[] = [];
    const groups = toCome.slice(0, groupsPerOrg);
    const yielder = createYielder();
    for (const group of groups) {
      const outlook = await lookAhead(deps, limits, group, today, now);
      found.push(...outlook.filter(isReportable).map((one) => ({ outlook: one, measure: group.measure })));
      await yielder.yieldIfDue();
    }
    const last = groups.at(-1);
    const isDone = toCome.length <= groupsPerOrg || last === undefined;
    await db.transaction(async (tx) => {
      const keys = found.map(({ outlook: { limit, key } }) => alertKey(limit, key));
      const fresh = new Set(keys.length === 0 ? [] : await insertReported(tx, org_id, keys, now));
      await enqueueEvents(
        tx,
        found
          .filter(({ outlook: { limit, key } }) => fresh.has(alertKey(limit, key)))
          .map(({ outlook, measure }) => ({
            id: deps.ids.next('evt'),
            tenantId: org_id,
            type: eventType,
            createdAt: now,
            data: dataOf(outlook, measure, today),
          })),
      );
      // If groups remain, the org is due again in the next run.
      const checkedAt = isDone ? now : new Date(now.getTime() - restMs - 1);
      await saveCheck(tx, org_id, isDone ? '' : last.name, checkedAt);
    });
  }

  return {
    id: 'emit-exhaustion-forecasts',
    everyMs,
    async runOnce() {
      const now = await agreedNow(db, clock);
      const params = [new Date(now.getTime() - noticesKeptMs)];
      await deleteBatch(db, { ...oldNotices, params });
      const due = await claimDueOrgs(db, {
        now,
        bookedAfter: new Date(now.getTime() - activeMs),
        checkedBefore: new Date(now.getTime() - restMs),
        limit: orgsPerRun,
      });
      // An org that fails is due again after an hour, as it was claimed.
      await runForEach(due, (org) => check(org, now), 'organizations could not be checked');
      return false;
    },
  };
}

async function lookAhead(
  { db, ledger }: WatchDependencies,
  limits: OrgLimits,
  { scope, measure }: ForecastGroup,
  today: Today,
  now: Date,
): Promise<Outlook[]> {
  const { orgId, timezone } = limits;
  const history = await readHistory(db, { orgId, scope, today, now, daysMax: historyDaysMax });
  if (history.days.length < historyDaysMin) {
    return [];
  }
  const ofScope = limitsOfScope(limits, scope, measure, now.getTime());
  const current = await limitsNow({ db, ledger }, limits, scope, ofScope, now.getTime());
  const days = Math.max(reportWithinDays, daysUntilEnds(ofScope, timezone, today, horizonDays.max));
  const ahead = forecast(
    history.days.map((day) => Number(measure.of(day))),
    days,
  );
  return outlooks(current, ahead, today, timezone);
}

/**
 * Returns the groups in a stable order, so that the next run can continue after the last group. Skips limits that
 * cannot be forecast, have a wildcard or match a field without usage data.
 */
function groupsOf({ all }: OrgLimits, nowMs: number): ForecastGroup[] {
  const groups = new Map<string, ForecastGroup>();
  for (const limit of all) {
    const { unit, match } = limit;
    const measure = Object.values(measures).find((one) => one.unit === unit);
    const hasUsageData = Object.entries(match).every(
      ([field, value]) => value !== WILDCARD && scopeFields.some((name) => name === field),
    );
    if (measure !== undefined && hasUsageData && isForecastable(limit, nowMs)) {
      const name = `${unit} ${JSON.stringify(match)}`;
      groups.set(name, { name, scope: match as ScopeFilter, measure });
    }
  }
  return [...groups.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns false for an exhausted limit: it already denies requests, and another event reports it. */
function isReportable({ limit, used, inWindow, runsOut }: Outlook): boolean {
  const isNear = limit.span.kind !== 'lifetime' || (runsOut !== undefined && runsOut < reportWithinDays);
  return inWindow && isNear && used < limit.capacity;
}

function dataOf(outlook: Outlook, measure: ForecastMeasure, today: Today): object {
  const { limit, window, used } = outlook;
  const view = viewOutlook(outlook, measure, today);
  return {
    limit_id: limit.id,
    kind: view.kind,
    match: view.match,
    unit: limit.unit,
    limit: inUnit(limit, limit.capacity),
    used: inUnit(limit, used),
    window_start: new Date(window.startMs).toISOString(),
    window_end: view.window_end,
    runs_out_on: view.runs_out_on,
    earliest_on: view.earliest_on,
    latest_on: view.latest_on,
    expected_at_window_end: view.expected_at_window_end,
  };
}
