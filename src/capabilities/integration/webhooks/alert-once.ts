/**
 * People get each alert once: a limit that 10,000 runs exceed, or a model that 10,000 runs use without a price, is one message. An
 * alert is identified by what it is about and for how long that holds, such as a limit and its window. The table `alert_messages`
 * has a row for each alert that a subscription was given, so this holds across processes and restarts.
 */
import { createHash } from 'node:crypto';
import type { Queryable } from '../../../platform/db/database.ts';

/** A limit with a wildcard has a counter for each value. At most so many of them are reported per limit and window. */
export const countersPerAlertMax = 20;
/** Longer than the longest window. */
const keptDays = 400;
const dayMs = 86_400_000;

export interface AlertName {
  /** Names the subject and the time of the alert. */
  readonly alert: string;
  /** The counter of a limit with a wildcard; empty otherwise. */
  readonly subject: string;
  /** Higher ranks replace lower ones of the same group that are reported at the same time. */
  readonly group: string;
  readonly rank: number;
  /** Set if a limit has reached a threshold. */
  readonly reached?: { readonly limitId: string; readonly settled: string; readonly capacity: string };
}

interface AlertData {
  readonly limit_id?: string;
  readonly kind?: string;
  readonly match?: object;
  readonly matched?: object;
  readonly limit?: string | number;
  readonly settled?: string | number;
  readonly window_start?: string;
  readonly window_end?: string | null;
  readonly threshold_percent?: number;
  readonly model?: string;
  readonly key_id?: string;
  readonly id?: string;
  readonly expires_at?: string | null;
  readonly days_left?: number;
  readonly statement_id?: string;
}

/** Returns undefined if every event of the type is an alert of its own. */
export function alertName(type: string, createdAt: Date, data: object): AlertName | undefined {
  const about = data as AlertData;
  const day = createdAt.toISOString().slice(0, 10);
  switch (type) {
    case 'limit.threshold_reached':
    case 'limit.exhausted':
    case 'limit.exhaustion_forecast':
      return limitAlert(type, day, about);
    case 'price.missing':
    case 'model.unpriced':
      return single([type, about.model, day]);
    case 'run.unsettled':
      return single([type, about.key_id, day]);
    case 'statement.drift':
      return single([type, about.statement_id]);
    case 'key.expiring':
      return single([type, about.id, about.expires_at, about.days_left]);
    default:
      return undefined;
  }
}

/**
 * A rate is reported once a day. Without a window, a limit is reported again once it has another capacity; the counters of single
 * chains end, so that they are reported by day.
 */
function limitAlert(type: string, day: string, about: AlertData): AlertName {
  const { limit_id, match = {}, matched = match, window_start, window_end, threshold_percent } = about;
  const isOne = JSON.stringify(match) === JSON.stringify(matched);
  const window =
    about.kind === 'rate' ? [day] : window_end === null ? [about.limit, isOne ? '' : day] : [window_start];
  const counter = isOne ? '' : digest([matched]);
  return {
    alert: digest([type, limit_id, ...window, threshold_percent]),
    subject: counter,
    group: digest([type, limit_id, ...window, counter]),
    rank: threshold_percent ?? 0,
    ...(threshold_percent !== undefined && {
      reached: {
        limitId: limit_id ?? '',
        settled: String(about.settled ?? 0),
        capacity: String(about.limit ?? 0),
      },
    }),
  };
}

function single(parts: readonly unknown[]): AlertName {
  const alert = digest(parts);
  return { alert, subject: '', group: alert, rank: 0 };
}

function digest(parts: readonly unknown[]): string {
  return createHash('sha256')
    .update(JSON.stringify(parts.map((part) => part ?? null)))
    .digest('hex')
    .slice(0, 32);
}

export interface NewAlert extends AlertName {
  readonly org_id: string;
  readonly subscription_id: string;
  readonly event_id: string;
}

/** Records the alerts and returns those to send. The subscriptions are those of one group of organizations. */
export async function recordAlerts<Alert extends NewAlert>(
  tx: Queryable,
  alerts: readonly Alert[],
  now: Date,
): Promise<Alert[]> {
  if (alerts.length === 0) {
    return [];
  }
  const allowed = await withinBound(tx, await withoutLowerThresholds(tx, alerts));
  const rows = await tx.query<{ subscription_id: string; alert: string; subject: string; event_id: string }>(
    `INSERT INTO alert_messages (org_id, subscription_id, alert, subject, event_id, created_at)
     SELECT org_id, subscription_id, alert, subject, event_id, $6
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
         AS entry (org_id, subscription_id, alert, subject, event_id)
     ON CONFLICT DO NOTHING
     RETURNING subscription_id, alert, subject, event_id`,
    [
      allowed.map(({ org_id }) => org_id),
      allowed.map(({ subscription_id }) => subscription_id),
      allowed.map(({ alert }) => alert),
      allowed.map(({ subject }) => subject),
      allowed.map(({ event_id }) => event_id),
      now,
    ],
  );
  const recorded = new Set(rows.map(({ subscription_id, event_id }) => `${subscription_id} ${event_id}`));
  return highestOfEach(
    allowed.filter(({ subscription_id, event_id }) => recorded.has(`${subscription_id} ${event_id}`)),
  );
}

