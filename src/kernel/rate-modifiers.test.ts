import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seedsOf } from '../../test/support/seeds.ts';
import {
  affordableOutputTokens,
  costOf,
  maxTokens,
  noOtherCharges,
  type OtherCharges,
  type Rates,
  type TokenCounts,
  worstCaseCost,
  worstCaseOutputCost,
} from './prices.ts';
import {
  billionths,
  discountedTariff,
  isBilledByUnitsOnly,
  maximumRatesFor,
  type RateConditions,
  type RateModifier,
  ratesFor,
  type ServiceTerms,
  type Tariff,
  unitParts,
  unpricedUnits,
} from './rate-modifiers.ts';

const { forAll } = seedsOf('rate-modifiers');

const usd = 1_000_000_000n;
const always: RateConditions = { tier: null, region: null, aboveInputTokens: null, cacheWriteTtl: null };
const modifier = (
  when: Partial<RateConditions>,
  rates: Partial<Rates>,
  multiplierBillionths: bigint | null = null,
): RateModifier => ({ when: { ...always, ...when }, rates, multiplierBillionths });

/** $3 in, $0.30 cached, $3.75 cache write, $6 for one hour, $15 out; half in batches, $6 and $22.50 above 200,000; 10 % in the US. */
const sonnet: Tariff = {
  rates: {
    inputNanosPerMillion: 3n * usd,
    cachedInputNanosPerMillion: 300_000_000n,
    cachedImageInputNanosPerMillion: null,
    cacheWriteNanosPerMillion: 3_750_000_000n,
    outputNanosPerMillion: 15n * usd,
    audioInputNanosPerMillion: null,
    imageInputNanosPerMillion: null,
    audioOutputNanosPerMillion: null,
    imageNanosEach: null,
    requestNanosEach: null,
  },
  modifiers: [
    modifier(
      { aboveInputTokens: 200_000n },
      { inputNanosPerMillion: 6n * usd, outputNanosPerMillion: 22_500_000_000n },
    ),
    modifier({ cacheWriteTtl: '1h' }, { cacheWriteNanosPerMillion: 6n * usd }),
    modifier({ tier: 'batch' }, {}, billionths / 2n),
    modifier({ region: 'us' }, {}, 1_100_000_000n),
  ],
  unitNanos: new Map([['web_search', 10_000_000n]]),
};
const flat: ServiceTerms = { tier: null, region: null };
test.each<[string | null, string]>([
  [null, '1'],
  ['global', '1'],
  ['europe-west1', '1.1'],
  ['us', '1.1'],
  ['us-east5', '2.2'],
])('`regional` is met by every region but `global`: %s', (region, factor) => {
  const tariff: Tariff = {
    rates: { ...sonnet.rates, inputNanosPerMillion: usd },
    modifiers: [
      modifier({ region: 'us-east5' }, {}, 2n * billionths),
      modifier({ region: 'regional' }, {}, (11n * billionths) / 10n),
    ],
    unitNanos: new Map(),
  };
  // Twice, because the rates are cached.
  for (const rates of [
    ratesFor(tariff, { tier: null, region }, 0n),
    maximumRatesFor(tariff, { tier: null, region }, 5n),
  ]) {
    expect(rates.inputNanosPerMillion).toBe(BigInt(Number(factor) * 1e9));
  }
});

