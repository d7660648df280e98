/**
 * Reads and writes the rows of limits. Capabilities define the wire format of their limits and write the rows through these
 * functions; the ledger reads all rows. Every change increments the version of the org's limits and sends a change notification, so
 * that the next decision uses the changed limit.
 */
import {
  type Limit,
  type LimitKind,
  type Match,
  type Span,
  type Unit,
  WILDCARD,
} from '../../kernel/limits.ts';
import type { Period } from '../../kernel/windows.ts';
import { SharedValues } from '../../platform/cache/shared-values.ts';
import type { Queryable, Transaction } from '../../platform/db/database.ts';
import {
  type Condition,
  type ListQuery,
  type PageOf,
  type SortFields,
  selectPage,
} from '../../platform/http/routes/list.ts';
import { notifyLimitChanged } from './change-notifications.ts';

export interface LimitRow {
  readonly org_id: string;
  readonly id: string;
  readonly kind: LimitKind;
  readonly name: string | null;
  readonly unit: Unit;
  readonly match: Match;
  /** A calendar window. Null: `window_seconds` is a fixed window, or the limit has no window if that is null too. */
  readonly period: Period | null;
  readonly window_seconds: number | null;
  /** Time zone of the window; null: that of the org. */
  readonly timezone: string | null;
  /** In the limit's unit; nanodollars for usd. */
  readonly capacity: bigint;
  readonly burst: bigint | null;
  readonly enforcement: 'block' | 'alert';
  readonly alert_thresholds: readonly number[];
  readonly expires_at: Date | null;
  /** The person or team to ask about the limit. */
  readonly owner: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** A limit with its raises that have not been ended: amount, end in milliseconds, and value. Null: none. */
interface LiveLimitRow extends LimitRow {
  readonly raises: readonly (readonly [amount: string, untilMs: string, value: string | null])[] | null;
}

const columns = `org_id, id, kind, name, unit, match, period, window_seconds, timezone, capacity, burst, enforcement,
                 alert_thresholds, expires_at, created_at, updated_at, owner`;

/** Returns a row with defaults for the fields that most limits do not set. */
export function newLimit(
  row: Pick<LimitRow, 'org_id' | 'id' | 'kind' | 'unit' | 'capacity'> & Partial<LimitRow>,
  now: Date,
): LimitRow {
  return {
    name: null,
    match: {},
    period: null,
    window_seconds: null,
    timezone: null,
    burst: null,
    enforcement: 'block',
    alert_thresholds: [],
    expires_at: null,
    owner: null,
    created_at: now,
    updated_at: now,
    ...row,
  };
}

export function toLimit(row: LimitRow): Limit {
  return {
    id: row.id,
    kind: isConcurrency(row) ? 'concurrency' : shared(row.kind),
    unit: shared(row.unit),
    match: shared(row.match),
    span: shared(spanOf(row)),
    capacity: row.capacity,
    burst: row.burst ?? row.capacity,
    enforcement: shared(row.enforcement),
    thresholds: shared(row.alert_thresholds),
    createdAtMs: row.created_at.getTime(),
    expiresAtMs: row.expires_at?.getTime() ?? null,
  };
}

/** Returns a limit with its raises. Without raises it has the same properties as other limits. */
export function toRaisableLimit(row: LiveLimitRow): Limit {
  const limit = toLimit(row);
  return row.raises === null
    ? limit
    : {
        ...limit,
        raises: row.raises.map(([amount, untilMs, value]) => ({
          amount: BigInt(amount),
          untilMs: Number(untilMs),
          value,
        })),
      };
}

/**
 * Returns true for a limit on requests in flight. It is stored as a rate without a window. Earlier releases ignore such a row,
 * because they only enforce rates with a window.
 */
export function isConcurrency({
  kind,
  period,
  window_seconds,
}: Pick<LimitRow, 'kind' | 'period' | 'window_seconds'>): boolean {
  return kind === 'rate' && period === null && window_seconds === null;
}

/**
 * Shares equal values. A hundred thousand limits may be in memory, and nearly all of them have the same few strings, spans and
 * thresholds.
 */
const sharedValues = new SharedValues<unknown>(5_000);

function shared<Value>(value: Value): Value {
  return sharedValues.shared(JSON.stringify(value), value) as Value;
}

function spanOf({ period, window_seconds, timezone }: LimitRow): Span {
  if (period !== null) {
    return { kind: 'calendar', period, timezone };
  }
  return window_seconds === null ? { kind: 'lifetime' } : { kind: 'fixed', seconds: window_seconds };
}

/** Throws a unique violation of `limits_one_of_a_kind` or `limits_customer_period` if such a limit exists. */
export async function insertLimit(tx: Transaction, row: LimitRow): Promise<void> {
  await tx.query(
    `INSERT INTO limits (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
    [
      row.org_id,
      row.id,
      row.kind,
      row.name,
      row.unit,
      JSON.stringify(row.match),
      row.period,
      row.window_seconds,
      row.timezone,
      row.capacity,
      row.burst,
      row.enforcement,
      row.alert_thresholds,
      row.expires_at,
      row.created_at,
      row.updated_at,
      row.owner,
    ],
  );
  await notifyLimitChanged(tx, row.org_id);
  await deleteOverriddenCounters(tx, row);
}

/** Updates the mutable fields of a limit. The match is immutable, because a limit with another match is another limit. */
export async function updateLimit(tx: Transaction, row: LimitRow): Promise<void> {
  const [changed] = await tx.query<{ moved: boolean; resized: boolean }>(
    `UPDATE limits SET name = $3, period = $4, window_seconds = $5, timezone = $6, capacity = $7, burst = $8,
                       enforcement = $9, alert_thresholds = $10, expires_at = $11, updated_at = $12, owner = $13
       FROM limits AS before
      WHERE limits.org_id = $1 AND limits.id = $2 AND before.org_id = $1 AND before.id = $2
      RETURNING (before.period, before.window_seconds, before.timezone)
        IS DISTINCT FROM (limits.period, limits.window_seconds, limits.timezone) AS moved,
        before.capacity <> limits.capacity AND limits.period IS NULL AND limits.window_seconds IS NULL AS resized`,
    [
      row.org_id,
      row.id,
      row.name,
      row.period,
      row.window_seconds,
      row.timezone,
      row.capacity,
      row.burst,
      row.enforcement,
      row.alert_thresholds,
      row.expires_at,
      row.updated_at,
      row.owner,
    ],
  );
  await notifyLimitChanged(tx, row.org_id);
  if (changed?.moved === true) {
    await deleteCounters(tx, row);
  } else if (changed?.resized === true) {
    await resetAlerts(tx, row);
  }
}

export async function endLimit(tx: Transaction, row: LimitRow, now: Date): Promise<void> {
  const { org_id, id } = row;
  await tx.query('UPDATE limits SET ended_at = $3 WHERE org_id = $1 AND id = $2', [org_id, id, now]);
  await tx.query(
    'UPDATE limit_raises SET ended_at = $3 WHERE org_id = $1 AND limit_id = $2 AND ended_at IS NULL AND until > $3',
    [org_id, id, now],
  );
  await notifyLimitChanged(tx, org_id);
  await deleteCounters(tx, row);
  await deleteOverriddenCounters(tx, row);
}

/** Deletes the counters of a limit, because they lack amounts that the limit did not count before. They are created again when needed. */
async function deleteCounters(tx: Transaction, { org_id, id }: LimitRow): Promise<void> {
  await tx.query('DELETE FROM counters WHERE org_id = $1 AND limit_id = $2', [org_id, id]);
}

/** Lets a limit without a window emit its alerts again after its capacity has changed (`alertKey`). */
async function resetAlerts(tx: Transaction, { org_id, id }: LimitRow): Promise<void> {
  await tx.query('UPDATE counters SET alerted = 0 WHERE org_id = $1 AND limit_id = $2 AND alerted > 0', [
    org_id,
    id,
  ]);
}

/** Deletes the wildcard counters of a customer when the customer's own limit starts or stops to override the wildcard limit. */
async function deleteOverriddenCounters(tx: Transaction, { org_id, kind, match }: LimitRow): Promise<void> {
  if (kind === 'customer' && match.customer_id !== WILDCARD) {
    await tx.query(
      `DELETE FROM counters USING limits
        WHERE counters.org_id = $1 AND limits.org_id = $1 AND limits.id = counters.limit_id
          AND limits.kind = 'customer' AND strpos(counters.key, ':') > 0
          AND substr(counters.key, strpos(counters.key, ':') + 1) = $2`,
      [org_id, match.customer_id],
    );
  }
}

/** Locks and returns the row of a limit kind that an org has at most once, even if the limit has ended. */
export async function lockLimitEvenEnded(
  tx: Transaction,
  orgId: string,
  kind: LimitKind,
): Promise<LimitRow | undefined> {
  const [row] = await tx.query<LimitRow>(
    `SELECT ${columns} FROM limits WHERE org_id = $1 AND kind = $2 ORDER BY created_at, id LIMIT 1 FOR UPDATE`,
    [orgId, kind],
  );
  return row;
}

/** Reverts `endLimit`: the limit continues under the same id, with its counted amounts. */
export async function reviveLimit(tx: Transaction, { org_id, id }: LimitRow): Promise<void> {
  await tx.query('UPDATE limits SET ended_at = NULL WHERE org_id = $1 AND id = $2', [org_id, id]);
  await notifyLimitChanged(tx, org_id);
}

export async function findLimit(
  db: Queryable,
  orgId: string,
  kind: LimitKind,
  id: string,
): Promise<LimitRow | undefined> {
  const [row] = await db.query<LimitRow>(
    `SELECT ${columns} FROM limits WHERE org_id = $1 AND id = $2 AND kind = $3 AND ended_at IS NULL`,
    [orgId, id, kind],
  );
  return row;
}

export async function findLimitsEvenEnded(
  db: Queryable,
  orgId: string,
  ids: readonly string[],
): Promise<(LimitRow & { readonly ended_at: Date | null })[]> {
  return db.query(`SELECT ${columns}, ended_at FROM limits WHERE org_id = $1 AND id = ANY($2)`, [orgId, ids]);
}

/** Locks the row, so that it cannot change between read and update. */
export async function lockLimit(
  tx: Transaction,
  orgId: string,
  kind: LimitKind,
  id: string,
): Promise<LimitRow | undefined> {
  const [row] = await tx.query<LimitRow>(
    `SELECT ${columns} FROM limits WHERE org_id = $1 AND id = $2 AND kind = $3 AND ended_at IS NULL FOR UPDATE`,
    [orgId, id, kind],
  );
  return row;
}

/** Returns the live limits of these kinds, oldest first. */
export async function findLimits(
  db: Queryable,
  orgId: string,
  kinds: readonly LimitKind[],
): Promise<LimitRow[]> {
  return db.query<LimitRow>(
    `SELECT ${columns} FROM limits WHERE org_id = $1 AND kind = ANY($2) AND ended_at IS NULL ORDER BY created_at, id`,
    [orgId, kinds],
  );
}

export interface LimitListing {
  readonly orgId: string;
  readonly kind: LimitKind | readonly LimitKind[];
  readonly where?: readonly Condition[];
  readonly sorts: SortFields;
  readonly defaultSort: string;
  readonly query: ListQuery;
}

export async function listLimits(
  db: Queryable,
  { orgId, kind, where = [], sorts, defaultSort, query }: LimitListing,
): Promise<PageOf<LimitRow>> {
  const ofKind: Condition = typeof kind === 'string' ? ['kind = ?', kind] : ['kind = ANY(?)', kind];
  return selectPage<LimitRow>(db, {
    select: `SELECT ${columns} FROM limits`,
    where: [['ended_at IS NULL AND org_id = ?', orgId], ofKind, ...where],
    sorts,
    defaultSort,
    query,
  });
}

/** Returns all live limits of an org with their raises, for the ledger. Raises that have ended by themselves may be included. */
export async function selectLiveLimits(db: Queryable, orgId: string): Promise<LiveLimitRow[]> {
  return db.query<LiveLimitRow>(
    `SELECT ${columns}, raises
       FROM limits
       LEFT JOIN (SELECT limit_id AS raised_id,
                         jsonb_agg(jsonb_build_array(amount::text, (extract(epoch FROM until) * 1000)::int8::text, value)) AS raises
                    FROM limit_raises WHERE org_id = $1 AND ended_at IS NULL GROUP BY limit_id) AS raised
         ON raised_id = limits.id
      WHERE org_id = $1 AND ended_at IS NULL`,
    [orgId],
  );
}
