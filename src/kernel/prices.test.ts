import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seedsOf } from '../../test/support/seeds.ts';
import { nanosOfParts } from './cost-parts.ts';
import {
  affordableOutputTokens,
  cacheSavings,
  costOf,
  discounted,
  maxTokens,
  noOtherCharges,
  partsOf,
  type Rates,
  type TokenCounts,
  worstCaseCost,
} from './prices.ts';

const { forAll } = seedsOf('prices');

const nothing: Rates = {
  inputNanosPerMillion: 0n,
  cachedInputNanosPerMillion: null,
  cachedImageInputNanosPerMillion: null,
  cacheWriteNanosPerMillion: null,
  outputNanosPerMillion: null,
  audioInputNanosPerMillion: null,
  imageInputNanosPerMillion: null,
  audioOutputNanosPerMillion: null,
  imageNanosEach: null,
  requestNanosEach: null,
};
const usd = 1_000_000_000n;
/** $3 in, $0.30 cached, $3.75 cache write, $15 out per million. */
const sonnet: Rates = {
  ...nothing,
  inputNanosPerMillion: 3n * usd,
  cachedInputNanosPerMillion: 300_000_000n,
  cacheWriteNanosPerMillion: 3_750_000_000n,
  outputNanosPerMillion: 15n * usd,
};
const none: TokenCounts = {
  inputTokens: 0n,
  cachedInputTokens: 0n,
  cacheWriteTokens: 0n,
  outputTokens: 0n,
};

describe('the cost of a run', () => {
  test('charges each part of the input at its own rate, and the remainder as input', () => {
    const counts = {
      inputTokens: 1_000n,
      cachedInputTokens: 600n,
      cacheWriteTokens: 100n,
      outputTokens: 50n,
    };
    // 300 × 3000 + 600 × 300 + 100 × 3750 + 50 × 15000 nanodollars
    expect(costOf(sonnet, counts)).toBe(2_205_000n);
  });

  test('charges parts without a rate at the rate of their total', () => {
    const plain = { ...nothing, inputNanosPerMillion: 2n * usd, outputNanosPerMillion: 8n * usd };
    const parts = {
      inputTokens: 1_000n,
      cachedInputTokens: 200n,
      cacheWriteTokens: 300n,
      audioInputTokens: 400n,
      outputTokens: 100n,
      audioOutputTokens: 60n,
    };
    const whole = { ...none, inputTokens: 1_000n, outputTokens: 100n };
    expect(costOf(plain, parts)).toBe(costOf(plain, whole));
    expect(costOf(plain, whole)).toBe(2_800_000n);
  });

  test('charges audio, images and the request itself', () => {
    const rates = {
      ...sonnet,
      audioInputNanosPerMillion: 32n * usd,
      audioOutputNanosPerMillion: 64n * usd,
      imageNanosEach: 40_000_000n,
      requestNanosEach: 5_000_000n,
    };
    const counts = {
      ...none,
      inputTokens: 10n,
      audioInputTokens: 10n,
      outputTokens: 3n,
      audioOutputTokens: 1n,
      images: 2n,
    };
    expect(costOf(rates, counts)).toBe(320_000n + 30_000n + 64_000n + 80_000_000n + 5_000_000n);
    expect(costOf(rates, none)).toBe(5_000_000n);
  });

  test('the cost of a run is zero for units that the model has no rate for', () => {
    expect(costOf(nothing, { ...none, outputTokens: 5n, images: 3n })).toBe(0n);
  });

  test('charges the parts if they exceed their total', () => {
    expect(costOf(sonnet, { ...none, inputTokens: 1n, cachedInputTokens: 1_000n })).toBe(300_000n);
  });

  test('the cost of a run is rounded up once', () => {
    const rates = { ...nothing, inputNanosPerMillion: 1n, outputNanosPerMillion: 1n };
    expect(costOf(rates, { ...none, inputTokens: 1n })).toBe(1n);
    expect(costOf(rates, { ...none, inputTokens: 1n, outputTokens: 1n })).toBe(1n);
    expect(costOf(rates, { ...none, inputTokens: 1_000_000n })).toBe(1n);
    expect(costOf(rates, { ...none, inputTokens: 1_000_001n })).toBe(2n);
  });

  test('the price in force with a discount charges exactly the rates shown, to the nanodollar', () => {
    const rates = { ...nothing, inputNanosPerMillion: 1_000_000n };
    expect(costOf(rates, { ...none, inputTokens: 9_007_199_254_740_993n })).toBe(9_007_199_254_740_993n);
  });
});

