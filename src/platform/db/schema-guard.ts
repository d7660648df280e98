/**
 * Protects a running process from a schema that it cannot read. After another process has applied such a migration, every access to
 * the database fails as unavailable: requests get 503 and `/readyz` fails. Used on PostgreSQL only, because the embedded database
 * belongs to one process.
 */
import type { Log } from '../log.ts';
import {
  appliedMigrations,
  MigrationMismatch,
  requireReadable,
  schemaChanged,
} from './applied-migrations.ts';
import { type Database, DatabaseUnavailable, meansOtherSchema } from './database.ts';
import type { Migration } from './migration-files.ts';

export interface SchemaGuard {
  /** The guarded database. */
  readonly db: Database;
  /** Reads the applied migrations. Throws `MigrationMismatch` if this build cannot read the schema. */
  check(): Promise<void>;
}

export interface SchemaGuardOptions {
  readonly migrations: readonly Migration[];
  readonly build: string;
  readonly log: Log;
  /** Called once, when the schema has become unreadable. */
  onUnreadable(): void;
}

export function guardSchema(
  db: Database,
  { migrations, build, log, onUnreadable }: SchemaGuardOptions,
): SchemaGuard {
  if (db.engine === 'embedded') {
    return { db, async check() {} };
  }
  let mismatch: MigrationMismatch | undefined;
  let checking: Promise<void> | undefined;

  const isReadable = () => mismatch === undefined;
  const unavailable = (cause: unknown = mismatch) =>
    new DatabaseUnavailable(mismatch?.message ?? '', { cause });

  async function readSchema(): Promise<void> {
    try {
      requireReadable(await appliedMigrations(db), migrations, build);
    } catch (error) {
      if (error instanceof MigrationMismatch && mismatch === undefined) {
        mismatch = error;
        log.fatal({ err: error }, 'this version cannot read the schema any more; every request gets 503');
        onUnreadable();
      }
      throw error;
    }
  }
  function check(): Promise<void> {
    checking ??= readSchema().finally(() => {
      checking = undefined;
    });
    return checking;
  }
  async function guarded<Result>(use: () => Promise<Result>): Promise<Result> {
    if (!isReadable()) {
      throw unavailable();
    }
    try {
      return await use();
    } catch (error) {
      if (!meansOtherSchema(error)) {
        throw error;
      }
      // The statement may have failed because of a migration whose notification has not arrived yet.
      await check().catch(() => undefined);
      throw isReadable() ? error : unavailable(error);
    }
  }

  // The listener is also called with null after missed notifications. A failure is ignored, because the next failed query checks
  // again.
  schemaChanged.on(db, () => void check().catch(() => undefined));
  return {
    check,
    db: {
      ...db,
      query: (sql, params) => guarded(() => db.query(sql, params)),
      transaction: (work, options) => guarded(() => db.transaction(work, options)),
    },
  };
}
