/** Tests that are specific to counting in Redis: the script, several processes, outages, clusters. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { endAllRedis, findRedis, type RedisServer, startRedis } from '../../../test/support/redis.ts';
import { seedsOf } from '../../../test/support/seeds.ts';
import { type Bucket, type Rate, type Rolling, rollingWindow, tokenBucket } from '../../kernel/rate.ts';
import { createLog } from '../log.ts';
import { createInMemoryRateLimiter } from './in-memory-rate-limiter.ts';
import type { RateDebit } from './rate-limiter.ts';
import { createRedisRateLimiter, type RedisOptions, type RedisRateLimiter } from './redis-rate-limiter.ts';
import { rateScript, scriptCall, verdictOf } from './redis-script.ts';

const withRedis = describe.runIf(findRedis() !== undefined);

afterAll(endAllRedis);

const limiters: RedisRateLimiter[] = [];
function newLimiter(options: Pick<RedisOptions, 'url'> & Partial<RedisOptions>): RedisRateLimiter {
  const limiter = createRedisRateLimiter({
    log: createLog('silent'),
    withoutRedis: createInMemoryRateLimiter({ share: () => 1 }),
    retryEveryMs: 50,
    ...options,
  });
  limiters.push(limiter);
  return limiter;
}
async function connected(limiter: RedisRateLimiter): Promise<RedisRateLimiter> {
  await eventually(() => expect(limiter.connected).toBe(true));
  return limiter;
}
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
});

const hourly = (key: string, more: Partial<RateDebit> = {}): RateDebit => ({
  key: `org_1:${key}`,
  limit: 50n,
  windowSeconds: 3_600,
  burst: 50n,
  amount: 1n,
  ...more,
});
const patient = { answerWithinMs: 10_000 };

withRedis('the script', () => {
  const { forAll } = seedsOf('redis-rates');
  /** `rateScript` with a given time instead of the clock of Redis. */
  const timed = rateScript.replace("redis.call('TIME')", '{ ARGV[#ARGV - 1], ARGV[#ARGV] }');
  let server: RedisServer;
  let client: ReturnType<typeof createClient>;
  beforeAll(async () => {
    server = await startRedis();
    client = createClient({ url: server.url });
    await client.connect();
  });
  afterAll(() => {
    client.destroy();
  });

  async function run(
    action: 'take' | 'back',
    debits: readonly RateDebit[],
    nowMs: number,
  ): Promise<number[]> {
    const { keys, args } = scriptCall(action, debits);
    const time = [String(Math.floor(nowMs / 1_000)), String((nowMs % 1_000) * 1_000 + 999)];
    return (await client.eval(timed, { keys, arguments: [...args, ...time] })) as number[];
  }

  const rates = fc.record({
    limit: fc.oneof(fc.bigInt(1n, 50n), fc.bigInt(1n, 2n ** 52n)),
    windowSeconds: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constantFrom(3_599, 86_399, 86_400)),
    burst: fc.oneof(fc.bigInt(1n, 50n), fc.bigInt(1n, 2n ** 52n)),
    rolling: fc.boolean(),
  });
  /** Fractions of a burst or a limit, at times that sometimes run backwards. */
  const calls = fc.array(
    fc.record({
      laterMs: fc.oneof(
        fc.constant(0),
        fc.integer({ min: -500, max: 3_000 }),
        fc.integer({ min: -10_000_000, max: -900 }),
        fc.integer({ min: 0, max: 100_000_000 }),
      ),
      percent: fc.bigInt(0n, 110n),
      back: fc.boolean(),
    }),
    { minLength: 1, maxLength: 25 },
  );

  test('returns exactly the same verdicts and waits as the kernel', async () => {
    let key = 0;
    await forAll(
      fc.asyncProperty(rates, calls, async ({ rolling, ...rate }, made) => {
        key += 1;
        let nowMs = 1_700_000_000_000;
        let bucket: Bucket | undefined;
        let window: Rolling | undefined;
        const whole: Rate = { ...rate, shares: 1 };
        for (const { laterMs, percent, back } of made) {
          nowMs += laterMs;
          const amount = ((rolling ? rate.limit : rate.burst) * percent + 99n) / 100n;
          const takes = [{ key: `org:${key}`, ...rate, rolling, amount }];
          const verdict = verdictOf(takes, await run('take', takes, nowMs));
          window = window && rollingWindow.notAhead(window, nowMs);
          bucket = bucket && tokenBucket.notAhead(bucket, nowMs);
          const expected = rolling
            ? rollingWindow.take(whole, window, amount, nowMs)
            : tokenBucket.take(whole, bucket, amount, nowMs);
          expect(verdict).toEqual(
            expected.allowed
              ? { allowed: true }
              : {
                  allowed: false,
                  index: 0,
                  retryAfterSeconds: expected.retryAfterSeconds,
                  available: [{ index: 0, amount: expected.available }],
                },
          );
          if (!expected.allowed) {
            continue;
          }
          if (rolling) {
            window = expected.state as Rolling;
          } else {
            bucket = expected.state as Bucket;
          }
          if (back) {
            await run('back', takes, nowMs);
            window = window && rollingWindow.giveBack(whole, window, amount, nowMs);
            bucket = bucket && tokenBucket.giveBack(whole, bucket, amount, nowMs);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test('sets an expiry on every key', async () => {
    await client.flushAll();
    const debits = [hourly('a'), hourly('b', { rolling: true }), hourly('c', { limit: 0n })];
    await run('take', debits, Date.now());
    const ends = await Promise.all((await client.keys('*')).map((name) => client.pTTL(name)));
    expect(ends).toHaveLength(3);
    for (const end of ends) {
      expect(end).toBeGreaterThan(0);
      expect(end).toBeLessThanOrEqual(3_602_000);
    }
  });
});

withRedis('several processes on one Redis', () => {
  test('together allow exactly the limit, however many calls are concurrent', async () => {
    const { url } = await startRedis();
    const two = await Promise.all([1, 2].map(() => connected(newLimiter({ url, ...patient }))));
    const debits = [hourly('shared'), hourly('wide', { limit: 500n, burst: 500n })];
    const verdicts = await Promise.all(
      Array.from({ length: 400 }, (_, call) => two[call % 2]?.take(debits, Date.now())),
    );
    expect(verdicts.filter((verdict) => verdict?.allowed)).toHaveLength(50);
    // Denied calls took nothing.
    const rest = [hourly('wide', { limit: 500n, burst: 500n, amount: 450n })];
    expect(await two[0]?.take(rest, Date.now())).toEqual({ allowed: true });
    expect(await two[1]?.take([hourly('wide')], Date.now())).toMatchObject({ allowed: false });
  });

  test('together allow exactly the limit on a cluster', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'purser-redis-'));
    const nodes = await Promise.all(
      [0, 1].map(async (node) => {
        const bus = ['--cluster-port', String(await freePort())];
        const file = ['--dir', directory, '--cluster-config-file', `nodes-${node}.conf`];
        return startRedis(['--cluster-enabled', 'yes', ...bus, ...file]);
      }),
    );
    await joinCluster(nodes);
    const two = await Promise.all(
      nodes.map(({ url }) => connected(newLimiter({ url, ...patient, retryEveryMs: 200 }))),
    );
    for (const org of ['org_a', 'org_b', 'org_c', 'org_d']) {
      const takes = ['one', 'two'].map((key) => ({ ...hourly(key), key: `${org}:${key}` }));
      const verdicts = await Promise.all(
        Array.from({ length: 120 }, (_, call) => two[call % 2]?.take(takes, Date.now())),
      );
      expect(verdicts.filter((verdict) => verdict?.allowed)).toHaveLength(50);
    }
    rmSync(directory, { recursive: true, force: true });
  });
});

async function joinCluster(nodes: readonly RedisServer[]): Promise<void> {
  const clients = nodes.map(({ url }) => createClient({ url }));
  await Promise.all(clients.map((client) => client.connect()));
  const [first, second] = clients;
  await first?.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', '0', '8191']);
  await second?.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', '8192', '16383']);
  const bus = await second?.sendCommand(['CONFIG', 'GET', 'cluster-port']);
  const busPort = String(Array.isArray(bus) ? bus[1] : Object.values(bus as object)[0]);
  await first?.sendCommand(['CLUSTER', 'MEET', '127.0.0.1', String(nodes[1]?.port), busPort]);
  await eventually(async () => {
    for (const client of clients) {
      const info = String(await client.sendCommand(['CLUSTER', 'INFO']));
      expect(info).toContain('cluster_state:ok');
      expect(info).toContain('cluster_known_nodes:2');
    }
  });
  for (const client of clients) {
    client.destroy();
  }
}

withRedis('while Redis is unavailable', () => {
  const logged = () => {
    const lines: { level: string; msg: string }[] = [];
    const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) });
    return { log, lines: () => lines.map(({ level }) => level) };
  };
  const passing = async (limiter: RedisRateLimiter, take: RateDebit, calls = 100) => {
    const verdicts = await Promise.all(Array.from({ length: calls }, () => limiter.take([take], Date.now())));
    return verdicts.filter(({ allowed }) => allowed).length;
  };

  test('killed and restarted: no call fails, each process allows its share, and one warning is logged', async () => {
    const server = await startRedis();
    const { log, lines } = logged();
    const limiter = await connected(
      newLimiter({
        url: server.url,
        log,
        withoutRedis: createInMemoryRateLimiter({ share: () => 5 }),
        ...patient,
      }),
    );
    const inFlight = passing(limiter, hourly('in flight'));
    await server.kill();
    // Some calls were counted in Redis and some in memory, so at most both limits together were allowed.
    expect(await inFlight).toBeLessThanOrEqual(50 + 10);
    await eventually(() => expect(limiter.connected).toBe(false));
    // Without Redis the verdict is a value, not a promise.
    expect(limiter.take([hourly('alone')], Date.now())).toEqual({ allowed: true });
    expect(await passing(limiter, hourly('alone'))).toBe(9);
    expect(lines()).toEqual(['warn']);

    await server.start();
    await connected(limiter);
    expect(await passing(limiter, hourly('together'))).toBe(50);
    expect(lines()).toEqual(['warn', 'info']);
  });

  test('frozen: calls wait no longer than the timeout, and Redis is used again once it responds', async () => {
    const server = await startRedis();
    const { log, lines } = logged();
    const limiter = await connected(
      newLimiter({
        url: server.url,
        log,
        withoutRedis: createInMemoryRateLimiter({ share: () => 5 }),
        answerWithinMs: 100,
      }),
    );
    server.freeze();
    // All calls return while Redis does not respond.
    expect(await passing(limiter, hourly('frozen'))).toBe(10);
    expect(limiter.connected).toBe(false);
    expect(limiter.take([hourly('frozen')], Date.now())).toMatchObject({ allowed: false });
    server.thaw();
    await connected(limiter);
    expect(lines()).toEqual(['warn', 'info']);
  });

  test('unavailable at the start: the process counts in memory until Redis is available', async () => {
    const server = await startRedis();
    await server.kill();
    const limiter = newLimiter({ url: server.url });
    expect(await passing(limiter, hourly('early'))).toBe(50);
    await server.start();
    await connected(limiter);
  });

  test('debits that were taken in memory are not given back to Redis', async () => {
    const server = await startRedis();
    await server.kill();
    const limiter = newLimiter({ url: server.url, ...patient });
    const here = [hourly('given', { amount: 50n })];
    expect(limiter.take(here, Date.now())).toEqual({ allowed: true });
    await server.start();
    await connected(limiter);
    expect(await limiter.take([hourly('given', { amount: 50n })], Date.now())).toEqual({ allowed: true });
    limiter.giveBack(here, Date.now());
    expect(await limiter.take([hourly('given')], Date.now())).toMatchObject({ allowed: false });
  });

  test('close does not wait for a Redis that does not respond', async () => {
    const server = await startRedis();
    server.freeze();
    const limiter = newLimiter({ url: server.url });
    expect(await passing(limiter, hourly('mute'))).toBe(50);
    // Redis stays frozen: a close that waited for it would never resolve.
    await limiter.close();
    expect(limiter.take([hourly('closed')], Date.now())).toEqual({ allowed: true });
  });

  test('a Redis that cannot write counts as unavailable', async () => {
    const primary = await startRedis();
    const replica = await startRedis(['--replicaof', `127.0.0.1 ${primary.port}`]);
    const { log, lines } = logged();
    const limiter = newLimiter({ url: replica.url, log });
    await eventually(() => expect(lines()).toEqual(['warn']));
    expect(limiter.connected).toBe(false);
    expect(await passing(limiter, hourly('replica'))).toBe(50);
  });
});
