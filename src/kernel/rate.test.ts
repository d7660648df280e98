import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seedsOf } from '../../test/support/seeds.ts';
import { bucketAt, type Rate, type RateMeter, rollingParts, rollingWindow, tokenBucket } from './rate.ts';

const { forAll } = seedsOf('rate');
const runs = { numRuns: 500 };

interface Call {
  readonly atMs: number;
  readonly amount: bigint;
}

const rates = fc.record({
  limit: fc.bigInt({ min: 1n, max: 50n }),
  windowSeconds: fc.integer({ min: 1, max: 7 }),
  burst: fc.bigInt({ min: 1n, max: 50n }),
  shares: fc.constant(1),
});

/** Calls whose times never run backwards; often several calls have the same time. */
const calls = fc
  .array(
    fc.tuple(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 900 })), fc.bigInt({ min: 1n, max: 20n })),
    {
      minLength: 1,
      maxLength: 60,
    },
  )
  .map((steps) => {
    let atMs = 1_700_000_000_000;
    return steps.map(([laterMs, amount]): Call => {
      atMs += laterMs;
      return { atMs, amount };
    });
  });

function sum(all: readonly Call[]): bigint {
  return all.reduce((total, { amount }) => total + amount, 0n);
}

/** Makes the calls; returns for each the amount allowed before it and its result. */
function* play<State>(meter: RateMeter<State>, rate: Rate, made: readonly Call[]) {
  let state: State | undefined;
  const passed: Call[] = [];
  for (const call of made) {
    const taking = meter.take(rate, state, call.amount, call.atMs);
    yield { call, taking, before: state, passed: [...passed] };
    if (taking.allowed) {
      state = taking.state;
      passed.push(call);
    }
  }
}

/** Expects that the call is allowed after the wait, and denied a second earlier. */
function expectHonestWait<State>(
  meter: RateMeter<State>,
  rate: Rate,
  state: State | undefined,
  { atMs, amount }: Call,
  waitSeconds: number,
): void {
  expect(Number.isInteger(waitSeconds)).toBe(true);
  expect(waitSeconds).toBeGreaterThanOrEqual(1);
  const passes = (seconds: number) => meter.take(rate, state, amount, atMs + seconds * 1_000).allowed;
  expect(passes(waitSeconds)).toBe(true);
  expect(waitSeconds === 1 || !passes(waitSeconds - 1)).toBe(true);
}

