/** The guarantees of all limiters. Redis uses its own clock, so tests wait in real time; waits are a few seconds at most. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { endAllRedis, findRedis, type RedisServer, startRedis } from '../../../test/support/redis.ts';
import { makePlace, openPlace, type Place } from '../../../test/support/test-database.ts';
import type { Database } from '../db/database.ts';
import { createLog } from '../log.ts';
import { createInMemoryRateLimiter } from './in-memory-rate-limiter.ts';
import { createPostgresRateLimiter } from './postgres-rate-limiter.ts';
import type { RateDebit, RateLimiter } from './rate-limiter.ts';
import { createRedisRateLimiter } from './redis-rate-limiter.ts';

interface Subject {
  readonly limiter: RateLimiter;
  /** The limiter of a second process, if processes share the rates. */
  readonly other?: RateLimiter;
  nowMs(): number;
  pass(seconds: number): Promise<void>;
}

let redis: RedisServer | undefined;
let place: Place;
let db: Database;

async function inMemory(): Promise<Subject> {
  let nowMs = Date.parse('2026-11-15T12:00:00Z');
  return {
    limiter: createInMemoryRateLimiter({ share: () => 1 }),
    nowMs: () => nowMs,
    async pass(seconds) {
      nowMs += seconds * 1_000;
    },
  };
}

async function inDatabase(): Promise<Subject> {
  let nowMs = Date.parse('2026-11-15T12:00:00Z');
  const now = () => new Date(nowMs);
  const open = () =>
    createPostgresRateLimiter({
      db,
      clock: { now, agreed: now },
      log: createLog('silent'),
      share: () => 2,
    });
  return {
    limiter: open(),
    other: open(),
    nowMs: () => nowMs,
    async pass(seconds) {
      nowMs += seconds * 1_000;
    },
  };
}

async function openRedisLimiter(): Promise<RateLimiter> {
  const limiter = createRedisRateLimiter({
    url: redis?.url ?? '',
    log: createLog('silent'),
    withoutRedis: createInMemoryRateLimiter({ share: () => 1 }),
    // Long, because the machine may be busy and the tests would not notice a fallback to memory.
    answerWithinMs: 10_000,
  });
  await eventually(() => expect(limiter.connected).toBe(true));
  return limiter;
}

async function inRedis(): Promise<Subject> {
  return {
    limiter: await openRedisLimiter(),
    other: await openRedisLimiter(),
    nowMs: () => Date.now(),
    async pass(seconds) {
      await pause(seconds * 1_000);
    },
  };
}

const subjects = [
  { name: 'memory', open: inMemory, setsClock: true, isShared: false },
  { name: 'the database', open: inDatabase, setsClock: true, isShared: true },
  ...(findRedis() === undefined ? [] : [{ name: 'redis', open: inRedis, setsClock: false, isShared: true }]),
];

beforeAll(async () => {
  place = await makePlace({ migrated: true });
  db = await openPlace(place);
  redis = findRedis() === undefined ? undefined : await startRedis();
});
afterAll(async () => {
  await endAllRedis();
  await db.close();
  await place.remove();
});

/** Seconds to wait for Redis: fewer than the most if the machine is busy. */
const upTo = (most: number) => Array.from({ length: most }, (_, index) => index + 1);

let keys = 0;
/** Returns a bucket that is too slow to refill while a test runs, unless the test overrides its fields. */
function bucket(more: Partial<RateDebit> = {}): RateDebit {
  keys += 1;
  return { key: `org_1:${keys}`, limit: 4n, windowSeconds: 3_600, burst: 4n, amount: 1n, ...more };
}