describe('the rates of a run', () => {
  test('the rates of a run are the same object without modifiers', () => {
    const plain = { ...sonnet, modifiers: [] };
    expect(ratesFor(plain, { tier: 'batch', region: 'us' }, 300_000n)).toBe(plain.rates);
    expect(maximumRatesFor(plain, { tier: 'batch', region: 'us' }, 300_000n)).toBe(plain.rates);
  });

  test('the rates of a run are the flat ones for tiers and regions without a modifier', () => {
    const { cacheWrite1hNanosPerMillion: _, ...rates } = ratesFor(
      sonnet,
      { tier: 'default', region: 'eu' },
      1n,
    );
    expect(rates).toEqual(sonnet.rates);
  });

  test('change for all tokens above the threshold, not at it', () => {
    expect(ratesFor(sonnet, flat, 200_000n).inputNanosPerMillion).toBe(3n * usd);
    expect(ratesFor(sonnet, flat, 200_001n).inputNanosPerMillion).toBe(6n * usd);
    expect(ratesFor(sonnet, flat, 200_001n).outputNanosPerMillion).toBe(22_500_000_000n);
  });

  test('the rates of one-hour cache writes follow the modifiers after them, and change no other rate', () => {
    expect(ratesFor(sonnet, flat, 1n)).toMatchObject({
      cacheWriteNanosPerMillion: 3_750_000_000n,
      cacheWrite1hNanosPerMillion: 6n * usd,
    });
    expect(ratesFor(sonnet, { tier: 'batch', region: 'us' }, 1n)).toMatchObject({
      inputNanosPerMillion: 1_650_000_000n,
      cacheWriteNanosPerMillion: 2_062_500_000n,
      cacheWrite1hNanosPerMillion: 3_300_000_000n,
    });
  });

  test('the rates of a run are computed once for each tier, region and bracket', () => {
    const one = ratesFor(sonnet, { tier: 'batch', region: null }, 5n);
    expect(ratesFor(sonnet, { tier: 'batch', region: 'unknown' }, 200_000n)).toBe(one);
    expect(ratesFor(sonnet, { tier: 'batch', region: 'us' }, 5n)).not.toBe(one);
  });

  test('the rates of a run are rounded up to a nanodollar after each factor', () => {
    const tiny: Tariff = {
      ...sonnet,
      rates: { ...sonnet.rates, inputNanosPerMillion: 3n },
      modifiers: [modifier({}, {}, billionths / 2n), modifier({}, {}, billionths / 2n)],
    };
    expect(ratesFor(tiny, flat, 1n).inputNanosPerMillion).toBe(1n);
  });
});

describe('units', () => {
  test('units are charged each, and named if they have no price', () => {
    const counts = { web_search: 3, page: 2, second: 0 };
    expect(unitParts(sonnet, counts)).toEqual([{ code: 'u:web_search', quantity: 3n, nanos: 30_000_000n }]);
    expect(unpricedUnits(sonnet, counts)).toEqual(['page', 'second']);
    expect(unpricedUnits({ ...sonnet, hasFreeUnits: true }, counts)).toEqual([]);
  });

  test('units are all that a price charges if every rate is zero', () => {
    const free = Object.fromEntries(Object.keys(sonnet.rates).map((name) => [name, null]));
    const rates = { ...free, inputNanosPerMillion: 0n } as unknown as Rates;
    expect(isBilledByUnitsOnly({ ...sonnet, rates })).toBe(true);
    expect(isBilledByUnitsOnly({ ...sonnet, rates, unitNanos: new Map() })).toBe(false);
    expect(isBilledByUnitsOnly(sonnet)).toBe(false);
  });
});

describe('the worst case', () => {
  test('assumes the one-hour rate only for the stated tokens', () => {
    const rates = maximumRatesFor(sonnet, flat, 1_000n);
    // 1000 × 3750 nanodollars, then 400 × 3750 + 600 × 6000
    expect(worstCaseCost(rates, 1_000n, 0n)).toBe(3_750_000n);
    expect(worstCaseCost(rates, 1_000n, 0n, { ...noOtherCharges, cacheWrite1hTokens: 600n })).toBe(
      5_100_000n,
    );
  });

  test('assumes the flat rates if those above the threshold are lower', () => {
    const cheaper: Tariff = {
      ...sonnet,
      modifiers: [modifier({ aboveInputTokens: 1_000n }, { outputNanosPerMillion: usd })],
    };
    expect(ratesFor(cheaper, flat, 1_001n).outputNanosPerMillion).toBe(usd);
    expect(maximumRatesFor(cheaper, flat, 1_001n).outputNanosPerMillion).toBe(15n * usd);
  });
});

