/**
 * Forward-only migrations: numbered SQL files. Each is applied once, in order, in a separate transaction. Any number of processes
 * may start at once: a lock lets one of them apply a migration, while the others wait and then find it applied. A start fails if an
 * applied file was changed, or if this build cannot read the schema.
 *
 * A start applies the migrations that older builds tolerate (expand) and those that this build requires. All others wait for
 * `purser migrate --contract`, so that two versions can run side by side, and the older one can come back.
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  appliedMigrations,
  createMigrationsTable,
  findAppliedMigrations,
  insertApplied,
  isApplied,
  lockMigrations,
  MigrationMismatch,
  requireReadable,
} from './applied-migrations.ts';
import { finishBackfill } from './backfill.ts';
import { isDistributed } from './citus/citus-cluster.ts';
import { distributeNewTables } from './citus/distribute.ts';
import { splitStatements } from './citus/sql-statements.ts';
import { type Database, isLockTimeout, type Transaction } from './database.ts';
import { isRequired, type Migration } from './migration-files.ts';
import { describeBuilds, olderProcesses } from './running-builds.ts';

export { MigrationMismatch } from './applied-migrations.ts';
export { type Migration, readMigrations } from './migration-files.ts';

export interface MigrateOptions {
  /** Version of the build that runs the migration. */
  readonly build: string;
  /** Applies every pending migration, including those that break older builds. */
  readonly contract?: boolean;
  /** Called before each pending migration. */
  onNext?(progress: MigrationProgress): void;
  /** Pauses between the attempts to lock the tables of a migration. One more attempt follows the last pause. */
  readonly lockRetriesMs?: readonly number[];
}

export interface MigrationProgress {
  readonly migration: string;
  /** Position among the pending migrations, starting at 1. */
  readonly position: number;
  readonly pending: number;
}

/**
 * Maximum wait for each lock of a migration on PostgreSQL. All later statements on the table queue behind the waiting
 * migration, so this bounds how long it can stop the service.
 */
const lockTimeoutMs = 500;
/** Adds up to about three minutes. */
const usualLockRetriesMs = [250, 500, 1_000, 2_000, ...Array.from({ length: 35 }, () => 5_000)];

/** Applies the migrations that are due. Returns those that this process applied. */
export async function migrate(
  db: Database,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<Migration[]> {
  await createMigrationsTable(db);
  const applied = await appliedMigrations(db);
  requireReadable(applied, migrations, options.build);
  const done: Migration[] = [];
  const due = dueMigrations(migrations, applied, options);
  for (const [index, migration] of due.entries()) {
    options.onNext?.({ migration: migration.name, position: index + 1, pending: due.length });
    if (
      migration.phase === 'backfill'
        ? await finishBackfill(db, migration)
        : await applyOnce(db, migration, options)
    ) {
      done.push(migration);
    }
  }
  await distributeNewTables(db);
  return done;
}

export interface PendingMigrations {
  /** The migrations that `migrate` would apply with these options. */
  readonly due: readonly Migration[];
  /** The migrations that wait for `purser migrate --contract`. */
  readonly postponed: readonly Migration[];
}

/** Returns the pending migrations and changes nothing. Throws if this build cannot read the schema. */
export async function pendingMigrations(
  db: Database,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<PendingMigrations> {
  const applied = await findAppliedMigrations(db);
  requireReadable(applied, migrations, options.build);
  const due = dueMigrations(migrations, applied, options);
  const rest = pending(migrations, applied).filter((migration) => !due.includes(migration));
  return { due, postponed: rest };
}

/** Returns the migrations to apply now. In an empty database everything is due, because there are no older builds. */
function dueMigrations(
  migrations: readonly Migration[],
  applied: readonly { readonly version: number }[],
  { build, contract = false }: MigrateOptions,
): Migration[] {
  const missing = pending(migrations, applied);
  if (contract || applied.length === 0) {
    return missing;
  }
  // Backfills before the last required contract migration are due too, because that migration removes the columns that they copy
  // from.
  const lastContract = missing.findLast(
    (migration) => migration.phase === 'contract' && isRequired(migration, build),
  );
  return missing.filter(
    (migration) =>
      isRequired(migration, build) ||
      (migration.phase === 'backfill' && migration.version < (lastContract?.version ?? 0)),
  );
}

function pending(
  migrations: readonly Migration[],
  applied: readonly { readonly version: number }[],
): Migration[] {
  const done = new Set(applied.map(({ version }) => version));
  return migrations.filter(({ version }) => !done.has(version));
}

/** Applies a migration. Returns false if another process has applied it. */
async function applyOnce(
  db: Database,
  migration: Migration,
  { lockRetriesMs = usualLockRetriesMs }: MigrateOptions,
): Promise<boolean> {
  for (const pauseMs of [...lockRetriesMs, undefined]) {
    try {
      return await db.transaction((tx) => apply(db, tx, migration), { patient: true });
    } catch (error) {
      if (!isLockTimeout(error)) {
        throw error;
      }
      if (pauseMs !== undefined) {
        await pause(pauseMs);
      }
    }
  }
  throw new Error(
    `migration ${migration.name} could not lock its tables, ${lockRetriesMs.length + 1} times: ${await longTransactions(db)}. End them or wait for them, then try again.`,
  );
}

async function apply(db: Database, tx: Transaction, migration: Migration): Promise<boolean> {
  await lockMigrations(tx);
  if (await isApplied(tx, migration)) {
    return false;
  }
  if (migration.phase === 'contract') {
    await requireNoOlderProcess(tx, migration);
  }
  if (db.engine === 'postgres') {
    await tx.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
  }
  for (const sql of (await isDistributed({ engine: db.engine, query: tx.query }))
    ? splitStatements(migration.sql)
    : [migration.sql]) {
    await tx.query(sql);
  }
  await insertApplied(tx, migration);
  return true;
}

async function requireNoOlderProcess(tx: Transaction, { name, readableFrom }: Migration): Promise<void> {
  const older = await olderProcesses(tx, readableFrom);
  if (older.length > 0) {
    throw new MigrationMismatch(
      `migration ${name} is readable from ${readableFrom} on, and older processes are running: ${describeBuilds(older)}. Upgrade or stop them, then try again.`,
    );
  }
}

async function longTransactions(db: Database): Promise<string> {
  const rows = await db.query<{ pid: number; application_name: string; seconds: string }>(
    `SELECT pid, application_name, extract(epoch FROM now() - xact_start)::int8::text AS seconds
       FROM pg_stat_activity
      WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database()
      ORDER BY xact_start LIMIT 3`,
    [],
  );
  const found = rows.map(
    ({ pid, application_name, seconds }) => `pid ${pid} (${application_name}), ${seconds} s`,
  );
  return `oldest transactions: ${found.length === 0 ? 'none any more' : found.join('; ')}`;
}
