/** What both limiters promise. Redis goes by its own clock, so there time really passes; waits are kept to seconds. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { endAllRedis, findRedis, type RedisServer, startRedis } from '../../../test/support/redis.ts';
import { createLog } from '../log.ts';
import { createMemoryRateLimiter } from './in-memory-rate-limiter.ts';
import type { RateLimiter, RateTake } from './rate-limiter.ts';
import { createRedisRateLimiter } from './redis-rate-limiter.ts';

interface Subject {
  readonly limiter: RateLimiter;
  nowMs(): number;
  pass(seconds: number): Promise<void>;
}

let redis: RedisServer | undefined;

async function inMemory(): Promise<Subject> {
  let nowMs = Date.parse('2026-11-15T12:00:00Z');
  return {
    limiter: createMemoryRateLimiter({ share: () => 1 }),
    nowMs: () => nowMs,
    async pass(seconds) {
      nowMs += seconds * 1_000;
    },
  };
}

async function inRedis(): Promise<Subject> {
  const limiter = createRedisRateLimiter({
    url: redis?.url ?? '',
    log: createLog('silent'),
    share: () => 1,
    // The machine may be busy, and a fallback would pass for Redis here.
    answerWithinMs: 10_000,
  });
  await vi.waitFor(() => expect(limiter.connected).toBe(true), { timeout: 10_000 });
  return {
    limiter,
    nowMs: () => Date.now(),
    async pass(seconds) {
      await pause(seconds * 1_000);
    },
  };
}

const subjects = [
  { name: 'memory', open: inMemory },
  ...(findRedis() === undefined ? [] : [{ name: 'redis', open: inRedis }]),
];

beforeAll(async () => {
  redis = findRedis() === undefined ? undefined : await startRedis();
});
afterAll(endAllRedis);

let keys = 0;
/** Slow enough that nothing comes in while a test runs, unless it says otherwise. */
function bucket(more: Partial<RateTake> = {}): RateTake {
  keys += 1;
  return { key: `org_1:${keys}`, limit: 4n, windowSeconds: 3_600, burst: 4n, amount: 1n, ...more };
}

