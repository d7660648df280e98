/** The processes and databases that faults are injected into. They are shared by all scenarios of an engine. */
import { cpSync } from 'node:fs';
import pg from 'pg';
import { endAllProcesses } from '../support/child-process.ts';
import { type FaultyService, startFaulty } from '../support/faulty-service.ts';
import { findPostgres, startCluster } from '../support/postgres-cluster.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { makePlace } from '../support/test-database.ts';
import type { EmbeddedWorld, FaultWorld, PostgresWorld } from './fault-scenario.ts';
import { openSmallDisk } from './small-disk.ts';

/** What a scenario adds to the shared parts: its load and its repetitions. */
type OfScenario = 'rounds' | 'random' | 'orgId' | 'answersMore' | 'allRefused' | 'services';

export interface SharedWorld<World extends FaultWorld> {
  readonly parts: Omit<World, OfScenario>;
  /** The processes that were started at the beginning. */
  readonly services: ServiceProcess[];
  close(): Promise<void>;
}

const processesOnPostgres = 2;
const disk = { postgresMegabytes: 1_024, embeddedMegabytes: 512 };

export async function openPostgresWorld(): Promise<SharedWorld<PostgresWorld>> {
  const small = openSmallDisk(disk.postgresMegabytes);
  const cluster = await startCluster(findPostgres() ?? '', small.directory);
  const proxy = await startPostgresProxy(cluster.url);
  const { dataDir, remove } = await makePlace({ migrated: false });
  const settings = settingsOf({ dataDir, remove, databaseUrl: proxy.url });
  const start = (more: Record<string, string> = {}) => startPurser({ ...settings, ...more });
  const services: ServiceProcess[] = [];
  for (let started = 0; started < processesOnPostgres; started += 1) {
    services.push(await start());
  }
  return {
    services,
    parts: {
      cluster,
      proxy,
      start,
      fillDisk: small.fill,
      admin: (sql, params) => query(cluster.url, sql, params),
    },
    async close() {
      await endAllProcesses();
      await proxy.close();
      await cluster.remove();
      small.remove();
      await remove();
    },
  };
}

async function query<Row extends object>(
  url: string,
  sql: string,
  params?: readonly unknown[],
): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql, params && [...params])).rows;
  } finally {
    await client.end();
  }
}

export async function openEmbeddedWorld(): Promise<SharedWorld<EmbeddedWorld>> {
  const small = openSmallDisk(disk.embeddedMegabytes);
  const place = await makePlace({ migrated: true });
  cpSync(place.dataDir, small.directory, { recursive: true });
  await place.remove();
  const settings = settingsOf({ dataDir: small.directory, databaseUrl: undefined, remove: place.remove });
  let newest: FaultyService;
  const start = async (more: Record<string, string> = {}) => {
    newest = await startFaulty({ ...settings, ...more });
    return newest;
  };
  return {
    services: [await start()],
    parts: {
      start,
      fillDisk: small.fill,
      async endDatabaseThread() {
        const { backAgain } = await newest.endDatabaseThread();
        await backAgain;
      },
    },
    async close() {
      await endAllProcesses();
      small.remove();
    },
  };
}
