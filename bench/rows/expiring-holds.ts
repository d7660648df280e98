/** Decisions of an org while very many of its holds, which all expired at the same time, are released. */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { type BenchOrg, decision, orgWithEightLimits } from '../bench-org.ts';
import { load } from '../load.ts';
import { median, type SingleRow, type Singles } from '../measure.ts';
import { startPostgres } from '../postgres.ts';
import { type ServiceProcess, startService } from '../processes.ts';
import { turn } from '../turn.ts';

const size = { full: 93_000, small: 5_000 };
/** Connections that create the holds, and that decide while they expire. */
const connections = { creating: 200, deciding: 20 };
const turnsWithout = 5;
/** Slower than any machine, so that the first hold does not expire before the last one is taken. */
const createdPerSecondMin = 500;
const endWithinMs = 900_000;

export const expiringHolds = rowOf('expiring-holds', 'embedded engine', async () => {
  const service = await startService();
  return { services: [service], close: () => service.stop() };
});

export const expiringHoldsPostgres = rowOf(
  'expiring-holds-postgres',
  'PostgreSQL, two processes',
  async () => {
    const postgres = await startPostgres();
    const settings = { SVC_DATABASE_URL: await postgres.database('purser') };
    const services = [await startService({ settings }), await startService({ settings })];
    return {
      services,
      async close() {
        await Promise.all(services.map((service) => service.stop()));
        await postgres.stop();
      },
    };
  },
);

interface Started {
  readonly services: readonly ServiceProcess[];
  close(): Promise<void>;
}

function rowOf(name: string, shown: string, start: () => Promise<Started>): SingleRow {
  return {
    kind: 'single',
    name,
    what:
      `edge decisions, ${connections.deciding} connections, while ${size.full} holds of the same org that expired in the same ` +
      `second are released, against the same before; ${shown}, 8 limits`,
    toReach: { 'decisions/s, times those without': { atLeast: 0.5 } },
    shrinks: true,
    async measure({ small, progress }) {
      const { services, close } = await start();
      try {
        return await measureRelease(services, small ? size.small : size.full, progress);
      } finally {
        await close();
      }
    },
  };
}

async function measureRelease(
  services: readonly ServiceProcess[],
  holds: number,
  progress: (text: string) => void,
): Promise<Singles> {
  const [first] = services as [ServiceProcess];
  const org = await orgWithEightLimits(first);
  const decide = async () => {
    const request = decision(org, { expires_in_seconds: 3_600 });
    return turn(services, { request, connections: connections.deciding, seconds: 1 });
  };
  await createHolds(first, org, 2_000, 3_600);
  const without: number[] = [];
  for (let n = 0; n < turnsWithout; n += 1) {
    without.push((await decide())['requests/s'] ?? 0);
  }
  progress(`creating ${holds} holds`);
  const expiresAtMs = await createHolds(first, org, holds, 15 + holds / createdPerSecondMin);
  await pause(Math.max(0, expiresAtMs - Date.now()));
  progress('expiring');
  const meanwhile: number[] = [];
  const slowestMs: number[] = [];
  const startedMs = performance.now();
  do {
    const { 'requests/s': rate, 'p99 ms': p99 } = await decide();
    meanwhile.push(rate ?? 0);
    slowestMs.push(p99 ?? 0);
    if (performance.now() - startedMs > endWithinMs) {
      throw new Error('the holds were not released in time');
    }
  } while ((await overdueSeconds(first)) > 0);
  const seconds = (performance.now() - startedMs) / 1_000;
  return {
    figures: {
      'decisions/s, times those without': median(meanwhile) / median(without),
      'decisions/s without': median(without),
      'decisions/s meanwhile': median(meanwhile),
      'decisions/s meanwhile, lowest second': Math.min(...meanwhile),
      'p99 ms meanwhile, highest second': Math.max(...slowestMs),
      'holds released/s': holds / seconds,
      'seconds until all were released': seconds,
    },
  };
}

/** Takes holds that all expire in the same second; returns that time. */
async function createHolds(
  { port }: ServiceProcess,
  org: BenchOrg,
  count: number,
  withinSeconds: number,
): Promise<number> {
  const expiresAtMs = Date.now() + withinSeconds * 1_000;
  for (let created = 0; created < count; ) {
    const expires_in_seconds = Math.ceil((expiresAtMs - Date.now()) / 1_000);
    const { answers } = await load({
      port,
      request: decision(org, { expires_in_seconds }),
      connections: connections.creating,
      seconds: 0.5,
    });
    created += answers;
  }
  return expiresAtMs;
}

async function overdueSeconds({ port }: ServiceProcess): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  return Number(/^svc_oldest_overdue_hold_seconds (\S+)$/m.exec(await response.text())?.[1]);
}
