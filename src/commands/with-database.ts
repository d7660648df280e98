/** What commands other than `serve` need: the settings and, for as long as they work, the database. */
import { type Config, loadConfig } from '../config.ts';
import type { Database } from '../platform/db/database.ts';
import { openDatabase } from '../platform/db/open.ts';
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

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
