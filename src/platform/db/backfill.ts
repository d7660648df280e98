/**
 * Backfills: migrations that rewrite rows in batches while the service runs. The file has one statement, which processes one batch.
 * Its parameter `$1` is the cursor, a text that is empty at first. It returns one row with `next_cursor`, which is null after the
 * last batch. Each batch is a short transaction that also stores the cursor, so that an interrupted backfill resumes at its last
 * batch.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { findAppliedMigrations, insertApplied, isApplied } from './applied-migrations.ts';
import { type Database, isLockTimeout, type Transaction } from './database.ts';
import type { Migration } from './migration-files.ts';

/** Advisory lock, so that only one process runs a batch at a time. */
const lockId = 7_077_370_602;
/** Maximum time that a batch waits for a row. After it, the batch is rolled back and runs again later. */
const lockTimeoutMs = 500;

const retryAfterMs = 250;

type BackfillProgress = 'busy' | 'more' | 'done' | 'done before';

/** Runs all remaining batches. Returns false if another process has finished the backfill. */
export async function finishBackfill(db: Database, migration: Migration): Promise<boolean> {
  for (;;) {
    const result = await runBatch(db, migration, 'pg_advisory_xact_lock').catch(async (error: unknown) => {
      if (!isLockTimeout(error)) {
        throw error;
      }
      await pause(retryAfterMs);
      return 'busy' as const;
    });
    if (result === 'done' || result === 'done before') {
      return result === 'done';
    }
  }
}

/** Runs one batch of the first pending backfill. Returns false if none is pending, or if another process runs a batch. */
export async function runNextBatch(db: Database, migrations: readonly Migration[]): Promise<boolean> {
  const backfills = migrations.filter(({ phase }) => phase === 'backfill');
  if (backfills.length === 0) {
    return false;
  }
  const applied = new Set((await findAppliedMigrations(db)).map(({ version }) => version));
  const next = backfills.find(({ version }) => !applied.has(version));
  return next !== undefined && (await runBatch(db, next, 'pg_try_advisory_xact_lock')) !== 'busy';
}

async function runBatch(
  db: Database,
  migration: Migration,
  lock: 'pg_advisory_xact_lock' | 'pg_try_advisory_xact_lock',
): Promise<BackfillProgress> {
  return db.transaction(async (tx) => {
    // Only `false` means that the lock is taken: `pg_advisory_xact_lock` returns void, which is not null.
    const [locked] = await tx.query<{ locked: unknown }>(`SELECT ${lock}($1) AS locked`, [lockId]);
    if (locked?.locked === false) {
      return 'busy';
    }
    if (await isApplied(tx, migration)) {
      return 'done before';
    }
    if (db.engine === 'postgres') {
      await tx.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
    }
    const next = await nextCursor(tx, migration, await storedCursor(tx, migration));
    if (next === null) {
      await insertApplied(tx, migration);
      await tx.query('DELETE FROM schema_backfills WHERE version = $1', [migration.version]);
      return 'done';
    }
    await tx.query(
      `INSERT INTO schema_backfills (version, cursor) VALUES ($1, $2)
       ON CONFLICT (version) DO UPDATE SET cursor = $2, batches = schema_backfills.batches + 1, updated_at = now()`,
      [migration.version, next],
    );
    return 'more';
  });
}

async function storedCursor(tx: Transaction, { version }: Migration): Promise<string> {
  const [row] = await tx.query<{ cursor: string }>('SELECT cursor FROM schema_backfills WHERE version = $1', [
    version,
  ]);
  return row?.cursor ?? '';
}

async function nextCursor(tx: Transaction, { name, sql }: Migration, cursor: string): Promise<string | null> {
  const rows = await tx.query<{ next_cursor?: string | null }>(sql, [cursor]);
  const next = rows[0]?.next_cursor;
  if (rows.length !== 1 || next === undefined) {
    throw new Error(`backfill ${name} must return one row with the column next_cursor`);
  }
  if (next === cursor) {
    throw new Error(`backfill ${name} made no progress at the cursor "${cursor}"`);
  }
  return next;
}
