/** Opens the database that the settings select: PostgreSQL if there is a URL, otherwise the embedded engine. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Durability } from '../files/durable-files.ts';
import { describeFileError } from '../files/storage-problem.ts';
import type { Log } from '../log.ts';
import { type Database, DatabaseUnavailable } from './database.ts';
import { requireNotMoved } from './moved-marker.ts';
import { lockDirectory } from './pglite/directory-lock.ts';
import { databaseExists, openPglite } from './pglite/pglite.ts';
import { describeDamage, EmbeddedDatabaseNotOpened } from './pglite/start-failure.ts';
import { remedyOf } from './postgres/connection-remedies.ts';
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

/** Returns the path of the file with the newest PostgreSQL timeline that was seen from this data directory. */
export function timelineFileOf({ dataDir }: Pick<DatabaseSettings, 'dataDir'>): string {
  return join(dataDir, 'database-timeline.json');
}

/** PostgreSQL cannot be used. */
export class DatabaseNotOpened extends Error {
  override readonly name = 'DatabaseNotOpened';
  /** True if a later attempt may succeed; false after a wrong password or for a missing database. */
  readonly mayPass: boolean;

  constructor(cause: Error) {
    super(`cannot use the database (SVC_DATABASE_URL): ${cause.message}. ${remedyOf(cause)}`, { cause });
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
  return openEmbedded(settings, log).catch((error: unknown) => {
    const described = describeFileError(error, settings.dataDir);
    throw described === undefined ? error : new EmbeddedDatabaseNotOpened(described, { cause: error });
  });
}

async function openEmbedded({ dataDir, durability }: DatabaseSettings, log: Log): Promise<Database> {
  const lock = await lockDirectory(dataDir);
  try {
    requireNotMoved(dataDir);
    const directory = join(dataDir, 'database');
    if (!databaseExists(directory)) {
      requireNoHolds(dataDir);
      log.info({ directory }, 'creating the embedded database; this takes a few seconds, once');
    }
    const db = await openPglite({ directory, durability, log });
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

/**
 * Throws if there are holds without a database: the database was lost, or a restore was interrupted. An empty database must not
 * replace it.
 */
function requireNoHolds(dataDir: string): void {
  const holds = join(dataDir, 'holds');
  if (existsSync(holds) && readdirSync(holds).length > 0) {
    throw new EmbeddedDatabaseNotOpened(
      describeDamage(dataDir, 'there are open holds in `holds`, but the directory `database` is missing'),
    );
  }
}
