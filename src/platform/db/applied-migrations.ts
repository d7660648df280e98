/**
 * The table of applied migrations. It stores the declaration of each, so that a build without the file of a newer migration can
 * decide whether it works on the schema.
 */
import { isNewer } from '../../kernel/versions.ts';
import { changeChannel } from './change-channel.ts';
import type { Database, Queryable, Transaction } from './database.ts';
import type { Migration } from './migration-files.ts';

export interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
  /** Null for migrations that were applied before declarations were stored. */
  readonly readable_from: string | null;
}

/** Sends the name of the applied migration. */
export const schemaChanged = changeChannel('schema');

/** Advisory lock. The number is arbitrary, and only migrations of Purser use it. */
const lockId = 7_077_370_601;

export async function lockMigrations(tx: Queryable): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [lockId]);
}

/**
 * Creates the table of migrations. Takes no lock if the table exists, so that a start does not wait for the migrations of another
 * process.
 */
export async function createMigrationsTable(db: Database): Promise<void> {
  const columns = await db.query(
    `SELECT 1 AS one FROM pg_attribute
      WHERE attrelid = to_regclass('schema_migrations') AND attname = 'readable_from'`,
    [],
  );
  if (columns.length > 0) {
    return;
  }
  await db.transaction(
    async (tx) => {
      await lockMigrations(tx);
      await tx.query(`
        CREATE TABLE IF NOT EXISTS schema_migrations (
          version int4 PRIMARY KEY,
          name text NOT NULL,
          checksum text NOT NULL,
          applied_at timestamptz(3) NOT NULL DEFAULT now()
        );
        ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS phase text;
        ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS readable_from text;
      `);
    },
    { patient: true },
  );
}

/** Returns the applied migrations; none for a database without the table. */
export async function findAppliedMigrations(db: Queryable): Promise<AppliedMigration[]> {
  const [table] = await db.query<{ name: string | null }>(
    `SELECT to_regclass('schema_migrations')::text AS name`,
    [],
  );
  return table?.name == null ? [] : appliedMigrations(db);
}

export async function appliedMigrations(db: Queryable): Promise<AppliedMigration[]> {
  return db.query<AppliedMigration>(
    // Databases that only builds before 0.1.0 have used lack the column.
    `SELECT version, name, checksum, to_jsonb(applied) ->> 'readable_from' AS readable_from
       FROM schema_migrations AS applied ORDER BY version`,
    [],
  );
}

export async function isApplied(db: Queryable, { version }: Pick<Migration, 'version'>): Promise<boolean> {
  const rows = await db.query('SELECT 1 AS one FROM schema_migrations WHERE version = $1', [version]);
  return rows.length > 0;
}

export async function insertApplied(
  tx: Transaction,
  { version, name, checksum, phase, readableFrom }: Migration,
): Promise<void> {
  await tx.query(
    `INSERT INTO schema_migrations (version, name, checksum, phase, readable_from)
     VALUES ($1, $2, $3, $4, $5)`,
    [version, name, checksum, phase, readableFrom],
  );
  await schemaChanged.notify(tx, name);
}

/** This build does not work on the schema of the database. */
export class MigrationMismatch extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MigrationMismatch';
  }
}

/** Throws if a migration was changed after it was applied, or if a migration removed parts of the schema that this build needs. */
export function requireReadable(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
  build: string,
): void {
  const known = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const { version, name, checksum, readable_from } of applied) {
    const migration = known.get(version);
    if (migration !== undefined && migration.checksum !== checksum) {
      throw new MigrationMismatch(
        `migration ${name} was changed after it was applied to this database; run an unmodified release of Purser`,
      );
    }
    if (migration === undefined && (readable_from === null || isNewer(readable_from, build))) {
      throw new MigrationMismatch(
        `the database has migration ${name}, which Purser ${build} cannot read; run ${readable_from ?? 'a newer version'}${readable_from === null ? '' : ' or newer'}, ` +
          'or restore a backup from before the upgrade (`purser restore FILE`)',
      );
    }
  }
}
