/**
 * Runs and ledger entries are stored by month, so that an old month can be dropped as a whole. Months are made ahead of
 * time; what belongs to none lands in a rest that is there from the start, so nothing ever waits for a month.
 */
import type { Database, Queryable } from '../db/database.ts';

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
    // Two processes may find it missing at once, and what is in the rest already must stay there.
    await tx.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    const [early] = await tx.query(
      `SELECT 1 AS one FROM ${table}_rest WHERE charged_at >= $1 AND charged_at < $2 LIMIT 1`,
      [start, end],
    );
    if (early === undefined && !(await exists(tx, name))) {
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