describe('the worst case', () => {
  test('uses the highest rate of input and output', () => {
    // 1000 × 3750 + 100 × 15000 nanodollars
    expect(worstCaseCost(sonnet, 1_000n, 100n)).toBe(5_250_000n);
    const spoken = {
      ...sonnet,
      audioInputNanosPerMillion: 32n * usd,
      audioOutputNanosPerMillion: 64n * usd,
      requestNanosEach: 1n,
    };
    expect(worstCaseCost(spoken, 1_000n, 100n)).toBe(32_000_000n + 6_400_000n + 1n);
  });

  test('includes images, and reduces the affordable tokens by their cost', () => {
    const drawn = { ...sonnet, imageNanosEach: 40_000_000n };
    const others = { ...noOtherCharges, images: 2n };
    const budget = worstCaseCost(drawn, 1_000n, 100n, others);
    expect(budget).toBe(5_250_000n + 80_000_000n);
    expect(affordableOutputTokens(drawn, 1_000n, budget, others)).toBe(100n);
    expect(affordableOutputTokens(drawn, 1_000n, budget - 1n, others)).toBe(99n);
  });
});

describe('the affordable output tokens', () => {
  test('the affordable output tokens are the largest number that fits into the budget', () => {
    const budget = worstCaseCost(sonnet, 1_000n, 100n);
    expect(affordableOutputTokens(sonnet, 1_000n, budget)).toBe(100n);
    expect(affordableOutputTokens(sonnet, 1_000n, budget - 1n)).toBe(99n);
  });

  test('the affordable output tokens are zero if the budget covers only the input, or less', () => {
    const input = worstCaseCost(sonnet, 1_000n, 0n);
    expect(affordableOutputTokens(sonnet, 1_000n, input)).toBe(0n);
    expect(affordableOutputTokens(sonnet, 1_000n, input - 1n)).toBe(0n);
    expect(affordableOutputTokens({ ...sonnet, requestNanosEach: 1n }, 1_000n, input)).toBe(0n);
  });

  test('the affordable output tokens are unlimited if output is free', () => {
    for (const outputNanosPerMillion of [0n, null]) {
      const rates = { ...sonnet, outputNanosPerMillion };
      expect(affordableOutputTokens(rates, 1_000n, worstCaseCost(rates, 1_000n, 0n))).toBe(maxTokens);
    }
    expect(affordableOutputTokens({ ...nothing, outputNanosPerMillion: 1n }, 0n, usd * usd)).toBe(maxTokens);
  });
});

