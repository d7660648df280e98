/**
 * Monthly partitions of runs and ledger entries, so that an old month can be dropped once it is empty. Partitions are
 * created ahead of time; rows without a partition go to the default partition, which exists from the start, so that
 * an insert never fails for lack of a partition.
 */
import type { Database, Queryable } from '../platform/db/database.ts';
import { ServiceUnavailable } from '../platform/service-unavailable.ts';

const tables = ['runs', 'ledger_entries'] as const;
const monthsAhead = 3;

export async function ensureMonths(db: Database, now: Date): Promise<void> {
  for (let ahead = 0; ahead <= monthsAhead; ahead += 1) {
    const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1));
    const end = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead + 1, 1));
    for (const table of tables) {
      await ensureMonth(db, table, start, end);
    }
  }
}

async function ensureMonth(db: Database, table: string, start: Date, end: Date): Promise<void> {
  const name = `${table}_${start.toISOString().slice(0, 7).replace('-', '_')}`;
  if (await exists(db, name)) {
    return;
  }
  await db.transaction(async (tx) => {
    // Locked, because two processes may try to create the partition at once, and because rows that are already in the default
    // partition must stay there.
    await tx.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    const [existingRow] = await tx.query(
      `SELECT 1 AS one FROM ${table}_rest WHERE charged_at >= $1 AND charged_at < $2 LIMIT 1`,
      [start, end],
    );
    if (existingRow === undefined && !(await exists(tx, name))) {
      await tx.query(
        `CREATE TABLE ${name} PARTITION OF ${table} FOR VALUES FROM ('${start.toISOString()}') TO ('${end.toISOString()}')`,
      );
    }
  });
}

async function exists(db: Queryable, name: string): Promise<boolean> {
  const [row] = await db.query<{ table: string | null }>('SELECT to_regclass($1)::text AS table', [name]);
  return row?.table != null;
}

/** Drops empty partitions from before the previous month. A locked table is skipped until the next run. */
export async function dropEmptyMonths(db: Database, now: Date): Promise<string[]> {
  const current = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1))
    .toISOString()
    .slice(0, 7);
  const dropped: string[] = [];
  for (const table of tables) {
    const months = await db.query<{ name: string }>(
      'SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = to_regclass($1) ORDER BY 1',
      [table],
    );
    for (const { name } of months) {
      const month = /_(\d{4})_(\d\d)$/.exec(name);
      if (month !== null && `${month[1]}-${month[2]}` < current && (await dropIfEmpty(db, table, name))) {
        dropped.push(name);
      }
    }
  }
  return dropped;
}

async function dropIfEmpty(db: Database, table: string, name: string): Promise<boolean> {
  const isEmpty = async (on: Queryable) =>
    (await on.query(`SELECT 1 AS one FROM ${name} LIMIT 1`)).length === 0;
  if (!(await isEmpty(db))) {
    return false;
  }
  try {
    return await db.transaction(async (tx) => {
      // NOWAIT, because postings would queue behind a session that waits for this lock.
      await tx.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE NOWAIT`);
      const empty = (await exists(tx, name)) && (await isEmpty(tx));
      if (empty) {
        await tx.query(`DROP TABLE ${name}`);
      }
      return empty;
    });
  } catch (error) {
    if (error instanceof ServiceUnavailable) {
      return false;
    }
    throw error;
  }
}
