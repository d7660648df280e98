/** Latency of quiet orgs while many others send as much as they can. */
import { setTimeout as pause } from 'node:timers/promises';
import { type BenchOrg, decision, run } from '../bench-org.ts';
import { type LoadRequest, loadOnSchedule, percentile, sendEach } from '../load.ts';
import type { PairsRow, Sample } from '../measure.ts';
import type { NoisyLoad, NoisyResult } from '../noisy-orgs.ts';
import { startPostgres } from '../postgres.ts';
import { startFloor, startHelper, startService, temporaryDirectory } from '../processes.ts';
import { openPlace, type Place, seedBudgets, seedOrgs } from '../seed.ts';

const noisyOrgs = 100;
const noisyConnections = 400;
const limitsPerOrg = 8;
/** Several, each of which sends less than a noisy org gets: one alone would send too few requests for a p99. */
const quietOrgs = 100;
/** Requests of each kind and org. */
const quietPerSecond = 0.2;
const quietConnections = 20;
/** The noisy load lasts longer than the measurement, so that all of the measurement is beside it. */
const noisyLeadMs = 500;

/** The kinds of requests: in memory or in a transaction of the ledger, in a batch of postings, and straight from the database. */
const kinds: Readonly<Record<string, (org: BenchOrg) => LoadRequest>> = {
  decision: (org) => decision(org),
  run: (org) => run(org),
  read: ({ id, key }) => ({
    method: 'GET',
    path: `/v1/orgs/${id}/budgets?limit=20`,
    headers: { authorization: `Bearer ${key}` },
  }),
};

const bareRequest: LoadRequest = { method: 'GET', path: '/', headers: {} };

export const fairness = rowOf('fairness', 'embedded engine', async () => ({
  place: { dataDir: temporaryDirectory() },
  close: async () => undefined,
}));

export const fairnessPostgres = rowOf('fairness-postgres', 'PostgreSQL (fsync on)', async () => {
  const postgres = await startPostgres();
  return {
    place: { dataDir: temporaryDirectory(), databaseUrl: await postgres.database('purser') },
    close: () => postgres.stop(),
  };
});

interface Started {
  readonly place: Place;
  close(): Promise<void>;
}

function rowOf(name: string, engine: string, start: () => Promise<Started>): PairsRow {
  return {
    kind: 'pairs',
    name,
    what:
      `decisions, runs and lists of ${quietOrgs} quiet orgs, ${quietPerSecond} of each a second and org in an open loop, while ${noisyOrgs} orgs send the ` +
      `same over ${noisyConnections} connections, each as soon as it has its answer; ${engine}, ${limitsPerOrg} limits`,
    floor: 'the same without the other orgs, same service',
    toReach: Object.fromEntries(Object.keys(kinds).map((kind) => [`${kind} p99 ms`, { atMost: 3 }])),
    async prepare() {
      const { place, close } = await start();
      const orgs = await seeded(place);
      const quiet = orgs.slice(0, quietOrgs);
      const noisy = orgs.slice(quietOrgs);
      const service = await startService({ settings: settingsOf(place) });
      const requestsOf = (org: BenchOrg) => Object.values(kinds).map((kind) => kind(org));
      const requests = noisy.flatMap(requestsOf);
      // What the service keeps of each org is loaded before, since it would be loaded once and not in every turn.
      await sendEach({ port: service.port, requests: orgs.flatMap(requestsOf), connections: 4 });
      const bare = await startFloor({ status: 200, headers: ['content-length', '2'], body: 'ok' });
      const ports = { service: service.port, bare: bare.port };
      const noise = startHelper('./noisy-orgs.ts');
      const totals = { answers: 0, rejected: 0, elapsedMs: 0 };
      return {
        async service(seconds) {
          const lasting: NoisyLoad = {
            port: service.port,
            requests,
            connections: noisyConnections,
            seconds: seconds + (2 * noisyLeadMs) / 1_000,
          };
          let noisyTurn: Promise<NoisyResult> | undefined;
          const sample = await latencies(ports, quiet, seconds, async () => {
            noisyTurn = noise.ask<NoisyResult>(lasting);
            await pause(noisyLeadMs);
          });
          const { answers, rejected, elapsedMs, failure } = (await noisyTurn) as NoisyResult;
          if (failure !== undefined) {
            throw new Error(`the load of the noisy orgs failed: ${failure}`);
          }
          totals.answers += answers;
          totals.rejected += rejected;
          totals.elapsedMs += elapsedMs;
          return sample;
        },
        floor: (seconds) => latencies(ports, quiet, seconds, async () => undefined),
        async notes() {
          const perSecond = Math.round((totals.answers * 1_000) / totals.elapsedMs);
          return [
            `the noisy orgs got ${perSecond} responses a second, of which ${totals.rejected} in all were 503; the quiet ones got none`,
          ];
        },
        async close() {
          await noise.stop();
          await bare.stop();
          await service.stop();
          await close();
        },
      };
    },
  };
}

function settingsOf({ dataDir, databaseUrl }: Place): Record<string, string> {
  return { SVC_DATA_DIR: dataDir, ...(databaseUrl !== undefined && { SVC_DATABASE_URL: databaseUrl }) };
}

async function seeded(place: Place): Promise<BenchOrg[]> {
  const db = await openPlace(place);
  try {
    const orgs = await seedOrgs(db, noisyOrgs + quietOrgs);
    await seedBudgets(db, orgs, limitsPerOrg, `'{}'`);
    return orgs;
  } finally {
    await db.close();
  }
}

/**
 * Measures the quiet orgs, and a bare server at the same time, which shows how much of it is the machine: all processes share its
 * cores. `startOthers` is called once all connections are open, since the time to accept them is not that of a request.
 */
async function latencies(
  ports: { readonly service: number; readonly bare: number },
  orgs: readonly BenchOrg[],
  seconds: number,
  startOthers: () => Promise<void>,
): Promise<Sample> {
  const loads = [
    ...Object.entries(kinds).map(([kind, requestOf]) => ({
      kind,
      port: ports.service,
      requests: orgs.map(requestOf),
    })),
    { kind: 'bare server', port: ports.bare, requests: [bareRequest] },
  ];
  let opened = 0;
  let start: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const measured = await Promise.all(
    loads.map(async ({ kind, port, requests }) => {
      let sent = 0;
      const { latenciesMs } = await loadOnSchedule({
        port,
        request: () => {
          sent += 1;
          return requests[sent % requests.length] as LoadRequest;
        },
        perSecond: quietPerSecond * orgs.length,
        connections: quietConnections,
        seconds,
        ready: () => {
          opened += 1;
          if (opened === loads.length) {
            startOthers().then(start, start);
          }
          return started;
        },
      });
      return [
        [`${kind} p99 ms`, percentile(latenciesMs, 99)],
        [`${kind} p50 ms`, percentile(latenciesMs, 50)],
      ] as const;
    }),
  );
  return Object.fromEntries(measured.flat());
}
