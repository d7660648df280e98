/**
 * The deployment that the checks examine: its settings, its database and the running service. While the service runs, the embedded
 * database belongs to its process. The checks then use the metrics and the operator API of the service.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/settings.ts';
import type { Database } from '../../platform/db/database.ts';
import { openDatabase } from '../../platform/db/open-database.ts';
import { DirectoryInUse } from '../../platform/db/pglite/directory-lock.ts';
import { literalUrl } from '../../platform/http/server/local-url.ts';
import { createLog } from '../../platform/log.ts';
import { withinMs } from './deadline.ts';
import { findRunningService, type RunningService } from './running-service.ts';

export type DatabaseAccess =
  | { readonly state: 'open'; readonly db: Database }
  /** The embedded database of a service that is running. */
  | { readonly state: 'in-use'; readonly reason: string }
  | { readonly state: 'not-created' }
  | { readonly state: 'unavailable'; readonly reason: string };

export interface InspectedDeployment {
  readonly config: Config;
  readonly engine: Database['engine'];
  readonly database: DatabaseAccess;
  readonly service: RunningService | undefined;
  /** Address at which a running service was searched. */
  readonly serviceUrl: string;
  close(): Promise<void>;
}

const openWithinMs = 30_000;

export async function inspectDeployment(
  config: Config,
  givenUrl: string | undefined,
): Promise<InspectedDeployment> {
  const serviceUrl = (givenUrl ?? literalUrl(config.host, config.port)).replace(/\/+$/, '');
  const service = await findRunningService(serviceUrl, config);
  const database = await accessDatabase(config);
  return {
    config,
    engine: config.databaseUrl === undefined ? 'embedded' : 'postgres',
    database,
    service,
    serviceUrl,
    close: async () => (database.state === 'open' ? database.db.close() : undefined),
  };
}

async function accessDatabase(config: Config): Promise<DatabaseAccess> {
  if (config.databaseUrl === undefined && !existsSync(join(config.dataDir, 'database'))) {
    return { state: 'not-created' };
  }
  try {
    const opening = openDatabase(config, createLog('silent'));
    return { state: 'open', db: await withinMs(openWithinMs, opening) };
  } catch (error) {
    const { message: reason } = error as Error;
    return { state: error instanceof DirectoryInUse ? 'in-use' : 'unavailable', reason };
  }
}
