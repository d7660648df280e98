/** A Citus cluster of one coordinator and two workers, run from the binaries installed on the machine. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type Cluster, findPostgres, startCluster } from './postgres-cluster.ts';

export const citusMissing = 'The extension Citus was not found for the installed PostgreSQL';

/** Returns the directory of the PostgreSQL binaries, if the extension Citus is installed for them. */
export function findCitus(): string | undefined {
  const bin = findPostgres();
  return bin !== undefined && shareDirectories(bin).some(hasControlFile) ? bin : undefined;
}

function hasControlFile(share: string): boolean {
  return existsSync(join(share, 'extension', 'citus.control'));
}

function shareDirectories(bin: string): string[] {
  const debian = /\/postgresql\/(\d+)\/bin$/.exec(bin);
  if (debian !== null) {
    return [`/usr/share/postgresql/${debian[1]}`];
  }
  try {
    return [execFileSync(join(bin, 'pg_config'), ['--sharedir'], { encoding: 'utf8', stdio: 'pipe' }).trim()];
  } catch {
    return [];
  }
}

export interface CitusCluster extends Cluster {
  readonly coordinator: Cluster;
  readonly workers: readonly Cluster[];
}

const workerCount = 2;
/** Fewer shards than the default of 32 per table: a database is created by copying all of them. */
const shardCount = 4;

const settings = [
  'shared_preload_libraries=citus',
  // The servers run as another user than the tests, whose certificates they cannot read.
  'citus.node_conninfo=sslmode=disable',
  `citus.shard_count=${shardCount}`,
  // Transactions whose coordinator or worker was killed are resolved at this interval.
  'citus.recover_2pc_interval=1s',
  // Each database has a background process of Citus.
  'max_worker_processes=400',
  'max_prepared_transactions=600',
  'max_locks_per_transaction=512',
  // Tests make rows fail with triggers.
  'citus.enable_unsafe_triggers=on',
  // Moving shards while they are written to.
  'wal_level=logical',
  'max_replication_slots=40',
  'max_wal_senders=40',
];

/** Writes the errors of the servers to a directory that their user can write to. */
const logDirectory = process.env.PURSER_TEST_SERVER_LOGS;
const logSettings =
  logDirectory === undefined ? [] : ['logging_collector=on', `log_directory=${logDirectory}`];

/** Each database needs the extension and the nodes of its own: see `joinNodes`. */
export async function startCitusCluster(
  bin: string,
  where: string,
  more: readonly string[] = [],
): Promise<CitusCluster> {
  const servers = await Promise.all(
    Array.from({ length: workerCount + 1 }, () =>
      startCluster(bin, where, [...settings, ...logSettings, ...more]),
    ),
  );
  const [coordinator, ...workers] = servers as [Cluster, ...Cluster[]];
  const each = async (act: (server: Cluster) => Promise<void>) => {
    await Promise.all(servers.map(act));
  };
  return {
    url: coordinator.url,
    coordinator,
    workers,
    start: () => each((server) => server.start()),
    stop: () => each((server) => server.stop()),
    kill: () => each((server) => server.kill()),
    remove: () => each((server) => server.remove()),
  };
}

/** Creates a database on all nodes, empty or as a copy, and runs nothing in it. */
export async function createOnAllNodes(
  urls: readonly string[],
  name: string,
  template?: string,
): Promise<void> {
  const copied = template === undefined ? '' : `TEMPLATE ${template} STRATEGY FILE_COPY`;
  await Promise.all(urls.map((url) => runOn(url, `CREATE DATABASE ${name} ${copied}`)));
}

export async function dropOnAllNodes(urls: readonly string[], name: string): Promise<void> {
  await Promise.all(urls.map((url) => dropOn(url, name)));
}

const objectInUse = '55006';

/** A background process of Citus may connect again before the database is dropped. */
async function dropOn(url: string, name: string): Promise<void> {
  try {
    await runOn(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  } catch (error) {
    if ((error as pg.DatabaseError).code !== objectInUse) {
      throw error;
    }
    await dropOn(url, name);
  }
}

/** Creates the extension in a database of all nodes, and makes them a cluster. The first URL is that of the coordinator. */
export async function joinNodes(urls: readonly string[], name: string): Promise<void> {
  const inDatabase = (url: string) => {
    const other = new URL(url);
    other.pathname = `/${name}`;
    return other;
  };
  await Promise.all(urls.map((url) => runOn(inDatabase(url).href, 'CREATE EXTENSION citus')));
  const [coordinator, ...workers] = urls.map(inDatabase) as [URL, ...URL[]];
  await runOn(
    coordinator.href,
    `SELECT citus_set_coordinator_host('${coordinator.hostname}', ${coordinator.port})`,
    ...workers.map(({ hostname, port }) => `SELECT citus_add_node('${hostname}', ${port})`),
  );
}

export async function runOn(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const statement of statements) {
      await client.query(statement);
    }
  } finally {
    await client.end();
  }
}