/**
 * A run may reach several thresholds of a limit at once: the highest is the message. Decided from the amount in the event, because the
 * events of the others may be in another batch, or in the batch of another process.
 */
async function withoutLowerThresholds<Alert extends NewAlert>(
  tx: Queryable,
  alerts: readonly Alert[],
): Promise<readonly Alert[]> {
  const thresholds = alerts.flatMap(({ reached, ...alert }) =>
    reached === undefined ? [] : [{ ...alert, ...reached }],
  );
  if (thresholds.length === 0) {
    return alerts;
  }
  const rows = await tx.query<{ event_id: string }>(
    `SELECT DISTINCT entry.event_id
       FROM unnest($1::text[], $2::text[], $3::text[], $4::int4[], $5::numeric[], $6::numeric[])
              AS entry (org_id, limit_id, event_id, percent, settled, capacity)
       JOIN limits ON limits.org_id = entry.org_id AND limits.id = entry.limit_id
      WHERE limits.org_id = ANY($1) AND EXISTS (
        SELECT 1 FROM unnest(limits.alert_thresholds) AS higher
         WHERE higher > entry.percent AND entry.settled * 100 >= entry.capacity * higher)`,
    [
      thresholds.map(({ org_id }) => org_id),
      thresholds.map(({ limitId }) => limitId),
      thresholds.map(({ event_id }) => event_id),
      thresholds.map(({ rank }) => rank),
      thresholds.map(({ settled }) => settled),
      thresholds.map(({ capacity }) => capacity),
    ],
  );
  const lower = new Set(rows.map(({ event_id }) => event_id));
  return alerts.filter(({ event_id }) => !lower.has(event_id));
}

/** Runs that follow each other quickly may reach several thresholds of a limit before they are reported. */
function highestOfEach<Alert extends NewAlert>(alerts: readonly Alert[]): Alert[] {
  const highest = new Map<string, Alert>();
  for (const alert of alerts) {
    const name = `${alert.subscription_id} ${alert.group}`;
    const other = highest.get(name);
    if (other === undefined || other.rank < alert.rank) {
      highest.set(name, alert);
    }
  }
  return [...highest.values()];
}

/** Leaves out counters that were reported before, and those beyond the maximum. */
async function withinBound<Alert extends NewAlert>(
  tx: Queryable,
  alerts: readonly Alert[],
): Promise<Alert[]> {
  const counted = alerts.filter(({ subject }) => subject !== '');
  if (counted.length === 0) {
    return [...alerts];
  }
  const rows = await tx.query<{ subscription_id: string; alert: string; subject: string }>(
    `SELECT subscription_id, alert, subject FROM alert_messages
      WHERE org_id = ANY($1) AND subscription_id = ANY($2) AND alert = ANY($3)`,
    [
      [...new Set(counted.map(({ org_id }) => org_id))],
      [...new Set(counted.map(({ subscription_id }) => subscription_id))],
      [...new Set(counted.map(({ alert }) => alert))],
    ],
  );
  const reported = new Map<string, Set<string>>();
  const subjectsOf = ({ subscription_id, alert }: { subscription_id: string; alert: string }) => {
    const name = `${subscription_id} ${alert}`;
    const subjects = reported.get(name) ?? new Set<string>();
    reported.set(name, subjects);
    return subjects;
  };
  for (const row of rows) {
    subjectsOf(row).add(row.subject);
  }
  return alerts.filter((one) => {
    if (one.subject === '') {
      return true;
    }
    const subjects = subjectsOf(one);
    if (subjects.has(one.subject) || subjects.size >= countersPerAlertMax) {
      return false;
    }
    subjects.add(one.subject);
    return true;
  });
}

/** Deletes records of alerts whose windows have ended long ago. */
export async function deleteOldAlerts(db: Queryable, now: Date): Promise<void> {
  await db.query('DELETE FROM alert_messages WHERE created_at < $1', [
    new Date(now.getTime() - keptDays * dayMs),
  ]);
}
