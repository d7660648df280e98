/**
 * Compares the ledger with the limiters that teams write themselves: how much each lets through under parallel calls, and after a crash
 * of the process or server that keeps the balance.
 */
import { performance } from 'node:perf_hooks';
import { createClient } from '@redis/client';
import type { Database } from '../../src/platform/db/database.ts';
import { findRedis, startRedis } from '../../test/support/redis.ts';
import { type BenchOrg, benchOrg, decision } from '../bench-org.ts';
import { sendEach } from '../load.ts';
import { median, type Sample, type SingleRow } from '../measure.ts';
import { type BenchPostgres, startPostgres } from '../postgres.ts';
import { type ServiceProcess, startService, temporaryDirectory } from '../processes.ts';
import { openPlace } from '../seed.ts';

const parallel = 200;
const fits = 50;
const rounds = 10;

/** A limiter with one balance per round, each of which fits `fits` reservations. */
interface Limiter {
  createBalance(round: number): Promise<void>;
  /** Makes reservations at the same time. */
  reserve(round: number, reservations: number): Promise<Burst>;
  /** Ends what keeps the balances without a warning, and starts it again. */
  crash(): Promise<void>;
  close(): Promise<void>;
}

interface Burst {
  readonly passed: number;
  readonly elapsedMs: number;
}

export const limiters: SingleRow = {
  kind: 'single',
  name: 'limiters',
  what:
    `${parallel} reservations at once on a balance that fits ${fits}, median of ${rounds} rounds; then as many again on a balance of which ` +
    'half was reserved before a crash of what keeps it. Purser decides over HTTP; the limiters are called in the process of the bench',
  toReach: {
    'Purser, embedded: overspent': { atMost: 0 },
    'Purser, embedded: overspent after a crash': { atMost: 0 },
    'Purser, PostgreSQL: overspent': { atMost: 0 },
    'Purser, PostgreSQL: overspent after a crash': { atMost: 0 },
  },
  async measure({ progress }) {
    const figures: Record<string, number> = {};
    const measure = async (name: string, open: () => Promise<Limiter>) => {
      progress(name);
      Object.assign(figures, named(name, await measured(open)));
    };
    await measure('Purser, embedded', () => purser({ SVC_DATA_DIR: temporaryDirectory() }));
    const notes = await withRedis(measure);
    const postgres = await startPostgres();
    try {
      const url = await postgres.database('purser');
      const settings = { SVC_DATABASE_URL: url, SVC_DATA_DIR: temporaryDirectory() };
      await measure('Purser, PostgreSQL', () => purser(settings, postgres));
      await measure('SELECT, then UPDATE', () => table(postgres, readThenDebit));
      await measure('UPDATE … WHERE', () => table(postgres, debitWhere));
    } finally {
      await postgres.stop();
    }
    return { figures, notes };
  },
};

async function measured(open: () => Promise<Limiter>): Promise<Sample> {
  const limiter = await open();
  try {
    const bursts: Burst[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      await limiter.createBalance(round);
      bursts.push(await limiter.reserve(round, parallel));
    }
    const crashRound = rounds + 1;
    await limiter.createBalance(crashRound);
    const before = await limiter.reserve(crashRound, fits / 2);
    await limiter.crash();
    const after = await limiter.reserve(crashRound, parallel);
    return {
      overspent: median(bursts.map(({ passed }) => passed)) - fits,
      'overspent after a crash': before.passed + after.passed - fits,
      'reservations/s': median(bursts.map(({ elapsedMs }) => (parallel * 1_000) / elapsedMs)),
    };
  } finally {
    await limiter.close();
  }
}

function named(limiter: string, sample: Sample): Sample {
  return Object.fromEntries(Object.entries(sample).map(([name, value]) => [`${limiter}: ${name}`, value]));
}

async function timed(reservations: number, reserve: () => Promise<boolean>): Promise<Burst> {
  const startedMs = performance.now();
  const allowed = await Promise.all(Array.from({ length: reservations }, reserve));
  return { passed: allowed.filter(Boolean).length, elapsedMs: performance.now() - startedMs };
}

