/** Runs a command with the settings and an open database. */
import { type Config, loadConfig } from '../config/settings.ts';
import { version } from '../config/version.ts';
import type { Database } from '../platform/db/database.ts';
import { migrate, readMigrations } from '../platform/db/migrate.ts';
import { openDatabase } from '../platform/db/open-database.ts';
import { requireCompleteDatabase } from '../platform/db/transfer/database-target.ts';
import { createLog } from '../platform/log.ts';

export async function withDatabase<Result>(
  work: (db: Database, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = loadConfig();
  const db = await openDatabase(config, createLog('silent'));
  try {
    return await work(db, config);
  } finally {
    await db.close();
  }
}

/** Like `withDatabase`, but first applies the migrations that a start applies. */
export function withMigratedDatabase<Result>(
  work: (db: Database, config: Config) => Promise<Result>,
): Promise<Result> {
  return withDatabase(async (db, config) => {
    await requireCompleteDatabase(db);
    await migrate(db, await readMigrations(), { build: version });
    return work(db, config);
  });
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
