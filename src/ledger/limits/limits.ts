/**
 * The rows of limits. Capabilities write them through these functions and give them their shape on the wire; the ledger
 * reads them all. Every change moves the org's version and is announced, so that the next decision obeys it.
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
  /** A calendar window; with `window_seconds` a fixed one; with neither the limit counts for ever. */
  readonly period: Period | null;
  readonly window_seconds: number | null;
  /** Null: the org's. */
  readonly timezone: string | null;
  /** In the limit's unit; nanodollars for usd. */
  readonly capacity: bigint;
  readonly burst: bigint | null;
  readonly enforcement: 'block' | 'alert';
  readonly alert_thresholds: readonly number[];
  readonly expires_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const columns = `org_id, id, kind, name, unit, match, period, window_seconds, timezone, capacity, burst, enforcement,
                 alert_thresholds, expires_at, created_at, updated_at`;

/** A row with what most limits leave at its default. */
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
    created_at: now,
    updated_at: now,
    ...row,
  };
}

export function toLimit(row: LimitRow): Limit {
  return {
    id: row.id,
    kind: shared(row.kind),
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

/**
 * There may be a hundred thousand limits in memory, and nearly all of them have the same few words, spans and thresholds:
 * what was read before stands in for what was read again.
 */
const known = new Map<string, unknown>();
const knownMax = 5_000;

function shared<Value>(value: Value): Value {
  const name = JSON.stringify(value);
  if (!known.has(name) && known.size < knownMax) {
    known.set(name, value);
  }
  return (known.get(name) ?? value) as Value;
}

function spanOf({ period, window_seconds, timezone }: LimitRow): Span {
  if (period !== null) {
    return { kind: 'calendar', period, timezone };
  }
  return window_seconds === null ? { kind: 'lifetime' } : { kind: 'fixed', seconds: window_seconds };
}

/** Throws the unique violation of `limits_one_of_a_kind` or `limits_customer_period` where there may be only one. */
export async function insertLimit(tx: Transaction, row: LimitRow): Promise<void> {
  await tx.query(
    `INSERT INTO limits (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
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
    ],
  );
  await notifyLimitChanged(tx, row.org_id);
  await forgetDisplaced(tx, row);
}

/** What may be changed of a limit. Whom it counts may not: that would be another limit. */
export async function updateLimit(tx: Transaction, row: LimitRow): Promise<void> {
  const [changed] = await tx.query<{ moved: boolean }>(
    `UPDATE limits SET name = $3, period = $4, window_seconds = $5, timezone = $6, capacity = $7, burst = $8,
                       enforcement = $9, alert_thresholds = $10, expires_at = $11, updated_at = $12
       FROM limits AS before
      WHERE limits.org_id = $1 AND limits.id = $2 AND before.org_id = $1 AND before.id = $2
      RETURNING (before.period, before.window_seconds, before.timezone)
        IS DISTINCT FROM (limits.period, limits.window_seconds, limits.timezone) AS moved`,
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
    ],
  );
  await notifyLimitChanged(tx, row.org_id);
  if (changed?.moved === true) {
    await deleteCounters(tx, row);
  }
}

export async function endLimit(tx: Transaction, row: LimitRow, now: Date): Promise<void> {
  const { org_id, id } = row;
  await tx.query('UPDATE limits SET ended_at = $3 WHERE org_id = $1 AND id = $2', [org_id, id, now]);
  await notifyLimitChanged(tx, org_id);
  await deleteCounters(tx, row);
  await forgetDisplaced(tx, row);
}

/** What a limit does not count for a while is missing in its counters: they are made again when they are needed. */
async function deleteCounters(tx: Transaction, { org_id, id }: LimitRow): Promise<void> {
  await tx.query('DELETE FROM counters WHERE org_id = $1 AND limit_id = $2', [org_id, id]);
}

/** The limit for every other customer stops, or begins, to count this one. */
async function forgetDisplaced(tx: Transaction, { org_id, kind, match }: LimitRow): Promise<void> {
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

/** Of a kind of which an org has one at most, and keeps it: the row also when it has ended, locked. */
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

/** Undoes `endLimit`: the limit goes on under its id, with what was counted before. */
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

/** Locks the row, so that what was read is still true when it is changed. */
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

/** All live limits of some kinds, oldest first. */
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

/** All that is live, for the ledger. */
export async function selectLiveLimits(db: Queryable, orgId: string): Promise<LimitRow[]> {
  return db.query<LimitRow>(`SELECT ${columns} FROM limits WHERE org_id = $1 AND ended_at IS NULL`, [orgId]);
}
