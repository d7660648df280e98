/** Opens the engine that the settings name: PostgreSQL where there is a URL, else the embedded one. */
import { join } from 'node:path';
import type { Log } from '../log.ts';
import type { Database } from './database.ts';
import { lockDirectory } from './directory-lock.ts';
import { openPglite } from './pglite.ts';
import { openPostgres } from './postgres.ts';

export interface DatabaseSettings {
  readonly databaseUrl: string | undefined;
  readonly databaseConnections: number;
  readonly dataDir: string;
}

export async function openDatabase(settings: DatabaseSettings, log: Log): Promise<Database> {
  if (settings.databaseUrl !== undefined) {
    return openPostgres({ url: settings.databaseUrl, connections: settings.databaseConnections, log });
  }
  const lock = await lockDirectory(settings.dataDir);
  try {
    const db = await openPglite({ directory: join(settings.dataDir, 'database'), log });
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
