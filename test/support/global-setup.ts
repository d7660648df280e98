/**
 * Runs once for all test files: creates a migrated and seeded template for each engine, which tests copy instead of
 * creating a database.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { readCatalog } from '../../src/capabilities/spend/models/catalog.ts';
import { seedModels } from '../../src/capabilities/spend/models/index.ts';
import { version } from '../../src/config/version.ts';
import { ensureMonths } from '../../src/ledger/partitions.ts';
import { distribute } from '../../src/platform/db/citus/distribute.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { migrate, readMigrations } from '../../src/platform/db/migrate.ts';
import { openPglite } from '../../src/platform/db/pglite/pglite.ts';
import { openPostgres } from '../../src/platform/db/postgres/postgres.ts';
import { createLog } from '../../src/platform/log.ts';
import { createOnAllNodes, findCitus, joinNodes, startCitusCluster } from './citus-cluster.ts';
import { startOfClock } from './clock.ts';
import { beginSegment, lighten } from './light-template.ts';
import { startPgBouncer } from './pgbouncer.ts';
import { type Cluster, findPostgres, startCluster } from './postgres-cluster.ts';
import { removeAbandoned, scratch } from './scratch.ts';

declare module 'vitest' {
  interface ProvidedContext {
    embeddedTemplate: string;
    postgresUrl: string;
    postgresTemplate: string;
    /** The nodes of a Citus cluster, that of `postgresUrl` first; empty unless PURSER_TEST_CITUS is set. */
    citusNodes: string[];
    /** Leads to the same server through a pooler; empty unless PURSER_TEST_POOLER is set. */
    poolerUrl: string;
  }
}

const silent = createLog('silent');
/** Test worlds start at the first time, spawned services use the second. */
const clocks = [startOfClock, new Date()];

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  removeAbandoned();
  project.provide('embeddedTemplate', await embeddedTemplate());
  const isCitus = project.config.env.PURSER_TEST_CITUS !== undefined;
  const open = isCitus ? citusTemplate : postgresTemplate;
  const cluster = isCitus || project.name.endsWith('postgres') ? await open(project) : undefined;
  if (!isCitus) {
    project.provide('citusNodes', []);
  }
  const pooler =
    cluster !== undefined && project.config.env.PURSER_TEST_POOLER !== undefined
      ? await startPgBouncer(cluster.url)
      : undefined;
  project.provide('poolerUrl', pooler?.url ?? '');
  return async () => {
    await pooler?.stop();
    await cluster?.remove();
  };
}

/** The template is kept between runs, because creating it takes seconds. Its name changes with the migrations. */
async function embeddedTemplate(): Promise<string> {
  const migrations = await readMigrations();
  const pglite = readFileSync(
    new URL('../../node_modules/@electric-sql/pglite/package.json', import.meta.url),
    'utf8',
  );
  const parts = [
    ...migrations.map(({ checksum }) => checksum),
    JSON.stringify([readCatalog(), clocks.map((now) => now.toISOString().slice(0, 7))]),
    (JSON.parse(pglite) as { version: string }).version,
    'light',
  ];
  const name = createHash('sha256').update(parts.join()).digest('hex').slice(0, 16);
  const template = join(tmpdir(), `purser-template-${name}`);
  if (!existsSync(template)) {
    const draft = `${template}.${process.pid}`;
    mkdirSync(draft, { recursive: true });
    const db = await openPglite({ directory: draft, durability: 'os', log: silent });
    await migrate(db, migrations, { build: version });
    await prepare(db);
    const segment = await beginSegment(db);
    await db.close();
    lighten(draft, segment);
    try {
      renameSync(draft, template);
    } catch {
      // Another run created the same template first.
      rmSync(draft, { recursive: true, force: true });
    }
  }
  return template;
}

/** Writes the rows that every start would otherwise write into a new database: some hundred statements. */
async function prepare(db: Database): Promise<void> {
  for (const now of clocks) {
    await ensureMonths(db, now);
  }
  await seedModels(db, startOfClock);
}

async function postgresTemplate(project: TestProject): Promise<Cluster> {
  const bin = findPostgres();
  if (bin === undefined) {
    throw new Error('PostgreSQL 15 or newer is needed for these tests');
  }
  const cluster = await startCluster(bin, scratch);
  const template = 'purser_template';
  const client = new pg.Client(cluster.url);
  await client.connect();
  await client.query(`CREATE DATABASE ${template}`);
  await client.end();
  const db = await openPostgres({ url: databaseUrl(cluster.url, template), connections: 2, log: silent });
  await migrate(db, await readMigrations(), { build: version });
  await prepare(db);
  await db.close();
  project.provide('postgresUrl', cluster.url);
  project.provide('postgresTemplate', template);
  return cluster;
}

async function citusTemplate(project: TestProject): Promise<Cluster> {
  const bin = findCitus();
  if (bin === undefined) {
    throw new Error('PostgreSQL 15 or newer with Citus is needed for these tests');
  }
  const cluster = await startCitusCluster(bin, scratch);
  const urls = [cluster.coordinator, ...cluster.workers].map(({ url }) => url);
  const template = 'purser_template';
  try {
    await createOnAllNodes(urls, template);
    await joinNodes(urls, template);
    const db = await openPostgres({ url: databaseUrl(cluster.url, template), connections: 2, log: silent });
    await migrate(db, await readMigrations(), { build: version });
    await distribute(db);
    await prepare(db);
    await db.close();
    // Ends the background processes of Citus in the template: a database that is in use cannot be copied.
    await cluster.stop();
    await cluster.start();
  } catch (error) {
    await cluster.remove();
    throw error;
  }
  project.provide('postgresUrl', cluster.url);
  project.provide('postgresTemplate', template);
  project.provide('citusNodes', urls);
  return cluster;
}

export function databaseUrl(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}