/** Rounding shows at small and zero rates, so these are generated often. */
const rate = fc.oneof(fc.constant(0n), fc.bigInt(1n, 50n), fc.bigInt(1n, 10n ** 12n));
const rateIfAny = fc.option(rate);
const anyRates: fc.Arbitrary<Rates> = fc.record({
  inputNanosPerMillion: rate,
  cachedInputNanosPerMillion: rateIfAny,
  cachedImageInputNanosPerMillion: rateIfAny,
  cacheWriteNanosPerMillion: rateIfAny,
  outputNanosPerMillion: rateIfAny,
  audioInputNanosPerMillion: rateIfAny,
  imageInputNanosPerMillion: rateIfAny,
  audioOutputNanosPerMillion: rateIfAny,
  imageNanosEach: rateIfAny,
  requestNanosEach: rateIfAny,
});
const replacedRates = fc.record(
  {
    inputNanosPerMillion: rate,
    cachedInputNanosPerMillion: rate,
    cachedImageInputNanosPerMillion: rate,
    cacheWriteNanosPerMillion: rate,
    outputNanosPerMillion: rate,
    audioInputNanosPerMillion: rate,
    imageInputNanosPerMillion: rate,
    audioOutputNanosPerMillion: rate,
    imageNanosEach: rate,
    requestNanosEach: rate,
  },
  { requiredKeys: [] },
);
const tier = fc.constantFrom(null, 'batch', 'priority');
const region = fc.constantFrom(null, 'eu', 'us');
const anyModifier: fc.Arbitrary<RateModifier> = fc.record({
  when: fc.record({
    tier,
    region,
    aboveInputTokens: fc.constantFrom(null, 0n, 100n, 1_000n),
    cacheWriteTtl: fc.constantFrom(null, '1h' as const),
  }),
  rates: replacedRates,
  multiplierBillionths: fc.option(fc.bigInt(0n, 3n * billionths)),
});
const anyTariff: fc.Arbitrary<Tariff> = fc.record({
  rates: anyRates,
  modifiers: fc.array(anyModifier, { maxLength: 8 }),
  unitNanos: fc.constant(new Map([['page', 7n]])),
});
const anyTerms: fc.Arbitrary<ServiceTerms> = fc.record({
  tier: fc.constantFrom(null, 'batch', 'priority', 'unknown'),
  region: fc.constantFrom(null, 'eu', 'us', 'unknown'),
});
const tokens = fc.bigInt(0n, 600n);
type Parts = Required<Omit<TokenCounts, 'inputTokens' | 'cachedInputTokens' | 'outputTokens' | 'images'>> & {
  readonly plain: bigint;
  readonly cachedText: bigint;
  readonly written: bigint;
};
const anyParts: fc.Arbitrary<Parts> = fc.record({
  plain: tokens,
  cachedText: tokens,
  cachedImageInputTokens: tokens,
  cacheWriteTokens: tokens,
  cacheWrite1hTokens: tokens,
  audioInputTokens: tokens,
  imageInputTokens: tokens,
  written: tokens,
  reasoningTokens: tokens,
  audioOutputTokens: tokens,
});

function countsOf({ plain, cachedText, written, ...parts }: Parts): Required<TokenCounts> {
  const cachedInputTokens = cachedText + parts.cachedImageInputTokens;
  return {
    ...parts,
    cachedInputTokens,
    inputTokens:
      plain +
      cachedInputTokens +
      parts.cacheWriteTokens +
      parts.cacheWrite1hTokens +
      parts.audioInputTokens +
      parts.imageInputTokens,
    outputTokens: written + parts.reasoningTokens + parts.audioOutputTokens,
    images: 3n,
  };
}

/**
 * A second implementation: each rate by itself, from the last modifier to the first, with a cost for every kind of token. Shares
 * nothing with the first except the data.
 */
function costByDefinition(tariff: Tariff, terms: ServiceTerms, parts: Parts): bigint {
  const { inputTokens } = countsOf(parts);
  const after = (count: number, name: keyof Rates, isOneHour: boolean): bigint | null => {
    const last = tariff.modifiers[count - 1];
    if (last === undefined) {
      return tariff.rates[name] ?? null;
    }
    const before = after(count - 1, name, isOneHour);
    const { when } = last;
    const failed = [
      when.tier !== null && when.tier !== terms.tier,
      when.region !== null && when.region !== terms.region,
      when.aboveInputTokens !== null && inputTokens <= when.aboveInputTokens,
      when.cacheWriteTtl !== null && !isOneHour,
    ];
    if (failed.includes(true)) {
      return before;
    }
    const replaced = last.rates[name] ?? before;
    if (replaced === null || last.multiplierBillionths === null) {
      return replaced;
    }
    const product = replaced * last.multiplierBillionths;
    return product / billionths + (product % billionths === 0n ? 0n : 1n);
  };
  const of = (isOneHour: boolean, ...names: (keyof Rates)[]): bigint => {
    for (const name of names) {
      const found = after(tariff.modifiers.length, name, isOneHour);
      if (found !== null) {
        return found;
      }
    }
    return 0n;
  };
  const input = 'inputNanosPerMillion';
  const output = 'outputNanosPerMillion';
  const millionths =
    parts.plain * of(false, input) +
    parts.cachedText * of(false, 'cachedInputNanosPerMillion', input) +
    parts.cachedImageInputTokens *
      of(false, 'cachedImageInputNanosPerMillion', 'cachedInputNanosPerMillion', input) +
    parts.cacheWriteTokens * of(false, 'cacheWriteNanosPerMillion', input) +
    parts.cacheWrite1hTokens * of(true, 'cacheWriteNanosPerMillion', input) +
    parts.audioInputTokens * of(false, 'audioInputNanosPerMillion', input) +
    parts.imageInputTokens * of(false, 'imageInputNanosPerMillion', input) +
    (parts.written + parts.reasoningTokens) * of(false, output) +
    parts.audioOutputTokens * of(false, 'audioOutputNanosPerMillion', output);
  const whole = millionths / 1_000_000n + (millionths % 1_000_000n === 0n ? 0n : 1n);
  return whole + 3n * of(false, 'imageNanosEach') + of(false, 'requestNanosEach');
}