describe('a discount', () => {
  test('reduces every rate, rounded up to the precision of prices', () => {
    const rates = { ...sonnet, imageNanosEach: 3n, requestNanosEach: 1n };
    expect(discounted(rates, 1_250n)).toEqual({
      ...nothing,
      inputNanosPerMillion: 2_625_000_000n,
      cachedInputNanosPerMillion: 262_500_000n,
      cacheWriteNanosPerMillion: 3_281_250_000n,
      outputNanosPerMillion: 13_125_000_000n,
      imageNanosEach: 3n,
      requestNanosEach: 1n,
    });
  });

  test('a discount of 0 % changes nothing, and of 100 % leaves zero', () => {
    expect(discounted(sonnet, 0n)).toEqual(sonnet);
    expect(costOf(discounted(sonnet, 10_000n), { ...none, inputTokens: 5n, outputTokens: 5n })).toBe(0n);
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
const tokens = fc.bigInt(0n, 3_000_000n);
/** Generated from parts, so that no part exceeds its total. */
const anyCounts: fc.Arbitrary<Required<TokenCounts>> = fc
  .record({
    plain: tokens,
    cachedText: tokens,
    cachedImageInputTokens: tokens,
    cacheWriteTokens: tokens,
    audioInputTokens: tokens,
    imageInputTokens: tokens,
    written: tokens,
    reasoningTokens: tokens,
    audioOutputTokens: tokens,
  })
  .map(({ plain, written, cachedText, ...parts }) => ({
    ...parts,
    cachedInputTokens: cachedText + parts.cachedImageInputTokens,
    inputTokens:
      plain +
      cachedText +
      parts.cachedImageInputTokens +
      parts.cacheWriteTokens +
      parts.audioInputTokens +
      parts.imageInputTokens,
    outputTokens: written + parts.reasoningTokens + parts.audioOutputTokens,
    cacheWrite1hTokens: 0n,
    images: 0n,
  }));
const basisPoints = fc.bigInt(0n, 10_000n);

describe('for any rates and counts', () => {
  test('the cost is never below the exact sum, and less than one nanodollar above it', () => {
    forAll(
      fc.property(anyRates, anyCounts, fc.bigInt(0n, 9n), (rates, counts, images) => {
        // An independent form of the definition: token by token, in millionths of a nanodollar.
        const input = rates.inputNanosPerMillion;
        const output = rates.outputNanosPerMillion ?? 0n;
        let exact = counts.inputTokens * input + counts.outputTokens * output;
        const cached = rates.cachedInputNanosPerMillion ?? input;
        exact += counts.cachedInputTokens * (cached - input);
        exact += counts.cachedImageInputTokens * ((rates.cachedImageInputNanosPerMillion ?? cached) - cached);
        exact += counts.cacheWriteTokens * ((rates.cacheWriteNanosPerMillion ?? input) - input);
        exact += counts.audioInputTokens * ((rates.audioInputNanosPerMillion ?? input) - input);
        exact += counts.imageInputTokens * ((rates.imageInputNanosPerMillion ?? input) - input);
        exact += counts.audioOutputTokens * ((rates.audioOutputNanosPerMillion ?? output) - output);
        exact += 1_000_000n * (images * (rates.imageNanosEach ?? 0n) + (rates.requestNanosEach ?? 0n));
        const above = costOf(rates, { ...counts, images }) * 1_000_000n - exact;
        expect(above).toBeGreaterThanOrEqual(0n);
        expect(above).toBeLessThan(1_000_000n);
      }),
    );
  });

  test('the parts sum to the cost, and no kind costs less than nothing or more than its tokens', () => {
    forAll(
      fc.property(anyRates, anyCounts, fc.bigInt(0n, 9n), (rates, counts, images) => {
        const all = { ...counts, images };
        const parts = partsOf(rates, all);
        expect(nanosOfParts(parts)).toBe(costOf(rates, all));
        const highest = worstCaseCost(rates, 1_000_000n, 1_000_000n, { ...noOtherCharges, images: 1n });
        for (const { quantity, nanos } of parts) {
          expect(nanos).toBeGreaterThanOrEqual(0n);
          expect(nanos).toBeLessThanOrEqual(quantity * highest + 1n);
        }
        const tokens = parts.filter(({ code }) => !'gq'.includes(code));
        expect(tokens.reduce((sum, { quantity }) => sum + quantity, 0n)).toBe(
          counts.inputTokens + counts.outputTokens,
        );
      }),
    );
  });

  test('cache savings and the cost are what the same tokens cost without a cache', () => {
    forAll(
      fc.property(anyRates, tokens, (rates, cached) => {
        const counts = { ...none, inputTokens: cached, cachedInputTokens: cached };
        const saved = cacheSavings(rates, counts);
        const difference = costOf(rates, { ...none, inputTokens: cached }) - costOf(rates, counts);
        expect(saved - difference).toBeGreaterThanOrEqual(-1n);
        expect(saved - difference).toBeLessThanOrEqual(1n);
      }),
    );
  });

  test('more tokens never cost less', () => {
    const one = fc.constantFrom(
      'plain',
      'cached',
      'write',
      'audio',
      'image input',
      'output',
      'audio output',
      'image',
    );
    forAll(
      fc.property(anyRates, anyCounts, one, tokens, (rates, counts, which, more) => {
        const add = (...names: (keyof TokenCounts)[]) =>
          Object.fromEntries(names.map((name) => [name, counts[name] + more]));
        const grown: TokenCounts = {
          ...counts,
          ...{
            plain: () => add('inputTokens'),
            cached: () => add('inputTokens', 'cachedInputTokens'),
            write: () => add('inputTokens', 'cacheWriteTokens'),
            audio: () => add('inputTokens', 'audioInputTokens'),
            'image input': () => add('inputTokens', 'imageInputTokens'),
            output: () => add('outputTokens'),
            'audio output': () => add('outputTokens', 'audioOutputTokens'),
            image: () => add('images'),
          }[which](),
        };
        expect(costOf(rates, grown)).toBeGreaterThanOrEqual(costOf(rates, counts));
      }),
    );
  });

  test('the actual cost never exceeds the worst case', () => {
    forAll(
      fc.property(anyRates, anyCounts, tokens, (rates, counts, spare) => {
        const worst = worstCaseCost(rates, counts.inputTokens, counts.outputTokens + spare);
        expect(costOf(rates, counts)).toBeLessThanOrEqual(worst);
      }),
    );
  });

  test('the affordable output fits, and one more token does not', () => {
    forAll(
      fc.property(anyRates, tokens, fc.bigInt(0n, 10n ** 13n), (rates, inputTokens, spare) => {
        const budget = worstCaseCost(rates, inputTokens, 0n) + spare;
        const most = affordableOutputTokens(rates, inputTokens, budget);
        expect(worstCaseCost(rates, inputTokens, most)).toBeLessThanOrEqual(budget);
        if (most !== maxTokens) {
          expect(worstCaseCost(rates, inputTokens, most + 1n)).toBeGreaterThan(budget);
        }
      }),
    );
  });

  test('the requested output is affordable with its worst-case cost', () => {
    forAll(
      fc.property(anyRates, tokens, tokens, (rates, inputTokens, outputTokens) => {
        const held = worstCaseCost(rates, inputTokens, outputTokens);
        expect(affordableOutputTokens(rates, inputTokens, held)).toBeGreaterThanOrEqual(outputTokens);
      }),
    );
  });

  test('a discount never increases a cost, and never exceeds its percentage', () => {
    forAll(
      fc.property(anyRates, anyCounts, basisPoints, (rates, counts, points) => {
        const full = costOf(rates, counts);
        const reduced = costOf(discounted(rates, points), counts);
        expect(reduced).toBeLessThanOrEqual(full);
        // The unrounded cost is above `full - 1`, so at least this much must remain.
        expect(reduced * 10_000n).toBeGreaterThanOrEqual((full - 1n) * (10_000n - points));
      }),
    );
  });
});
