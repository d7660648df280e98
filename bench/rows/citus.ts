/**
 * Decisions on a Citus cluster with two workers, and on one PostgreSQL: the CPU time that each server spends on a decision, from
 * which the capacity of larger clusters follows (docs/operations/scaling.md). All servers share the cores of one machine, so their
 * requests/s do not show what several machines would reach.
 */
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import {
  type CitusCluster,
  citusMissing,
  createOnAllNodes,
  findCitus,
  joinNodes,
  startCitusCluster,
} from '../../test/support/citus-cluster.ts';
import { findPostgres, startCluster } from '../../test/support/postgres-cluster.ts';
import { decision, orgWithEightLimits } from '../bench-org.ts';
import type { LoadRequest } from '../load.ts';
import type { Sample, SingleRow } from '../measure.ts';
import { startService, temporaryDirectory } from '../processes.ts';
import { mainProcessOf, serverCpuMs } from '../server-cpu.ts';
import { turn } from '../turn.ts';

const connections = 100;
const orgCounts = { usual: [1, 50], small: [1, 8] };
const durable = ['fsync=on', 'citus.shard_count=32'];

export const citus: SingleRow = {
  kind: 'single',
  name: 'citus',
  what: `edge decisions of one and of many orgs in turn, 8 limits each, ${connections} connections: on one PostgreSQL, and on Citus with a coordinator and two workers, fsync on`,
  toReach: {},
  shrinks: true,
  async measure({ small, secondsPerTurn, progress }) {
    const bin = findCitus();
    if (bin === undefined) {
      return { figures: {}, notes: [`${citusMissing}.`] };
    }
    const counts = small ? orgCounts.small : orgCounts.usual;
    progress('one PostgreSQL');
    const single = await startCluster(findPostgres() ?? '', tmpdir(), ['fsync=on']);
    const alone = await measureOn(single.url, { server: [single.url] }, counts, secondsPerTurn).finally(() =>
      single.remove(),
    );
    progress('Citus');
    const cluster = await startCitusCluster(bin, tmpdir(), durable);
    try {
      const url = await distributedDatabase(cluster);
      const servers = {
        coordinator: [cluster.coordinator.url],
        workers: cluster.workers.map((worker) => worker.url),
      };
      const spread = await measureOn(url, servers, counts, secondsPerTurn);
      return { figures: { ...named('PostgreSQL', alone), ...named('Citus', spread) } };
    } finally {
      await cluster.remove();
    }
  },
};

function named(what: string, sample: Sample): Sample {
  return Object.fromEntries(Object.entries(sample).map(([name, value]) => [`${what}, ${name}`, value]));
}

async function distributedDatabase({ coordinator, workers }: CitusCluster): Promise<string> {
  const urls = [coordinator, ...workers].map(({ url }) => url);
  await createOnAllNodes(urls, 'purser');
  await joinNodes(urls, 'purser');
  const url = coordinator.url.replace(/[^/]+$/, 'purser');
  execFileSync(process.execPath, ['dist/main.js', 'migrate', '--distribute'], {
    env: { ...process.env, SVC_DATABASE_URL: url, SVC_DATA_DIR: temporaryDirectory() },
    stdio: 'pipe',
  });
  return url;
}

async function measureOn(
  databaseUrl: string,
  servers: Readonly<Record<string, readonly string[]>>,
  counts: readonly number[],
  seconds: number,
): Promise<Sample> {
  const service = await startService({ settings: { SVC_DATABASE_URL: databaseUrl } });
  try {
    const requests: LoadRequest[] = [];
    while (requests.length < Math.max(...counts)) {
      requests.push(decision(await orgWithEightLimits(service)));
    }
    const mains: Record<string, number[]> = {};
    for (const [name, urls] of Object.entries(servers)) {
      mains[name] = await Promise.all(urls.map(mainProcessOf));
    }
    const figures: Record<string, number> = {};
    for (const count of counts) {
      let sent = 0;
      const request = () => {
        sent += 1;
        return requests[sent % count] as LoadRequest;
      };
      // Warms up caches and connections.
      await turn([service], { connections, request, seconds: 1 });
      const before = cpuOf(mains);
      const sentBefore = sent;
      const { 'requests/s': rate = 0, 'p99 ms': p99 = 0 } = await turn([service], {
        connections,
        request,
        seconds,
      });
      const decisions = sent - sentBefore;
      const orgs = count === 1 ? '1 org' : `${count} orgs`;
      figures[`${orgs}: decisions/s`] = rate;
      figures[`${orgs}: p99 ms`] = p99;
      for (const [name, usedMs] of Object.entries(cpuOf(mains))) {
        figures[`${orgs}: CPU µs/decision of ${name}`] = ((usedMs - (before[name] ?? 0)) * 1_000) / decisions;
      }
    }
    return figures;
  } finally {
    await service.stop();
  }
}

function cpuOf(mains: Readonly<Record<string, readonly number[]>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(mains).map(([name, pids]) => [name, pids.reduce((sum, pid) => sum + serverCpuMs(pid), 0)]),
  );
}
