/**
 * Forward-only migrations: numbered SQL files, each applied once, in order, in its own transaction. Any number of processes
 * may start at once: a lock lets one of them apply a migration while the others wait and then find it applied. A file that
 * changed after it was applied, or a database newer than this build, stops the start.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { Database, Queryable } from './database.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

interface AppliedRow {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

/** Advisory lock: an arbitrary number that only Purser's migrations use. */
const lockId = 7_077_370_601;

const withoutTimeout = { patient: true };

export class MigrationMismatch extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MigrationMismatch';
  }
}

/** The relative path is the same from this file in `src` and from its place in `dist`. */
const migrationsDirectory = new URL('../../../migrations/', import.meta.url);

export async function readMigrations(directory: URL = migrationsDirectory): Promise<Migration[]> {
  const files = (await readdir(directory)).filter((file) => /^\d{4}_\w+\.sql$/.test(file)).sort();
  return Promise.all(
    files.map(async (name) => {
      const sql = await readFile(new URL(name, directory), 'utf8');
      const checksum = createHash('sha256').update(sql).digest('hex');
      return { version: Number(name.slice(0, 4)), name, sql, checksum };
    }),
  );
}

/** Applies the pending migrations. Returns those that this process applied. */
export async function migrate(db: Database, migrations: readonly Migration[]): Promise<Migration[]> {
  await createMigrationsTable(db);
  const done: Migration[] = [];
  for (const migration of pending(migrations, await appliedMigrations(db))) {
    if (await applyOnce(db, migration)) {
      done.push(migration);
    }
  }
  return done;
}

/** Returns the migrations that `migrate` would apply. */
export async function pendingMigrations(
  db: Database,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const [table] = await db.query<{ name: string | null }>(
    `SELECT to_regclass('schema_migrations')::text AS name`,
    [],
  );
  return pending(migrations, table?.name == null ? [] : await appliedMigrations(db));
}

async function createMigrationsTable(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    await lock(tx);
    await tx.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
      version int4 PRIMARY KEY,
      name text NOT NULL,
      checksum text NOT NULL,
      applied_at timestamptz(3) NOT NULL DEFAULT now()
    )`);
  }, withoutTimeout);
}

async function applyOnce(db: Database, { version, name, sql, checksum }: Migration): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lock(tx);
    const applied = await tx.query('SELECT 1 AS one FROM schema_migrations WHERE version = $1', [version]);
    if (applied.length > 0) {
      return false;
    }
    await tx.query(sql);
    await tx.query('INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)', [
      version,
      name,
      checksum,
    ]);
    return true;
  }, withoutTimeout);
}

async function lock(tx: Queryable): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [lockId]);
}

async function appliedMigrations(db: Queryable): Promise<AppliedRow[]> {
  return db.query<AppliedRow>('SELECT version, name, checksum FROM schema_migrations ORDER BY version', []);
}

function pending(migrations: readonly Migration[], applied: readonly AppliedRow[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const row of applied) {
    const migration = known.get(row.version);
    if (migration === undefined) {
      throw new MigrationMismatch(
        `the database has migration ${row.name}, which this version of Purser does not know; run a newer version`,
      );
    }
    if (migration.checksum !== row.checksum) {
      throw new MigrationMismatch(`migration ${row.name} was changed after it was applied to this database`);
    }
  }
  const done = new Set(applied.map(({ version }) => version));
  return migrations.filter(({ version }) => !done.has(version));
}