describe('a token bucket', () => {
  /**
   * Definition of a rate with a burst, without a bucket: since any earlier call, at most the burst plus the refill
   * was allowed.
   */
  function mayPass({ limit, windowSeconds, burst }: Rate, passed: readonly Call[], { atMs, amount }: Call) {
    const windowMs = BigInt(windowSeconds * 1_000);
    return [...passed, { atMs, amount: 0n }].every(
      (since, index) =>
        (sum(passed.slice(index)) + amount) * windowMs <=
        burst * windowMs + limit * BigInt(atMs - since.atMs),
    );
  }

  test('allows exactly its rate and burst, to the millisecond', () => {
    forAll(
      fc.property(rates, calls, (rate, made) => {
        for (const { call, taking, passed } of play(tokenBucket, rate, made)) {
          expect(taking.allowed).toBe(mayPass(rate, passed, call));
        }
      }),
      runs,
    );
  });

  test('returns the shortest wait in whole seconds after which the call is allowed', () => {
    forAll(
      fc.property(rates, calls, (rate, made) => {
        for (const { call, taking, before } of play(tokenBucket, rate, made)) {
          if (!taking.allowed && !taking.never) {
            expectHonestWait(tokenBucket, rate, before, call, taking.retryAfterSeconds);
          }
        }
      }),
      runs,
    );
  });

  test('divided into shares, allows no more in total than undivided', () => {
    forAll(
      fc.property(rates, calls, fc.integer({ min: 2, max: 5 }), (rate, made, shares) => {
        // The burst fits into each share, so that nothing is borrowed.
        const whole = { ...rate, burst: 20n * BigInt(shares) + rate.burst };
        const states = new Map<number, ReturnType<typeof bucketAt>>();
        const passed: Call[] = [];
        for (const [index, call] of made.entries()) {
          const mine = index % shares;
          const taking = tokenBucket.take({ ...whole, shares }, states.get(mine), call.amount, call.atMs);
          if (taking.allowed) {
            states.set(mine, taking.state);
            expect(mayPass(whole, passed, call)).toBe(true);
            passed.push(call);
          }
        }
      }),
      runs,
    );
  });

  test('reports an amount that can never be allowed, with the wait for a full bucket', () => {
    const rate = { limit: 10n, windowSeconds: 10, burst: 4n, shares: 1 };
    const emptied = tokenBucket.take(rate, undefined, 4n, 0);
    const state = emptied.allowed ? emptied.state : undefined;
    expect(tokenBucket.take(rate, state, 5n, 0)).toEqual({
      allowed: false,
      never: true,
      retryAfterSeconds: 4,
      available: 0n,
    });
    expect(tokenBucket.take(rate, undefined, 5n, 0)).toEqual({
      allowed: false,
      never: true,
      retryAfterSeconds: 1,
      available: 4n,
    });
    const shut = { ...rate, limit: 0n, burst: 0n };
    expect(tokenBucket.take(shut, undefined, 1n, 0)).toEqual({
      allowed: false,
      never: true,
      retryAfterSeconds: 10,
      available: 0n,
    });
  });

  test('lets a share borrow up to the whole, and repay it from later refills', () => {
    const rate = { limit: 6n, windowSeconds: 60, burst: 6n, shares: 3 };
    const taking = tokenBucket.take(rate, undefined, 6n, 0);
    // Four were borrowed: at a share of two per minute they are repaid in two minutes, and one more unit takes half
    // a minute. The wait ends with the window, because another share may allow the unit by then.
    expect(tokenBucket.take(rate, taking.allowed ? taking.state : undefined, 1n, 149_000).allowed).toBe(
      false,
    );
    expect(tokenBucket.take(rate, taking.allowed ? taking.state : undefined, 1n, 150_000).allowed).toBe(true);
    expect(tokenBucket.take(rate, taking.allowed ? taking.state : undefined, 1n, 0)).toEqual({
      allowed: false,
      never: false,
      retryAfterSeconds: 60,
      available: 0n,
    });
  });

  test('does not refill while the clock is behind', () => {
    const rate = { limit: 60n, windowSeconds: 60, burst: 2n, shares: 1 };
    let state = bucketAt(rate, undefined, 100_000);
    const take = (nowMs: number) => {
      const taking = tokenBucket.take(rate, state, 1n, nowMs);
      state = taking.allowed ? taking.state : state;
      return taking.allowed ? 'passed' : taking.retryAfterSeconds;
    };
    expect([take(100_000), take(90_000), take(95_000), take(90_000), take(100_000)]).toEqual([
      'passed',
      'passed',
      6,
      11,
      1,
    ]);
    expect(take(101_000)).toBe('passed');
  });

  test('keeps its level when its rate, window or number of shares changes', () => {
    const rate = { limit: 12n, windowSeconds: 60, burst: 12n, shares: 1 };
    const taking = tokenBucket.take(rate, undefined, 9n, 0);
    const state = taking.allowed ? taking.state : undefined;
    const units = (changed: Partial<Rate>) => {
      const { level, stepsPerUnit } = bucketAt({ ...rate, ...changed }, state, 0);
      return level / stepsPerUnit;
    };
    expect(units({})).toBe(3n);
    expect(units({ windowSeconds: 7 })).toBe(3n);
    expect(units({ shares: 3 })).toBe(3n);
    expect(units({ shares: 6 })).toBe(2n);
    expect(units({ burst: 1n })).toBe(1n);
    expect(units({ burst: 100n, limit: 100n })).toBe(3n);
  });

  test('a token bucket has its previous level after an amount is given back', () => {
    forAll(
      fc.property(rates, calls, (rate, made) => {
        for (const { call, taking, before } of play(tokenBucket, rate, made)) {
          if (taking.allowed) {
            const undone = tokenBucket.giveBack(rate, taking.state, call.amount, call.atMs);
            expect(undone).toEqual(bucketAt(rate, before, call.atMs));
          }
        }
      }),
      runs,
    );
  });
});

