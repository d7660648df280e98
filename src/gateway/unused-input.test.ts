import fc from 'fast-check';
import { expect, test } from 'vitest';
import { seedsOf } from '../../test/support/seeds.ts';
import { noOtherCharges, type Rates, worstCaseCost, worstCaseOutputCost } from '../kernel/prices.ts';
import { outputOfUnusedInput } from './unused-input.ts';

const { forAll } = seedsOf('gateway-unused-input');

type Planned = Parameters<typeof outputOfUnusedInput>[0];
const rate = fc.bigInt({ min: 0n, max: 75_000_000_000n });
const optionalRate = fc.option(rate);
const allRates: fc.Arbitrary<Rates> = fc.record({
  inputNanosPerMillion: rate,
  cachedInputNanosPerMillion: optionalRate,
  cachedImageInputNanosPerMillion: optionalRate,
  cacheWriteNanosPerMillion: optionalRate,
  outputNanosPerMillion: optionalRate,
  audioInputNanosPerMillion: optionalRate,
  imageInputNanosPerMillion: optionalRate,
  audioOutputNanosPerMillion: optionalRate,
  imageNanosEach: fc.constant(null),
  requestNanosEach: optionalRate,
});
const tokens = fc.integer({ min: 0, max: 1_000_000 });

const planned = (rates: Rates, inputTokens: number, hasUnseen = false, offered: string[] = []) =>
  ({
    service: { rates, others: noOtherCharges },
    tools: { offered: new Set(offered) },
    input: { hasUnseen },
    inputTokens,
  }) as unknown as Planned;

test('what the hold covers in addition never costs more, and has no more tokens, than the input that was held', () => {
  forAll(
    fc.property(allRates, tokens, tokens, tokens, (rates, held, counted, output) => {
      const more = outputOfUnusedInput(planned(rates, held), counted);
      expect(more).toBeGreaterThanOrEqual(0);
      expect(counted + more).toBeLessThanOrEqual(Math.max(held, counted));
      if (counted <= held) {
        const cost = worstCaseCost(rates, BigInt(counted), BigInt(output + more));
        const holds = worstCaseCost(rates, BigInt(held), 0n) + worstCaseOutputCost(rates, BigInt(output));
        expect(cost <= holds).toBe(true);
      }
    }),
  );
});

test('input that may grow during the call covers no output', () => {
  const rates: Rates = {
    inputNanosPerMillion: 5_000_000_000n,
    cachedInputNanosPerMillion: null,
    cachedImageInputNanosPerMillion: null,
    cacheWriteNanosPerMillion: null,
    outputNanosPerMillion: 25_000_000_000n,
    audioInputNanosPerMillion: null,
    imageInputNanosPerMillion: null,
    audioOutputNanosPerMillion: null,
    imageNanosEach: null,
    requestNanosEach: null,
  };
  expect(outputOfUnusedInput(planned(rates, 12_000), 6_000)).toBe(1_199);
  expect(outputOfUnusedInput(planned(rates, 12_000, true), 6_000)).toBe(0);
  expect(outputOfUnusedInput(planned(rates, 12_000, false, ['web_search']), 6_000)).toBe(0);
});
