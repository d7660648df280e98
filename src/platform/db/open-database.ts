/** Opens the database that the settings select: PostgreSQL if there is a URL, else the embedded engine. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../log.ts';
import type { Database } from './database.ts';
import { DirectoryInUse, lockDirectory } from './pglite/directory-lock.ts';
import { openPglite } from './pglite/pglite.ts';
import { openPostgres } from './postgres/postgres.ts';

export interface DatabaseSettings {
  readonly databaseUrl: string | undefined;
  readonly databaseConnections: number;
  readonly dataDir: string;
}

export async function openDatabase(settings: DatabaseSettings, log: Log): Promise<Database> {
  if (settings.databaseUrl !== undefined) {
    const { databaseUrl: url, databaseConnections: connections } = settings;
    return openPostgres({ url, connections, log }).catch((error: Error) => {
      throw new Error(`cannot reach the database (SVC_DATABASE_URL): ${error.message}`, { cause: error });
    });
  }
  const lock = await lockDirectory(settings.dataDir).catch((error: Error) => {
    throw error instanceof DirectoryInUse
      ? error
      : new Error(`cannot use the data directory (SVC_DATA_DIR): ${error.message}`, { cause: error });
  });
  const directory = join(settings.dataDir, 'database');
  if (!existsSync(directory)) {
    log.info({ directory }, 'creating the embedded database; this takes a few seconds, once');
  }
  try {
    const db = await openPglite({ directory, log });
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