describe('a rolling window', () => {
  const within = (all: readonly Call[], afterMs: number) => sum(all.filter(({ atMs }) => atMs > afterMs));

  test('never exceeds its limit in any window, and only counts what passed in little more than one window', () => {
    forAll(
      fc.property(rates, calls, (rate, made) => {
        const windowMs = rate.windowSeconds * 1_000;
        for (const { call, taking, passed } of play(rollingWindow, rate, made)) {
          if (taking.allowed) {
            expect(within(passed, call.atMs - windowMs) + call.amount).toBeLessThanOrEqual(rate.limit);
          } else {
            const lateMs = windowMs / rollingParts;
            expect(within(passed, call.atMs - windowMs - lateMs) + call.amount).toBeGreaterThan(rate.limit);
          }
        }
      }),
      runs,
    );
  });

  test('returns the shortest wait in whole seconds after which the call is allowed', () => {
    forAll(
      fc.property(rates, calls, (rate, made) => {
        for (const { call, taking, before } of play(rollingWindow, rate, made)) {
          if (!taking.allowed && !taking.never) {
            expectHonestWait(rollingWindow, rate, before, call, taking.retryAfterSeconds);
          }
        }
      }),
      runs,
    );
  });

  test('stores a bounded number of entries for any number of calls', () => {
    const rate = { limit: 1_000_000n, windowSeconds: 60, burst: 0n, shares: 1 };
    let most = 0;
    const made = Array.from({ length: 20_000 }, (_, index) => ({ atMs: index * 7, amount: 1n }));
    for (const { taking } of play(rollingWindow, rate, made)) {
      most = Math.max(most, taking.allowed ? taking.state.length : Number.POSITIVE_INFINITY);
    }
    expect(most).toBeGreaterThan(rollingParts / 2);
    expect(most).toBeLessThanOrEqual(rollingParts + 2);
  });

  test('a rolling window is exact for simultaneous calls: nothing until the window has passed, then everything', () => {
    const rate = { limit: 5n, windowSeconds: 60, burst: 0n, shares: 1 };
    const taking = rollingWindow.take(rate, undefined, 5n, 1_234);
    const state = taking.allowed ? taking.state : [];
    expect(rollingWindow.take(rate, state, 1n, 1_234)).toMatchObject({ never: false, retryAfterSeconds: 60 });
    expect(rollingWindow.take(rate, state, 1n, 61_233)).toMatchObject({ never: false, retryAfterSeconds: 1 });
    expect(rollingWindow.take(rate, state, 5n, 61_234).allowed).toBe(true);
    expect(rollingWindow.take(rate, state, 6n, 31_234)).toMatchObject({ never: true, retryAfterSeconds: 30 });
    expect(rollingWindow.take({ ...rate, limit: 0n }, undefined, 1n, 0)).toMatchObject({
      retryAfterSeconds: 60,
    });
  });

  test('divided into shares, allows each its part, and at least one', () => {
    const passes = (limit: bigint, shares: number, amount: bigint, before: bigint) => {
      const rate = { limit, windowSeconds: 60, burst: 0n, shares };
      const taking = rollingWindow.take(rate, undefined, before, 0);
      return rollingWindow.take(rate, taking.allowed ? taking.state : [], amount, 0).allowed;
    };
    expect([passes(7n, 2, 1n, 2n), passes(7n, 2, 1n, 3n)]).toEqual([true, false]);
    expect([passes(2n, 5, 1n, 0n), passes(2n, 5, 1n, 1n)]).toEqual([true, false]);
    expect([passes(7n, 2, 7n, 0n), passes(7n, 2, 7n, 1n)]).toEqual([true, false]);
  });

  test('keeps its entries while the clock is behind', () => {
    const rate = { limit: 1n, windowSeconds: 60, burst: 0n, shares: 1 };
    const taking = rollingWindow.take(rate, undefined, 1n, 100_000);
    const state = taking.allowed ? taking.state : [];
    expect(rollingWindow.take(rate, state, 1n, 40_000)).toMatchObject({ retryAfterSeconds: 60 });
    expect(rollingWindow.take(rate, state, 1n, 160_000).allowed).toBe(true);
  });

  test('allows again what was given back', () => {
    const rate = { limit: 5n, windowSeconds: 60, burst: 0n, shares: 1 };
    const made = [0, 10_000, 20_000].map((atMs) => ({ atMs, amount: 1n }));
    const [last] = [...play(rollingWindow, rate, made)].slice(-1);
    const state = last?.taking.allowed ? last.taking.state : [];
    const left = rollingWindow.giveBack(rate, state, 2n, 20_000);
    expect(left.map(({ lastAtMs }) => lastAtMs)).toEqual([0]);
    expect(rollingWindow.giveBack(rate, left, 9n, 20_000)).toEqual([]);
  });
});

test.each([
  { name: 'a token bucket', meter: tokenBucket as RateMeter<unknown> },
  { name: 'a rolling window', meter: rollingWindow as RateMeter<unknown> },
])('$name recovers within a window after a clock that was ahead is set back', ({ meter }) => {
  const rate = { limit: 3n, windowSeconds: 60, burst: 3n, shares: 1 };
  const dayMs = 86_400_000;
  const taking = meter.take(rate, undefined, 3n, dayMs);
  const state = meter.notAhead(taking.allowed ? taking.state : undefined, 1_000);
  expect(meter.take(rate, state, 3n, 1_000)).toMatchObject({ allowed: false, retryAfterSeconds: 60 });
  expect(meter.take(rate, meter.notAhead(state, 61_000), 3n, 61_000).allowed).toBe(true);
  // A clock that is behind by little is not a clock that was wrong.
  expect(meter.notAhead(state, 0)).toBe(state);
});

test('a meter can be deleted exactly when it equals an untouched one', () => {
  forAll(
    fc.property(rates, calls, (rate, made) => {
      const whole = { ...rate, limit: rate.limit + 20n, burst: rate.burst + 20n };
      for (const { call, taking } of play(tokenBucket, whole, made)) {
        const untouchedAtMs = taking.allowed ? tokenBucket.untouchedAtMs(whole, taking.state) : call.atMs;
        const passes = (atMs: number) =>
          !taking.allowed || tokenBucket.take(whole, taking.state, whole.burst, atMs).allowed;
        expect(passes(untouchedAtMs)).toBe(true);
        expect(!taking.allowed || !passes(untouchedAtMs - 1)).toBe(true);
      }
      for (const { taking } of play(rollingWindow, whole, made)) {
        if (taking.allowed) {
          const untouchedAtMs = rollingWindow.untouchedAtMs(whole, taking.state);
          const passes = (atMs: number) => rollingWindow.take(whole, taking.state, whole.limit, atMs).allowed;
          expect([passes(untouchedAtMs), passes(untouchedAtMs - 1)]).toEqual([true, false]);
        }
      }
    }),
    runs,
  );
});