describe.each(subjects)('a limiter in $name', ({ open }) => {
  let subject: Subject;
  beforeAll(async () => {
    subject = await open();
  });
  afterAll(async () => {
    await subject.limiter.close();
  });
  const take = async (...debits: RateTake[]) => subject.limiter.take(debits, subject.nowMs());
  const passes = async (...debits: RateTake[]) => (await take(...debits)).allowed;
  const waitFor = async (...debits: RateTake[]) => {
    const verdict = await take(...debits);
    return verdict.allowed ? undefined : verdict.retryAfterSeconds;
  };

  test('lets the burst pass and refuses the next, with the wait until it could pass', async () => {
    const calls = bucket();
    expect([await passes(calls), await passes({ ...calls, amount: 3n })]).toEqual([true, true]);
    expect(await take(calls)).toEqual({ allowed: false, index: 0, retryAfterSeconds: 900 });
    expect(await waitFor({ ...calls, amount: 4n })).toBe(3_600);
  });

  test('lets a refused call pass once the wait is over', async () => {
    const calls = bucket({ limit: 2n, windowSeconds: 2, burst: 2n });
    await take({ ...calls, amount: 2n });
    expect(await waitFor(calls)).toBe(1);
    await subject.pass(1);
    expect(await passes(calls)).toBe(true);
  });

  test('takes nothing at all when one of several is refused', async () => {
    const [wide, narrow] = [bucket({ burst: 3n }), bucket({ burst: 1n })];
    await take(narrow);
    expect(await take(wide, narrow, wide)).toMatchObject({ allowed: false, index: 1 });
    expect(await take(narrow, wide)).toMatchObject({ allowed: false, index: 0 });
    expect([await passes({ ...wide, amount: 3n }), await passes(wide)]).toEqual([true, false]);
  });

  test('names the first that refuses, and the wait until none does', async () => {
    const [soon, late] = [bucket({ windowSeconds: 1_800 }), bucket({ rolling: true })];
    await take({ ...soon, amount: 4n }, { ...late, amount: 4n });
    expect(await take(bucket(), soon, late)).toEqual({ allowed: false, index: 1, retryAfterSeconds: 3_600 });
    expect(await take(late, soon)).toEqual({ allowed: false, index: 0, retryAfterSeconds: 3_600 });
  });

  test('counts two takes of one key in one call after one another', async () => {
    const calls = bucket({ amount: 2n });
    expect(await take(calls, calls, calls)).toMatchObject({ allowed: false, index: 2 });
    expect([await passes(calls, calls), await passes(calls)]).toEqual([true, false]);
  });

  test('counts each key by itself', async () => {
    const calls = bucket({ amount: 4n });
    await take(calls);
    expect(await passes({ ...calls, key: calls.key.replace('org_1', 'org_2') })).toBe(true);
    expect(await passes({ ...calls, key: `${calls.key}.more` })).toBe(true);
    expect(await passes(calls)).toBe(false);
  });

  test('allows a call that takes nothing', async () => {
    expect(await take()).toEqual({ allowed: true });
  });

  test('refuses what is more than the burst, with the wait for a full bucket', async () => {
    const calls = bucket();
    expect(await waitFor({ ...calls, amount: 5n })).toBe(1);
    await take({ ...calls, amount: 2n });
    expect(await waitFor({ ...calls, amount: 5n })).toBe(1_800);
    expect(await waitFor(bucket({ limit: 0n, burst: 0n }))).toBe(3_600);
    expect(await waitFor(bucket({ limit: 0n, rolling: true }))).toBe(3_600);
  });

  test('lets pass again what was given back, and no more than that', async () => {
    for (const calls of [bucket({ amount: 3n }), bucket({ amount: 3n, rolling: true })]) {
      const taken = [calls];
      await subject.limiter.take(taken, subject.nowMs());
      expect(await passes(calls)).toBe(false);
      subject.limiter.giveBack(taken, subject.nowMs());
      expect([await passes(calls), await passes(calls)]).toEqual([true, false]);
    }
    const untouched = bucket();
    subject.limiter.giveBack([untouched], subject.nowMs());
    expect([await passes({ ...untouched, amount: 4n }), await passes(untouched)]).toEqual([true, false]);
  });

  test('rolling: lets the limit pass in a window, whatever the burst, and again once the window is over', async () => {
    const calls = bucket({ limit: 3n, windowSeconds: 2, burst: 1n, rolling: true });
    expect([await passes({ ...calls, amount: 2n }), await passes(calls)]).toEqual([true, true]);
    // A bucket would have let one pass after a third of the time.
    await subject.pass(1);
    expect(await waitFor(calls)).toBe(1);
    await subject.pass(1);
    expect(await passes({ ...calls, amount: 3n })).toBe(true);
    expect(await waitFor({ ...calls, amount: 4n })).toBe(2);
  });

  test('follows a limit that is changed', async () => {
    const calls = bucket({ limit: 10n, burst: 10n });
    await take({ ...calls, amount: 4n });
    const tighter = { ...calls, limit: 5n, burst: 5n };
    expect([await passes({ ...tighter, amount: 5n }), await passes(tighter)]).toEqual([true, false]);
    expect(await waitFor({ ...tighter, limit: 3_600n, burst: 10n })).toBe(1);
  });

  test.each([
    // Dollars in nanodollars, as large as they come.
    { limit: 2n ** 63n - 1n, windowSeconds: 60 },
    { limit: 1_000_000_007n, windowSeconds: 86_400 },
    { limit: 2n ** 52n, windowSeconds: 31 * 86_400 },
    { limit: 2n ** 53n - 1n, windowSeconds: 365 * 86_400 },
  ])('is exact for $limit in $windowSeconds s', async ({ limit, windowSeconds }) => {
    const calls = bucket({ limit, windowSeconds, burst: limit });
    expect(await passes({ ...calls, amount: limit })).toBe(true);
    expect(await waitFor({ ...calls, amount: limit })).toBe(windowSeconds);
    expect(await waitFor({ ...calls, amount: limit + 1n })).toBe(windowSeconds);
  });
});
