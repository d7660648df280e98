import { expect, test } from 'vitest';
import { createInMemoryRateLimiter } from './in-memory-rate-limiter.ts';
import type { RateDebit } from './rate-limiter.ts';

const hourly = (key: string, more: Partial<RateDebit> = {}): RateDebit => ({
  key: `org_1:${key}`,
  limit: 12n,
  windowSeconds: 3_600,
  burst: 12n,
  amount: 1n,
  ...more,
});

/** Returns how many of 100 simultaneous calls are allowed. */
function passing(limiter: ReturnType<typeof createInMemoryRateLimiter>, take: RateDebit, nowMs = 0): number {
  return Array.from({ length: 100 }, () => limiter.take([take], nowMs)).filter(({ allowed }) => allowed)
    .length;
}

test('each process allows its share, also after the number of processes changes', () => {
  let processes = 3;
  const limiter = createInMemoryRateLimiter({ share: () => processes });
  expect(passing(limiter, hourly('a'))).toBe(4);
  expect(passing(limiter, hourly('b', { rolling: true }))).toBe(4);
  // A third of twelve per hour is one per 15 minutes.
  expect(limiter.take([hourly('a')], 0)).toMatchObject({ allowed: false, retryAfterSeconds: 900 });
  processes = 1;
  expect(limiter.take([hourly('a')], 0)).toMatchObject({ allowed: false, retryAfterSeconds: 300 });
  expect(passing(limiter, hourly('b', { rolling: true }))).toBe(8);
});

test('returns verdicts as values, not as promises', () => {
  const limiter = createInMemoryRateLimiter({ share: () => 1 });
  expect(limiter.take([hourly('a', { amount: 13n })], 0)).toMatchObject({ allowed: false });
});

test('drops meters that have fully recovered as new ones are added', () => {
  const limiter = createInMemoryRateLimiter({ share: () => 1 });
  for (let minute = 0; minute < 1_000; minute += 1) {
    // A bucket recovers one unit within five minutes, a rolling window within an hour.
    limiter.take([hourly(`key ${minute}`), hourly(`window ${minute}`, { rolling: true })], minute * 60_000);
  }
  expect(limiter.size).toBeLessThan(5 + 60 + 2 * 8);
});

test('never holds more meters than allowed, and keeps those that were used most', () => {
  const limiter = createInMemoryRateLimiter({ share: () => 1, metersMax: 50 });
  const busy = hourly('busy', { amount: 12n });
  limiter.take([busy], 0);
  for (let call = 0; call < 5_000; call += 1) {
    limiter.take([hourly(`key ${call}`)], 0);
    expect(limiter.size).toBeLessThanOrEqual(50);
  }
  expect(limiter.take([busy], 0)).toMatchObject({ allowed: false });
});
