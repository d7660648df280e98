/** A new, migrated database of the engine under test, created in a fraction of a second. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { Database } from '../../src/platform/db/database.ts';
import { openPglite } from '../../src/platform/db/pglite/pglite.ts';
import { openPostgres } from '../../src/platform/db/postgres/postgres.ts';
import { createLog } from '../../src/platform/log.ts';
import { createOnAllNodes, dropOnAllNodes } from './citus-cluster.ts';
import { databaseUrl } from './global-setup.ts';
import { copyLight } from './light-template.ts';
import { scratch } from './scratch.ts';

export const engine = process.env.PURSER_TEST_ENGINE === 'postgres' ? 'postgres' : 'embedded';

/** True if migrated databases are distributed over a Citus cluster. */
export const isCitus = process.env.PURSER_TEST_CITUS !== undefined;

/** A place where a service can be started: a data directory and, on PostgreSQL, its own database. */
export interface Place {
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  remove(): Promise<void>;
}

export async function makePlace({ migrated }: { migrated: boolean }): Promise<Place> {
  const dataDir = mkdtempSync(join(scratch, 'purser-test-'));
  const removeDirectory = () => rmSync(dataDir, { recursive: true, force: true });
  if (engine === 'embedded') {
    if (migrated) {
      copyLight(inject('embeddedTemplate'), join(dataDir, 'database'));
    }
    return { dataDir, databaseUrl: undefined, remove: async () => removeDirectory() };
  }
  const cluster = inject('postgresUrl');
  const name = `purser_${randomBytes(8).toString('hex')}`;
  // A database that is not migrated is not distributed either: only the coordinator has it.
  const citusNodes = inject('citusNodes');
  const nodes = citusNodes.length > 0 && migrated ? citusNodes : [cluster];
  await createOnAllNodes(nodes, name, migrated ? inject('postgresTemplate') : undefined);
  return {
    dataDir,
    databaseUrl: databaseUrl(cluster, name),
    async remove() {
      removeDirectory();
      await dropOnAllNodes(nodes, name);
    },
  };
}

/** On a busy machine a statement may take longer than the service waits. */
function patientUrl(url: string): string {
  const patient = new URL(url);
  patient.searchParams.set('statement_timeout', '60000');
  return patient.href;
}

/** On a busy machine a thousand callers may wait for a long time, and so may a statement. No test checks how long. */
const waitMsMax = 300_000;
const silenceMsMax = 300_000;

export async function openPlace(place: Place): Promise<Database> {
  const log = createLog('silent');
  if (place.databaseUrl === undefined) {
    return openPglite({ directory: join(place.dataDir, 'database'), durability: 'sync', log, waitMsMax });
  }
  const pooler = inject('poolerUrl');
  const { pathname } = new URL(place.databaseUrl);
  return openPostgres({
    ...(pooler === ''
      ? { url: patientUrl(place.databaseUrl) }
      : { url: databaseUrl(pooler, pathname.slice(1)), listenUrl: place.databaseUrl }),
    connections: 10,
    log,
    waitMsMax,
    silenceMsMax,
  });
}
