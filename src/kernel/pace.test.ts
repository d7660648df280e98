import fc from 'fast-check';
import { expect, test } from 'vitest';
import { seedsOf } from '../../test/support/seeds.ts';
import { fastestPace, type Pace, type PacedOutput, tokensWithin } from './pace.ts';
import { type Rates, worstCaseCost, worstCaseOutputCost } from './prices.ts';

const { forAll } = seedsOf('kernel-pace');

const rate = fc.integer({ min: 1, max: 100_000 });
const paces: fc.Arbitrary<Pace> = fc.record({
  burstTokensPerSecond: rate,
  burstTokens: fc.integer({ min: 0, max: 100_000 }),
  sustainedTokensPerSecond: rate,
});
const outputs: fc.Arbitrary<PacedOutput> = fc.record({
  pace: paces,
  maxOutputTokens: fc.integer({ min: 0, max: 8_000_000 }),
  answers: fc.integer({ min: 1, max: 128 }),
});
/** Up to a day, and times that are no whole milliseconds. */
const elapsed = fc.oneof(
  fc.integer({ min: 0, max: 86_400_000 }),
  fc.double({ min: 0, max: 100_000, noNaN: true }),
);

const rates: Rates = {
  inputNanosPerMillion: 3_000_000_000n,
  cachedInputNanosPerMillion: null,
  cachedImageInputNanosPerMillion: null,
  cacheWriteNanosPerMillion: null,
  outputNanosPerMillion: 14_999_999_999n,
  audioInputNanosPerMillion: null,
  imageInputNanosPerMillion: null,
  audioOutputNanosPerMillion: null,
  imageNanosEach: null,
  requestNanosEach: null,
};

test('a bound is exact: the smallest integer that neither rate exceeds, at most the maximum', () => {
  forAll(
    fc.property(outputs, elapsed, (output, ms) => {
      const { pace, maxOutputTokens, answers } = output;
      const whole = BigInt(Math.ceil(ms));
      const up = (perSecond: number) => (BigInt(perSecond) * whole + 999n) / 1_000n;
      const burst = up(pace.burstTokensPerSecond);
      const sustained = BigInt(pace.burstTokens) + up(pace.sustainedTokensPerSecond);
      const each = burst < sustained ? burst : sustained;
      const all = each * BigInt(answers);
      const most = BigInt(maxOutputTokens);
      expect(BigInt(tokensWithin(output, ms))).toBe(all < most ? all : most);
    }),
  );
});

test('a longer time, a higher maximum or more answers never lower the bound, and a faster pace has the highest', () => {
  forAll(
    fc.property(outputs, elapsed, elapsed, paces, (output, one, other, pace) => {
      const [shorter, longer] = one < other ? [one, other] : [other, one];
      const bound = tokensWithin(output, shorter);
      expect(tokensWithin(output, longer)).toBeGreaterThanOrEqual(bound);
      for (const more of [
        { ...output, maxOutputTokens: output.maxOutputTokens + 1 },
        { ...output, answers: output.answers + 1 },
        { ...output, pace: fastestPace(output.pace, [pace]) },
      ]) {
        expect(tokensWithin(more, shorter)).toBeGreaterThanOrEqual(bound);
      }
    }),
  );
});

test('increases of a hold add up to at least the cost of all tokens', () => {
  forAll(
    fc.property(outputs, fc.array(elapsed, { maxLength: 20 }), (output, times) => {
      let tokens = 0;
      let held = worstCaseCost(rates, 1_000n, 0n);
      for (const ms of times.sort((a, b) => a - b)) {
        const bound = tokensWithin(output, ms);
        held += worstCaseOutputCost(rates, BigInt(bound - tokens));
        tokens = bound;
        expect(held >= worstCaseCost(rates, 1_000n, BigInt(tokens))).toBe(true);
      }
    }),
  );
});

test('a call that was not sent yet has produced nothing', () => {
  const pace = { burstTokensPerSecond: 1_500, burstTokens: 2_000, sustainedTokensPerSecond: 500 };
  const output = { pace, maxOutputTokens: 128_000, answers: 1 };
  expect([-5, 0, 2_000, 10_000, 86_400_000].map((ms) => tokensWithin(output, ms))).toEqual([
    0, 0, 3_000, 7_000, 128_000,
  ]);
});
