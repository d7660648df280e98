import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limitOf, limitsOf, scopeOf, usd } from '../../test/support/ledger-values.ts';
import { seedsOf } from '../../test/support/seeds.ts';
import { admit, applicableCounters, type Counter } from './admission.ts';
import { admitUpTo, type Fit, largestFitting } from './fit.ts';
import type { Amounts, Limit } from './limits.ts';
import { type Rates, worstCaseCost } from './prices.ts';

const { forAll } = seedsOf('kernel-fit');
const lifetime = { kind: 'lifetime' } as const;
const scope = scopeOf({ customer_id: 'c', chain_id: 'h' });

const ratesOf = (outputNanosPerMillion: bigint, fields: Partial<Rates> = {}): Rates => ({
  inputNanosPerMillion: 3_000_000_001n,
  cachedInputNanosPerMillion: null,
  cachedImageInputNanosPerMillion: null,
  cacheWriteNanosPerMillion: null,
  outputNanosPerMillion,
  audioInputNanosPerMillion: null,
  imageInputNanosPerMillion: null,
  audioOutputNanosPerMillion: null,
  imageNanosEach: null,
  requestNanosEach: null,
  ...fields,
});

function fitOf(rates: Rates, inputTokens: bigint, atLeast: bigint, atMost: bigint): Fit {
  return {
    atLeast,
    atMost,
    amountsOf: (outputTokens) => ({
      usd: worstCaseCost(rates, inputTokens, outputTokens),
      tokens: inputTokens + outputTokens,
      requests: 1n,
    }),
  };
}

/** A limit and the amounts that are already settled and held in it. */
interface UsedLimit {
  readonly limit: Limit;
  readonly settled: bigint;
  readonly held: bigint;
}

function stateOf(all: readonly UsedLimit[]) {
  const limits = limitsOf(all.map(({ limit }) => limit));
  const { counters: windows } = applicableCounters(limits, scope, 0, 'run');
  const counters = new Map(
    windows.map(({ key, limit, window }): [string, Counter] => {
      const { settled, held } = all.find((one) => one.limit.id === limit.id) as UsedLimit;
      return [key, { settled, held, growth: 0n, alerted: 0, endMs: window.endMs }];
    }),
  );
  const request = (amounts: Amounts) => ({
    limits,
    charge: { scope, amounts, depth: null, atMs: 0 },
    windows,
    preFlight: true,
  });
  return {
    upTo: (fit: Fit) => admitUpTo(counters, request(fit.amountsOf(fit.atMost)), fit),
    exactly: (amounts: Amounts) => admit(counters, request(amounts)),
  };
}

const nanos = fc.bigInt({ min: 0n, max: 3_000_000_000n });
const count = fc.bigInt({ min: 0n, max: 120_000n });
const usedLimit = (id: string, fields: Partial<Limit> & Pick<Limit, 'kind'>) =>
  fc
    .record({
      capacity: fields.unit === 'tokens' ? count : nanos,
      settled: fields.unit === 'tokens' ? count : nanos,
      held: fc.bigInt({ min: 0n, max: 1_000n }),
      enforcement: fc.constantFrom('block' as const, 'block' as const, 'block' as const, 'alert' as const),
    })
    .map(
      ({ capacity, settled, held, enforcement }): UsedLimit => ({
        limit: limitOf({ id, capacity, enforcement, ...fields }),
        // Half of the limits have room.
        settled: settled > capacity ? 0n : settled,
        held,
      }),
    );
const credits = { kind: 'credits', match: { customer_id: 'c' }, span: lifetime } as const;
const usedLimits = fc
  .tuple(
    usedLimit('cap', { kind: 'spend_cap' }),
    usedLimit('bud', { kind: 'budget' }),
    usedLimit('ppd', { kind: 'prepaid', span: lifetime }),
    usedLimit('rlp', { kind: 'quota', unit: 'tokens', span: { kind: 'fixed', seconds: 60 } }),
    usedLimit('cht', {
      kind: 'chain_tokens',
      unit: 'tokens',
      match: { chain_id: '*' },
      span: lifetime,
    }),
    usedLimit('crp', credits),
    usedLimit('cro', { ...credits, createdAtMs: 1 }),
  )
  .chain((all) => fc.shuffledSubarray([...all]));

describe('a fitted charge', () => {
  test('a fitted charge is admitted, and one unit more is not, unless all units were admitted', () => {
    const seen = { all: 0, part: 0, none: 0 };
    forAll(
      fc.property(
        usedLimits,
        fc.bigInt({ min: 0n, max: 80_000_000_000n }),
        fc.bigInt({ min: 0n, max: 50_000n }),
        fc.bigInt({ min: 0n, max: 5_000n }),
        fc.bigInt({ min: 0n, max: 100_000n }),
        (all, outputRate, inputTokens, atLeast, more) => {
          const fit = fitOf(ratesOf(outputRate), inputTokens, atLeast, atLeast + more);
          const state = stateOf(all);
          const fitted = state.upTo(fit);
          if (fitted.kind === 'denied') {
            seen.none += 1;
            expect(fitted).toEqual(state.exactly(fit.amountsOf(atLeast)));
            return;
          }
          const units = fitted.amounts.tokens - inputTokens;
          expect(units >= fit.atLeast && units <= fit.atMost).toBe(true);
          expect(state.exactly(fitted.amounts)).toEqual({ kind: 'allowed', packs: fitted.packs });
          if (units < fit.atMost) {
            seen.part += 1;
            expect(state.exactly(fit.amountsOf(units + 1n)).kind).toBe('denied');
          } else {
            seen.all += 1;
          }
        },
      ),
      { numRuns: 400 },
    );
    expect(Math.min(seen.all, seen.part, seen.none)).toBeGreaterThan(20);
  });

  test('a fitted charge of 64,000 output tokens under a cap of 1.50 dollars gets those that the cap pays', () => {
    const state = stateOf([
      { limit: limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd('1.5') }), settled: 0n, held: 0n },
    ]);
    const fitted = state.upTo(fitOf(ratesOf(usd('25')), 1_000n, 1n, 64_000n));
    // 1,000 input tokens cost 0.003000001, and each output token 0.000025: 59,879 of them are left.
    expect(fitted).toMatchObject({ kind: 'allowed', amounts: { tokens: 60_879n } });
  });

  test('a fitted charge is not reduced by a limit that only alerts', () => {
    const limit = limitOf({ id: 'bud', kind: 'budget', capacity: 1n, enforcement: 'alert' });
    const fitted = stateOf([{ limit, settled: 5n, held: 0n }]).upTo(fitOf(ratesOf(usd('1')), 0n, 1n, 500n));
    expect(fitted).toMatchObject({ kind: 'allowed', amounts: { tokens: 500n } });
  });

  test('takes no more checks than a binary search', () => {
    let checks = 0;
    const fits = (units: bigint) => {
      checks += 1;
      return units <= 123_456_789n;
    };
    expect(largestFitting(1n, 1_000_000_000_000n, fits)).toBe(123_456_789n);
    expect(checks).toBeLessThanOrEqual(40);
    expect(largestFitting(7n, 7n, () => false)).toBe(7n);
    expect(largestFitting(7n, 9n, () => true)).toBe(9n);
  });
});
