/**
 * Reads and writes the rows of temporary raises. A raise counts in the next decision after its commit, and until exactly `until` by the
 * clock of the deciding transaction (`kernel/raises.ts`), whether its row is marked as ended or not.
 */
import type { Queryable, Transaction } from '../../platform/db/database.ts';
import { tableOf } from '../../platform/db/table.ts';
import { type ListQuery, type PageOf, type SortFields, selectPage } from '../../platform/http/routes/list.ts';
import { notifyLimitChanged } from './change-notifications.ts';

export interface RaiseRow {
  readonly org_id: string;
  readonly id: string;
  readonly limit_id: string;
  /** The value of the limit's wildcard that is raised; null: each value, or a limit without a wildcard. */
  readonly value: string | null;
  readonly amount: bigint;
  readonly until: Date;
  readonly reason: string;
  readonly created_by: string;
  readonly created_at: Date;
  readonly ended_at: Date | null;
  /** Null: it has not ended, or by itself, or with its limit. */
  readonly ended_by: string | null;
  /** The request that was approved; null: an administrator raised the limit directly. */
  readonly request_id: string | null;
}

const columns =
  'org_id, id, limit_id, value, amount, until, reason, created_by, created_at, ended_at, ended_by, request_id';
const raises = tableOf<RaiseRow>()('limit_raises', { columns, key: ['org_id', 'id'] });

/** Requires a lock on the row of the limit, so that the raises of a limit can be bounded. */
export async function insertRaise(tx: Transaction, row: RaiseRow): Promise<void> {
  await raises.insert(tx, row);
  await notifyLimitChanged(tx, row.org_id);
}

/** Ends a raise before its time. */
export async function endRaiseEarly(tx: Transaction, row: RaiseRow): Promise<void> {
  await raises.update(tx, row);
  await notifyLimitChanged(tx, row.org_id);
}

export async function lockRaise(
  tx: Transaction,
  orgId: string,
  limitId: string,
  id: string,
): Promise<RaiseRow | undefined> {
  const row = await raises.lock(tx, orgId, id);
  return row?.limit_id === limitId ? row : undefined;
}

/** Returns the raises of a limit that are active at a time. */
export async function selectActiveRaises(
  db: Queryable,
  orgId: string,
  limitId: string,
  at: Date,
): Promise<RaiseRow[]> {
  return db.query<RaiseRow>(
    `SELECT ${columns} FROM limit_raises
      WHERE org_id = $1 AND limit_id = $2 AND ended_at IS NULL AND until > $3 ORDER BY until, id`,
    [orgId, limitId, at],
  );
}

export const raiseSorts = { created_at: 'timestamptz', until: 'timestamptz' } as const satisfies SortFields;

export async function listRaises(
  db: Queryable,
  orgId: string,
  limitId: string,
  query: ListQuery,
): Promise<PageOf<RaiseRow>> {
  return selectPage<RaiseRow>(db, {
    select: `SELECT ${columns} FROM limit_raises`,
    where: [
      ['org_id = ?', orgId],
      ['limit_id = ?', limitId],
    ],
    sorts: raiseSorts,
    defaultSort: '-created_at',
    query,
  });
}

/** Returns the orgs with raises that have ended by themselves and are not marked as ended, those that ended first. */
export async function findOrgsWithEndedRaises(db: Queryable, at: Date, limit: number): Promise<string[]> {
  const rows = await db.query<{ org_id: string }>(
    `SELECT DISTINCT org_id FROM (
       SELECT org_id FROM limit_raises WHERE ended_at IS NULL AND until <= $1 ORDER BY until LIMIT $2) AS due`,
    [at, limit],
  );
  return rows.map(({ org_id }) => org_id);
}

/**
 * Marks raises of these orgs that have ended by themselves. Decisions do not depend on it, so no change notification is sent. Rows that
 * another transaction has locked are skipped until the next run.
 */
export async function markEndedRaises(
  tx: Transaction,
  orgIds: readonly string[],
  at: Date,
  limit: number,
): Promise<RaiseRow[]> {
  return tx.query<RaiseRow>(
    `UPDATE limit_raises SET ended_at = until
      WHERE org_id = ANY($1) AND (org_id, id) IN (
              SELECT org_id, id FROM limit_raises
               WHERE org_id = ANY($1) AND ended_at IS NULL AND until <= $2 ORDER BY until, id LIMIT $3 FOR UPDATE SKIP LOCKED)
      RETURNING ${columns}`,
    [orgIds, at, limit],
  );
}
