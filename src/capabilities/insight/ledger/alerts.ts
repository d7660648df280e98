/** Reads the alerts of counters. */
import type { Queryable } from '../../../platform/db/database.ts';

export interface AlertRow {
  readonly counter_key: string;
  /** In percent; 0: the limit denied a request. */
  readonly threshold: number;
  readonly at: Date;
}

const alertsMax = 100;

/** Returns the alerts of these counters, the latest first. */
export async function selectAlerts(
  db: Queryable,
  orgId: string,
  keys: readonly string[],
): Promise<AlertRow[]> {
  return db.query<AlertRow>(
    `SELECT counter_key, threshold, at FROM limit_alerts WHERE org_id = $1 AND counter_key = ANY($2)
      ORDER BY at DESC, counter_key DESC, threshold DESC LIMIT ${alertsMax}`,
    [orgId, keys],
  );
}

/** Returns the alerts of all counters of a limit, the latest first. */
export async function selectAlertsOfLimit(
  db: Queryable,
  orgId: string,
  limitId: string,
): Promise<AlertRow[]> {
  return db.query<AlertRow>(
    `SELECT counter_key, threshold, at FROM limit_alerts WHERE org_id = $1 AND starts_with(counter_key, $2)
      ORDER BY at DESC, counter_key DESC, threshold DESC LIMIT ${alertsMax}`,
    [orgId, `${limitId}@`],
  );
}
