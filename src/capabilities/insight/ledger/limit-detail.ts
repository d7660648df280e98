/** One limit with its usage, past windows and alerts. */
import { apiError } from '../../../contract/api-error.ts';
import { inUnit } from '../../../kernel/denial.ts';
import { counterKey, emptyScope, type Limit, WILDCARD, windowOf } from '../../../kernel/limits.ts';
import type { Window } from '../../../kernel/windows.ts';
import { readSettled } from '../../../ledger/limits/counters.ts';
import { findLimitsEvenEnded, type LimitRow, toLimit } from '../../../ledger/limits/limits.ts';
import type { TimezoneOf } from '../../../ledger/limits/org-timezone.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { type AlertRow, selectAlerts, selectAlertsOfLimit } from './alerts.ts';
import { counterName } from './counter-keys.ts';
import { type LimitDetail, pastWindows } from './limit-schema.ts';
import { hasWindow, type LimitUsageDependencies, viewLimitUsage } from './limit-usage-list.ts';

export interface LimitDetailDependencies extends LimitUsageDependencies {
  readonly timezoneOf: TimezoneOf;
}

export interface LimitDetailRequest {
  /** Number of past windows. */
  readonly windows?: number;
  readonly now: Date;
}

export async function readLimitDetail(
  { db, ledger, timezoneOf }: LimitDetailDependencies,
  orgId: string,
  limitId: string,
  { windows = pastWindows.fallback, now }: LimitDetailRequest,
): Promise<LimitDetail> {
  const [row] = await findLimitsEvenEnded(db, orgId, [limitId]);
  if (row === undefined || row.ended_at !== null) {
    throw apiError('not_found');
  }
  const limit = toLimit(row);
  const [usage] = await ledger.limitUsage(orgId, [limitId]);
  const nowMs = usage?.window.startMs ?? now.getTime();
  const past = hasOneCounter(row) ? windowsBefore(limit, await timezoneOf(orgId), nowMs, windows) : [];
  const settled: bigint[] = [];
  for (const window of past) {
    const key = counterKey(limit, window, emptyScope);
    settled.push((await readSettled(db, orgId, { limit, window, key }, emptyScope)).settled);
  }
  return {
    ...viewLimitUsage(row, usage),
    windows: past.map((window, index) => ({
      window_start: new Date(window.startMs).toISOString(),
      window_end: new Date(window.endMs).toISOString(),
      settled: inUnit(row, settled[index] ?? 0n),
    })),
    alerts: (await readAlerts(db, row, limit, usage === undefined ? past : [usage.window, ...past])).map(
      (alert) => viewAlert(row, alert),
    ),
  };
}

/** Returns true if the limit counts one amount per window. Rates are not counted in the ledger. */
function hasOneCounter(row: LimitRow): boolean {
  return hasWindow(row) && row.kind !== 'rate' && !Object.values(row.match).includes(WILDCARD);
}

/** Returns the windows before the one at `atMs`, the latest first. */
function windowsBefore(limit: Limit, timezone: string, atMs: number, count: number): Window[] {
  const found: Window[] = [];
  for (let { startMs } = windowOf(limit, timezone, atMs); found.length < count; ) {
    const window = windowOf(limit, timezone, startMs - 1);
    found.push(window);
    startMs = window.startMs;
  }
  return found;
}

/** Alerts of known windows are found by their keys. Other keys contain values, so they are found by their beginning. */
function readAlerts(
  db: Queryable,
  row: LimitRow,
  limit: Limit,
  windows: readonly Window[],
): Promise<AlertRow[]> {
  return hasOneCounter(row)
    ? selectAlerts(
        db,
        row.org_id,
        windows.map((window) => counterKey(limit, window, emptyScope)),
      )
    : selectAlertsOfLimit(db, row.org_id, row.id);
}

function viewAlert(row: LimitRow, { counter_key, threshold, at }: AlertRow): LimitDetail['alerts'][number] {
  const { startMs, values } = counterName(counter_key);
  return {
    threshold: threshold === 0 ? null : threshold,
    at: at.toISOString(),
    window_start: hasWindow(row) ? new Date(startMs).toISOString() : null,
    // The key of an alert of a limit without a window ends with the capacity (`alertKey`).
    value: (hasWindow(row) ? values : values?.replace(/#\d+$/, '')) ?? null,
  };
}
