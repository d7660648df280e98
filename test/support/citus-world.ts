/** A Citus cluster with one database of Purser, distributed by the command line, and the worker of each org. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { runPurser } from './child-process.ts';
import {
  type CitusCluster,
  createOnAllNodes,
  findCitus,
  joinNodes,
  startCitusCluster,
} from './citus-cluster.ts';
import { databaseUrl } from './global-setup.ts';
import { scratch } from './scratch.ts';
import type { Place } from './test-database.ts';

export interface CitusWorld {
  readonly cluster: CitusCluster;
  readonly place: Place;
  readonly url: string;
  /** Output of `purser migrate --distribute`. */
  readonly distributed: string;
  query<Row extends object>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
  /** Returns the index of the worker that has the rows of an org. */
  workerOf(orgId: string): Promise<number>;
  close(): Promise<void>;
}

/** `settings` are added to the command line of each server. */
export async function openCitusWorld(settings: readonly string[] = []): Promise<CitusWorld> {
  const cluster = await startCitusCluster(findCitus() ?? '', scratch, settings);
  const urls = [cluster.coordinator, ...cluster.workers].map((server) => server.url);
  const name = `purser_${randomBytes(4).toString('hex')}`;
  await createOnAllNodes(urls, name);
  await joinNodes(urls, name);
  const url = databaseUrl(cluster.url, name);
  const dataDir = mkdtempSync(join(scratch, 'purser-citus-'));
  const { output } = await migrateWith(url, dataDir, '--distribute');

  async function query<Row extends object>(sql: string, params: readonly unknown[] = []): Promise<Row[]> {
    const client = new pg.Client(url);
    await client.connect();
    try {
      return (await client.query<Row>(sql, [...params])).rows;
    } finally {
      await client.end();
    }
  }

  return {
    cluster,
    url,
    place: { dataDir, databaseUrl: url, remove: async () => undefined },
    distributed: output,
    query,
    async workerOf(orgId) {
      const [row] = await query<{ port: number }>(
        `SELECT n.nodeport AS port FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
          WHERE p.shardid = get_shard_id_for_distribution_column('ledger_orgs', $1::text)`,
        [orgId],
      );
      return cluster.workers.findIndex((worker) => Number(new URL(worker.url).port) === row?.port);
    },
    async close() {
      await cluster.remove();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Runs `purser migrate` on a database. */
export async function migrateWith(
  url: string,
  dataDir: string,
  ...options: string[]
): Promise<{ code: number | null; output: string }> {
  const { code, stdout, stderr } = await runPurser(['migrate', ...options], {
    SVC_DATABASE_URL: url,
    SVC_DATA_DIR: dataDir,
  });
  return { code, output: `${stdout}${stderr}` };
}
