/** Opens the database that the settings select: PostgreSQL if there is a URL, else the embedded engine. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Durability } from '../files/durable-files.ts';
import type { Log } from '../log.ts';
import { type Database, DatabaseUnavailable } from './database.ts';
import { requireNotMoved } from './moved-marker.ts';
import { DirectoryInUse, lockDirectory } from './pglite/directory-lock.ts';
import { openPglite } from './pglite/pglite.ts';
import type { PoolerMode } from './postgres/connector.ts';
import { openPostgres } from './postgres/postgres.ts';
import { NoPrimary } from './postgres/primary-finder.ts';

export interface DatabaseSettings {
  readonly databaseUrl: string | undefined;
  readonly databaseListenUrl?: string | undefined;
  readonly databasePooler?: PoolerMode;
  readonly databaseConnections: number;
  readonly dataDir: string;
  readonly durability: Durability;
}

/** The newest timeline of PostgreSQL that was seen from this data directory. */
export function timelineFileOf({ dataDir }: Pick<DatabaseSettings, 'dataDir'>): string {
  return join(dataDir, 'database-timeline.json');
}

/** PostgreSQL cannot be used. */
export class DatabaseNotOpened extends Error {
  override readonly name = 'DatabaseNotOpened';
  /** True if it may be possible later; false after a wrong password or for a database that does not exist. */
  readonly mayPass: boolean;

  constructor(cause: Error) {
    super(`cannot use the database (SVC_DATABASE_URL): ${cause.message}`, { cause });
    this.mayPass = cause instanceof DatabaseUnavailable && !(cause instanceof NoPrimary && cause.isPermanent);
  }
}

export async function openDatabase(settings: DatabaseSettings, log: Log): Promise<Database> {
  if (settings.databaseUrl !== undefined) {
    const { databaseUrl: url, databaseListenUrl: listenUrl, databaseConnections: connections } = settings;
    return openPostgres({
      url,
      listenUrl,
      ...(settings.databasePooler !== undefined && { pooler: settings.databasePooler }),
      connections,
      log,
      timelineFile: timelineFileOf(settings),
    }).catch((error: Error) => {
      throw new DatabaseNotOpened(error);
    });
  }
  const lock = await lockDirectory(settings.dataDir).catch((error: Error) => {
    throw error instanceof DirectoryInUse
      ? error
      : new Error(`cannot use the data directory (SVC_DATA_DIR): ${error.message}`, { cause: error });
  });
  const directory = join(settings.dataDir, 'database');
  try {
    requireNotMoved(settings.dataDir);
  } catch (error) {
    await lock.release();
    throw error;
  }
  if (!existsSync(directory)) {
    log.info({ directory }, 'creating the embedded database; this takes a few seconds, once');
  }
  try {
    const db = await openPglite({ directory, durability: settings.durability, log });
    return {
      ...db,
      async close() {
        await db.close();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}
