/**
 * Compares the ledger with a limiter that reads the balance and then debits: how much each lets through under parallel calls.
 */
import { performance } from 'node:perf_hooks';
import type { Database } from '../../src/platform/db/database.ts';
import { type BenchOrg, benchOrg, decision } from '../bench-org.ts';
import { sendEach } from '../load.ts';
import { median, type Sample, type SingleRow } from '../measure.ts';
import { startPostgres } from '../postgres.ts';
import { type ServiceProcess, startService, temporaryDirectory } from '../processes.ts';
import { openPlace, type Place } from '../seed.ts';

const parallel = 200;
const fits = 50;
const rounds = 10;

export const naive: SingleRow = {
  kind: 'single',
  name: 'naive',
  what:
    `${parallel} reservations at once on a cap that fits ${fits}, median of ${rounds} rounds: a limiter that reads the ` +
    'balance and then debits it, two statements without a lock, on the same engine, in one process, without HTTP; ' +
    'and the same as decisions of Purser over HTTP',
  toReach: {},
  async measure({ progress }) {
    progress('embedded');
    const embedded = await both({ dataDir: temporaryDirectory() }, {});
    progress('PostgreSQL');
    const postgres = await startPostgres();
    try {
      const url = await postgres.database('purser');
      const naiveUrl = await postgres.database('naive');
      const place = { dataDir: temporaryDirectory(), databaseUrl: naiveUrl };
      const onPostgres = await both(place, { SVC_DATABASE_URL: url });
      return { figures: { ...named('embedded', embedded), ...named('PostgreSQL', onPostgres) } };
    } finally {
      await postgres.stop();
    }
  },
};

interface Round {
  readonly passed: number;
  readonly elapsedMs: number;
}

async function both(place: Place, settings: Readonly<Record<string, string>>): Promise<Sample> {
  return { ...figures('naive', await naively(place)), ...figures('Purser', await withPurser(settings)) };
}

function figures(who: string, results: readonly Round[]): Sample {
  const passed = median(results.map((round) => round.passed));
  return {
    [`${who}: passed`]: passed,
    [`${who}: overspent %`]: ((passed - fits) * 100) / fits,
    [`${who}: reservations/s`]: median(results.map(({ elapsedMs }) => (parallel * 1_000) / elapsedMs)),
  };
}

function named(engine: string, sample: Sample): Sample {
  return Object.fromEntries(Object.entries(sample).map(([name, value]) => [`${engine}, ${name}`, value]));
}

async function naively(place: Place): Promise<Round[]> {
  const db = await openPlace(place);
  try {
    await db.query('CREATE TABLE naive_balances (id int4 PRIMARY KEY, balance int8 NOT NULL)');
    return await inRounds(async (round) => {
      await db.query('INSERT INTO naive_balances (id, balance) VALUES ($1, $2)', [round, fits]);
      return async () => {
        const startedMs = performance.now();
        const allowed = await Promise.all(Array.from({ length: parallel }, () => reserve(db, round)));
        return { passed: allowed.filter(Boolean).length, elapsedMs: performance.now() - startedMs };
      };
    });
  } finally {
    await db.close();
  }
}

async function reserve(db: Database, id: number): Promise<boolean> {
  const [row] = await db.query<{ balance: bigint }>('SELECT balance FROM naive_balances WHERE id = $1', [id]);
  if (row === undefined || row.balance < 1n) {
    return false;
  }
  await db.query('UPDATE naive_balances SET balance = balance - 1 WHERE id = $1', [id]);
  return true;
}

async function withPurser(settings: Readonly<Record<string, string>>): Promise<Round[]> {
  const service = await startService({ settings });
  try {
    const org = await benchOrg(service);
    return await inRounds(async (round) => {
      const workflow = `round-${round}`;
      await capWorkflow(service, org, workflow);
      const request = decision(org, { workflow, estimated_cost_usd: '1' });
      const requests = Array.from({ length: parallel }, () => request);
      return async () => {
        const burst = { port: service.port, requests, connections: parallel, alsoFine: 402 };
        const { statuses, elapsedMs } = await sendEach(burst);
        return { passed: statuses.filter((status) => status === 200).length, elapsedMs };
      };
    });
  } finally {
    await service.stop();
  }
}

function capWorkflow(service: ServiceProcess, { id, key }: BenchOrg, workflow: string): Promise<unknown> {
  const budget = { name: workflow, scope_kind: 'workflow', scope_id: workflow, period: 'month' };
  return service.call('POST', `/v1/orgs/${id}/budgets`, { ...budget, limit_usd: String(fits) }, key);
}

/** `prepare` creates a new cap and returns the function that makes all reservations. */
async function inRounds(prepare: (round: number) => Promise<() => Promise<Round>>): Promise<Round[]> {
  const results: Round[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const reserveAll = await prepare(round);
    results.push(await reserveAll());
  }
  return results;
}