async function purser(
  settings: Readonly<Record<string, string>>,
  postgres?: BenchPostgres,
): Promise<Limiter> {
  let service = await startService({ settings });
  const org = await benchOrg(service);
  const workflowOf = (round: number) => `round-${round}`;
  return {
    createBalance: (round) => capWorkflow(service, org, workflowOf(round)),
    async reserve(round, reservations) {
      const request = decision(org, { workflow: workflowOf(round), estimated_cost_usd: '1' });
      const requests = Array.from({ length: reservations }, () => request);
      const burst = { port: service.port, requests, connections: reservations, alsoFine: 402 };
      const { statuses, elapsedMs } = await sendEach(burst);
      return { passed: statuses.filter((status) => status === 200).length, elapsedMs };
    },
    async crash() {
      await service.kill();
      await postgres?.crash();
      service = await startService({ settings });
    },
    close: () => service.stop(),
  };
}

async function capWorkflow(service: ServiceProcess, { id, key }: BenchOrg, workflow: string): Promise<void> {
  const budget = { name: workflow, scope_kind: 'workflow', scope_id: workflow, period: 'month' };
  await service.call('POST', `/v1/orgs/${id}/budgets`, { ...budget, limit_usd: String(fits) }, key);
}

type Reserve = (db: Database, round: number) => Promise<boolean>;

/** Two statements without a lock. */
const readThenDebit: Reserve = async (db, round) => {
  const [row] = await db.query<{ balance: bigint }>('SELECT balance FROM balances WHERE id = $1', [round]);
  if (row === undefined || row.balance < 1n) {
    return false;
  }
  await db.query('UPDATE balances SET balance = balance - 1 WHERE id = $1', [round]);
  return true;
};

/** One statement, which waits for the row: exact, one commit per reservation. */
const debitWhere: Reserve = async (db, round) => {
  const debited = await db.query(
    'UPDATE balances SET balance = balance - 1 WHERE id = $1 AND balance >= 1 RETURNING 1',
    [round],
  );
  return debited.length > 0;
};

let tables = 0;

async function table(postgres: BenchPostgres, reserve: Reserve): Promise<Limiter> {
  tables += 1;
  const databaseUrl = await postgres.database(`limiter_${tables}`);
  const open = () => openPlace({ dataDir: temporaryDirectory(), databaseUrl });
  let db = await open();
  await db.query('CREATE TABLE balances (id int4 PRIMARY KEY, balance int8 NOT NULL)');
  return {
    async createBalance(round) {
      await db.query('INSERT INTO balances (id, balance) VALUES ($1, $2)', [round, fits]);
    },
    reserve: (round, reservations) => timed(reservations, () => reserve(db, round)),
    async crash() {
      await db.close();
      await postgres.crash();
      db = await open();
    },
    close: () => db.close(),
  };
}

/** Persistence of Redis: none, as for a cache; and the append-only file, which is written every second unless told otherwise. */
const redisModes = {
  'Redis Lua, no persistence': [],
  'Redis Lua, appendfsync everysec': ['--appendonly', 'yes', '--appendfsync', 'everysec'],
  'Redis Lua, appendfsync always': ['--appendonly', 'yes', '--appendfsync', 'always'],
} as const;

async function withRedis(
  measure: (name: string, open: () => Promise<Limiter>) => Promise<void>,
): Promise<readonly string[]> {
  if (findRedis() === undefined) {
    return ['Redis was not found on this machine: its limiters were not measured.'];
  }
  for (const [name, options] of Object.entries(redisModes)) {
    await measure(name, () => redisLimiter(options));
  }
  return [];
}

/** Atomic in one server: a script that debits the balance if it suffices. */
const debitScript = `
local balance = tonumber(redis.call('GET', KEYS[1]) or ARGV[1])
if balance < 1 then return 0 end
redis.call('SET', KEYS[1], balance - 1)
return 1`;

async function redisLimiter(options: readonly string[]): Promise<Limiter> {
  const server = await startRedis([...options, '--dir', temporaryDirectory()]);
  const connect = () =>
    createClient({ url: server.url })
      .on('error', () => undefined)
      .connect();
  let client = await connect();
  return {
    // The limit is in the configuration of such a limiter, and Redis keeps what is left of it.
    createBalance: async () => undefined,
    reserve: (round, reservations) =>
      timed(reservations, async () => {
        const call = { keys: [`balance:${round}`], arguments: [String(fits)] };
        return (await client.eval(debitScript, call)) === 1;
      }),
    async crash() {
      client.destroy();
      await server.kill();
      await server.start();
      client = await connect();
    },
    async close() {
      client.destroy();
      await server.kill();
    },
  };
}
