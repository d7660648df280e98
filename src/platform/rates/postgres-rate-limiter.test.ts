/** Tests that are specific to counting in the database: many concurrent calls, stored meters, outages. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makePlace, openPlace, type Place } from '../../../test/support/test-database.ts';
import { type Database, DatabaseUnavailable } from '../db/database.ts';
import { createLog } from '../log.ts';
import { createPostgresRateLimiter, untouchedMetersJob } from './postgres-rate-limiter.ts';
import type { RateDebit, RateLimiter } from './rate-limiter.ts';

let place: Place;
let db: Database;
const nowMs = Date.parse('2026-11-15T12:00:00Z');
const fixedClock = (ms = nowMs) => ({ now: () => new Date(ms), agreed: () => new Date(ms) });

beforeAll(async () => {
  place = await makePlace({ migrated: true });
  db = await openPlace(place);
});
afterAll(async () => {
  await db.close();
  await place.remove();
});

function newLimiter(database = db, log = createLog('silent')): RateLimiter {
  return createPostgresRateLimiter({ db: database, clock: fixedClock(), log, share: () => 2 });
}

const hourly = (key: string, more: Partial<RateDebit> = {}): RateDebit => ({
  key: `org_1:${key}`,
  limit: 50n,
  windowSeconds: 3_600,
  burst: 50n,
  amount: 1n,
  ...more,
});

test('processes together allow exactly the limit, however many calls are concurrent', async () => {
  const [one, two, three] = [newLimiter(), newLimiter(), newLimiter()];
  const limiters = [one, two, three];
  const debits = [hourly('narrow'), hourly('wide', { limit: 500n, burst: 500n })];
  const verdicts = await Promise.all(
    Array.from({ length: 900 }, (_, call) => limiters[call % 3]?.take(debits, nowMs)),
  );
  expect(verdicts.filter((verdict) => verdict?.allowed)).toHaveLength(50);
  // Denied calls took nothing.
  const rest = [hourly('wide', { limit: 500n, burst: 500n, amount: 450n })];
  expect(await one.take(rest, nowMs)).toEqual({ allowed: true });
  expect(await two.take([hourly('wide')], nowMs)).toMatchObject({ allowed: false });
  await Promise.all(limiters.map((limiter) => limiter.close()));
});

test('stores no value of a request, and deletes a meter once it has recovered', async () => {
  const limiter = newLimiter();
  const stored = () => db.query<{ key: string }>(`SELECT key FROM rate_meters WHERE org_id = 'org_2'`);
  await limiter.take([hourly('', { key: 'org_2:customer@example.com' })], nowMs);
  expect((await stored()).map(({ key }) => key)).toEqual([expect.stringMatching(/^[\w-]{43}$/)]);
  const deleteAll = async (ms: number) => {
    while (await untouchedMetersJob(db, fixedClock(ms)).runOnce()) {
      // Continue with the next batch.
    }
  };
  // One of fifty per hour is refilled within 72 seconds.
  await deleteAll(nowMs + 71_999);
  expect(await stored()).toHaveLength(1);
  await deleteAll(nowMs + 72_000);
  expect(await stored()).toEqual([]);
  expect(await limiter.take([hourly('', { key: 'org_2:customer@example.com', amount: 50n })], nowMs)).toEqual(
    {
      allowed: true,
    },
  );
});

test('while the database is unavailable no call fails, each process allows its share, and one warning is logged', async () => {
  let isAway = true;
  const away: Database = Object.assign(Object.create(db), {
    transaction: (...args: Parameters<Database['transaction']>) =>
      isAway ? Promise.reject(new DatabaseUnavailable('away')) : db.transaction(...args),
  });
  const levels: string[] = [];
  const limiter = newLimiter(
    away,
    createLog('info', { write: (line: string) => void levels.push(JSON.parse(line).level) }),
  );
  const passing = async () => {
    const verdicts = await Promise.all(
      Array.from({ length: 100 }, () => limiter.take([hourly('away')], nowMs)),
    );
    return verdicts.filter(({ allowed }) => allowed).length;
  };
  expect(await passing()).toBe(25);
  expect(await passing()).toBe(0);
  expect(levels).toEqual(['warn']);
  isAway = false;
  await expect.poll(passing).toBe(50);
  expect(levels).toEqual(['warn', 'info']);
  await limiter.close();
});

test('debits that were taken in memory are not given back to the database', async () => {
  let isAway = true;
  const away: Database = Object.assign(Object.create(db), {
    transaction: (...args: Parameters<Database['transaction']>) =>
      isAway ? Promise.reject(new DatabaseUnavailable('away')) : db.transaction(...args),
  });
  const limiter = newLimiter(away);
  const here = [hourly('given', { amount: 25n })];
  expect(await limiter.take(here, nowMs)).toEqual({ allowed: true });
  isAway = false;
  await newLimiter().take([hourly('given', { amount: 50n })], nowMs);
  limiter.giveBack(here, nowMs);
  await limiter.close();
  expect(await newLimiter().take([hourly('given')], nowMs)).toMatchObject({ allowed: false });
});