describe.each(subjects)('the rate limiter in $name', ({ open, setsClock, isShared }) => {
  let subject: Subject;
  beforeAll(async () => {
    subject = await open();
  });
  afterAll(async () => {
    await subject.limiter.close();
    await subject.other?.close();
  });
  const take = async (...debits: RateDebit[]) => subject.limiter.take(debits, subject.nowMs());
  const passes = async (...debits: RateDebit[]) => (await take(...debits)).allowed;
  const waitFor = async (...debits: RateDebit[]) => {
    const verdict = await take(...debits);
    return verdict.allowed ? undefined : verdict.retryAfterSeconds;
  };

  test('allows the burst and denies the next call, with the time to wait', async () => {
    const calls = bucket();
    expect([await passes(calls), await passes({ ...calls, amount: 3n })]).toEqual([true, true]);
    expect(await take(calls)).toMatchObject({ allowed: false, index: 0, retryAfterSeconds: 900 });
    expect(await waitFor({ ...calls, amount: 4n })).toBe(3_600);
  });

  test('returns what is left of debits that report it', async () => {
    const [one, other] = [bucket({ reports: true }), bucket({ rolling: true, limit: 3n, reports: true })];
    expect(await take(one, other)).toEqual({ allowed: true, remaining: [3n, 2n] });
    expect(await take({ ...one, amount: 2n })).toEqual({ allowed: true, remaining: [1n] });
    expect(await take(other)).toEqual({ allowed: true, remaining: [1n] });
    expect(await take({ ...one, amount: 2n }, other)).toMatchObject({ allowed: false, index: 0 });
    expect(await take(other)).toEqual({ allowed: true, remaining: [0n] });
    expect(await take(bucket())).toEqual({ allowed: true });
  });

  test('allows a denied call after the time to wait', async () => {
    const calls = bucket({ limit: 2n, windowSeconds: 8, burst: 2n });
    await take({ ...calls, amount: 2n });
    const seconds = await waitFor(calls);
    expect(upTo(4)).toContain(seconds);
    await subject.pass(seconds ?? 0);
    expect(await passes(calls)).toBe(true);
  });

  test('takes nothing if one of several debits is denied', async () => {
    const [wide, narrow] = [bucket({ burst: 3n }), bucket({ burst: 1n })];
    await take(narrow);
    expect(await take(wide, narrow, wide)).toMatchObject({ allowed: false, index: 1 });
    expect(await take(narrow, wide)).toMatchObject({ allowed: false, index: 0 });
    expect([await passes({ ...wide, amount: 3n }), await passes(wide)]).toEqual([true, false]);
  });

  test('returns the index of the first denied debit, and the time until all are allowed', async () => {
    const [soon, late] = [bucket({ windowSeconds: 1_800 }), bucket({ rolling: true })];
    await take({ ...soon, amount: 4n }, { ...late, amount: 4n });
    const denied = { allowed: false, retryAfterSeconds: 3_600 };
    expect(await take(bucket(), soon, late)).toMatchObject({ ...denied, index: 1 });
    expect(await take(late, soon)).toMatchObject({ ...denied, index: 0 });
  });

  test('returns the amount that each denied debit could take', async () => {
    const [wide, narrow, late] = [bucket({ burst: 9n, amount: 5n }), bucket(), bucket({ rolling: true })];
    await take({ ...narrow, amount: 3n }, { ...late, amount: 2n });
    expect(await take({ ...narrow, amount: 2n }, wide, { ...late, amount: 3n })).toMatchObject({
      available: [
        { index: 0, amount: 1n },
        { index: 2, amount: 2n },
      ],
    });
    expect(await passes(narrow, { ...wide, amount: 9n }, { ...late, amount: 2n })).toBe(true);
  });

  test('gives back a part of each debit', async () => {
    const [one, other] = [bucket({ amount: 4n }), bucket({ amount: 4n })];
    const debits = [one, other];
    await subject.limiter.take(debits, subject.nowMs());
    subject.limiter.giveBack(debits, subject.nowMs(), [3n, 0n]);
    expect([await passes({ ...one, amount: 3n }), await passes({ ...one, amount: 1n })]).toEqual([
      true,
      false,
    ]);
    expect(await passes({ ...other, amount: 1n })).toBe(false);
  });

  test('counts several debits of one key in one call', async () => {
    const calls = bucket({ amount: 2n });
    expect(await take(calls, calls, calls)).toMatchObject({ allowed: false, index: 2 });
    expect([await passes(calls, calls), await passes(calls)]).toEqual([true, false]);
  });

  test('counts each key separately', async () => {
    const calls = bucket({ amount: 4n });
    await take(calls);
    expect(await passes({ ...calls, key: calls.key.replace('org_1', 'org_2') })).toBe(true);
    expect(await passes({ ...calls, key: `${calls.key}.more` })).toBe(true);
    expect(await passes(calls)).toBe(false);
  });

  test('allows a call without debits', async () => {
    expect(await take()).toEqual({ allowed: true });
  });

  test('denies an amount above the burst, with the time until the bucket is full', async () => {
    const calls = bucket();
    expect(await waitFor({ ...calls, amount: 5n })).toBe(1);
    await take({ ...calls, amount: 2n });
    expect(await waitFor({ ...calls, amount: 5n })).toBe(1_800);
    expect(await waitFor(bucket({ limit: 0n, burst: 0n }))).toBe(3_600);
    expect(await waitFor(bucket({ limit: 0n, rolling: true }))).toBe(3_600);
  });

  test('allows again what was given back, and no more', async () => {
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

  test('rolling: allows the limit per window whatever the burst, and again after the window', async () => {
    const calls = bucket({ limit: 3n, windowSeconds: 6, burst: 1n, rolling: true });
    expect([await passes({ ...calls, amount: 2n }), await passes(calls)]).toEqual([true, true]);
    // A token bucket would allow one call after a third of the window.
    await subject.pass(2);
    const seconds = await waitFor({ ...calls, amount: 3n });
    expect(upTo(4)).toContain(seconds);
    await subject.pass(seconds ?? 0);
    expect(await passes({ ...calls, amount: 3n })).toBe(true);
    expect(upTo(6)).toContain(await waitFor({ ...calls, amount: 4n }));
  });

  test('applies a changed limit at once', async () => {
    const calls = bucket({ limit: 10n, burst: 10n });
    await take({ ...calls, amount: 4n });
    const tighter = { ...calls, limit: 5n, burst: 5n };
    expect([await passes({ ...tighter, amount: 5n }), await passes(tighter)]).toEqual([true, false]);
    expect(await waitFor({ ...tighter, limit: 3_600n, burst: 10n })).toBe(1);
  });

  test.runIf(isShared).each([
    { limit: 5n, rolling: false },
    { limit: 5n, rolling: true },
    { limit: 1n, rolling: false },
    { limit: 1n, rolling: true },
  ])(
    'two processes together allow exactly the limit of $limit, and no wait exceeds the window (rolling: $rolling)',
    async ({ limit, rolling }) => {
      const calls = bucket({ limit, burst: limit, rolling });
      const limiters = [subject.limiter, subject.other as RateLimiter];
      const verdicts = await Promise.all(
        Array.from({ length: 20 }, (_, call) =>
          (limiters[call % 2] as RateLimiter).take([calls], subject.nowMs()),
        ),
      );
      const denials = verdicts.flatMap((verdict) => (verdict.allowed ? [] : [verdict.retryAfterSeconds]));
      expect(denials).toHaveLength(20 - Number(limit));
      expect(Math.max(...denials)).toBeLessThanOrEqual(calls.windowSeconds);
    },
  );

  test.runIf(isShared)('one of two processes can use the whole limit, also at once', async () => {
    for (const rolling of [false, true]) {
      const calls = bucket({ limit: 5n, burst: 5n, amount: 5n, rolling });
      expect((await subject.other?.take([calls], subject.nowMs()))?.allowed).toBe(true);
      expect(await passes({ ...calls, amount: 1n })).toBe(false);
    }
  });

  test.runIf(setsClock)('no wait exceeds the window after a clock that was ahead is set back', async () => {
    for (const rolling of [false, true]) {
      const calls = bucket({ windowSeconds: 60, rolling });
      await subject.pass(86_400);
      await take({ ...calls, amount: 4n });
      await subject.pass(-86_400);
      expect(await waitFor({ ...calls, amount: 4n })).toBe(60);
      await subject.pass(60);
      expect(await passes({ ...calls, amount: 4n })).toBe(true);
    }
  });

  test.each([
    // The largest amount in nanodollars.
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