describe('for any modifiers and counts', () => {
  test('the cost is that of the definition', () => {
    forAll(
      fc.property(anyTariff, anyTerms, anyParts, (tariff, terms, parts) => {
        const counts = countsOf(parts);
        const cost = costOf(ratesFor(tariff, terms, counts.inputTokens), counts);
        expect(cost).toBe(costByDefinition(tariff, terms, parts));
      }),
    );
  });

  test('the cost never exceeds the worst case of at most these counts', () => {
    forAll(
      fc.property(anyTariff, anyTerms, anyParts, tokens, tokens, (tariff, terms, parts, moreIn, moreOut) => {
        const counts = countsOf(parts);
        const bound = counts.inputTokens + moreIn;
        const others: OtherCharges = {
          images: counts.images,
          cacheWrite1hTokens: counts.cacheWrite1hTokens,
          unitNanos: 0n,
        };
        const rates = maximumRatesFor(tariff, terms, bound);
        const worst = worstCaseCost(rates, bound, counts.outputTokens + moreOut, others);
        expect(costOf(ratesFor(tariff, terms, counts.inputTokens), counts)).toBeLessThanOrEqual(worst);
      }),
    );
  });

  test('the affordable output fits with all charges, and one more token does not', () => {
    forAll(
      fc.property(
        anyTariff,
        anyTerms,
        tokens,
        fc.bigInt(0n, 10n ** 10n),
        tokens,
        (tariff, terms, input, spare, units) => {
          const rates = maximumRatesFor(tariff, terms, input);
          const others = { images: 2n, cacheWrite1hTokens: input / 2n, unitNanos: units };
          const budget = worstCaseCost(rates, input, 0n, others) + spare;
          const most = affordableOutputTokens(rates, input, budget, others);
          expect(worstCaseCost(rates, input, most, others)).toBeLessThanOrEqual(budget);
          if (most !== maxTokens) {
            expect(worstCaseCost(rates, input, most + 1n, others)).toBeGreaterThan(budget);
          }
        },
      ),
    );
  });

  test('an increase covers the output that it adds', () => {
    forAll(
      fc.property(anyTariff, anyTerms, tokens, tokens, tokens, (tariff, terms, input, output, added) => {
        const rates = maximumRatesFor(tariff, terms, input);
        const increased = worstCaseCost(rates, input, output) + worstCaseOutputCost(rates, added);
        expect(increased).toBeGreaterThanOrEqual(worstCaseCost(rates, input, output + added));
      }),
    );
  });

  test('a discount applies to the rates of modifiers and to units, and never increases a cost', () => {
    forAll(
      fc.property(anyTariff, anyTerms, anyParts, fc.bigInt(0n, 10_000n), (tariff, terms, parts, points) => {
        const counts = countsOf(parts);
        const reduced = discountedTariff(tariff, points);
        const costIn = (of: Tariff) => costOf(ratesFor(of, terms, counts.inputTokens), counts);
        expect(costIn(reduced)).toBeLessThanOrEqual(costIn(tariff));
        expect(costIn(discountedTariff(tariff, 10_000n))).toBe(0n);
        expect(reduced.unitNanos.get('page')).toBe((7n * (10_000n - points) + 9_999n) / 10_000n);
      }),
    );
  });
});
