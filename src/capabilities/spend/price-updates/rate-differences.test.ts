import { expect, test } from 'vitest';
import { differenceBetween, withMissingTerms } from './rate-differences.ts';

const price = { input_usd_per_million: '2', cached_input_usd_per_million: '1', output_usd_per_million: '10' };
const changed = (more: object) => differenceBetween(price, { ...price, ...more });

test('equal prices do not differ, however they are written', () => {
  expect(changed({ input_usd_per_million: '2.000', audio_input_usd_per_million: null })).toEqual({
    rates: [],
    isLarge: false,
  });
});

test('a rate is shown with its change in percent', () => {
  expect(changed({ input_usd_per_million: '2.5', output_usd_per_million: '9.999' }).rates).toEqual([
    { rate: 'input_usd_per_million', before: '2', after: '2.5', change_percent: 25 },
    { rate: 'output_usd_per_million', before: '10', after: '9.999', change_percent: 0 },
  ]);
});

test.each([
  ['3', false],
  ['3.000000001', true],
  ['1', false],
  ['0.999999999', true],
  ['0', true],
])('input from 2 to %s is large: %s', (after, isLarge) => {
  expect(changed({ input_usd_per_million: after }).isLarge).toBe(isLarge);
});

test('a change from zero is large, and has no percent', () => {
  const { rates, isLarge } = changed({ request_usd: '0.000000001' });
  expect([rates[0]?.change_percent, isLarge]).toEqual([null, true]);
});

test('a rate that a price lacks is compared as what is charged instead', () => {
  // Cache writes were charged as input, at 2.
  expect(changed({ cache_write_usd_per_million: '2.5' })).toEqual({
    rates: [{ rate: 'cache_write_usd_per_million', before: null, after: '2.5', change_percent: 25 }],
    isLarge: false,
  });
  expect(changed({ cache_write_usd_per_million: '0.2' }).isLarge).toBe(true);
  // Cached input falls back to 2, from 1.
  expect(changed({ cached_input_usd_per_million: null })).toMatchObject({
    rates: [{ before: '1', after: null, change_percent: 100 }],
    isLarge: true,
  });
});

test('modifiers and units are compared by what they apply to, in any order', () => {
  const batch = { tier: 'batch', input_usd_per_million: '1' };
  const long = { above_input_tokens: 200_000, tier: null, input_usd_per_million: '4' };
  const before = { ...price, modifiers: [batch, long], units: { web_search: '0.01' } };
  const after = {
    ...price,
    modifiers: [long, { ...batch, input_usd_per_million: '1.2' }],
    units: { web_search: '0.01' },
  };
  expect(differenceBetween(before, after)).toEqual({
    rates: [
      {
        rate: 'modifiers[tier=batch].input_usd_per_million',
        before: '1',
        after: '1.2',
        change_percent: 20,
      },
    ],
    isLarge: false,
  });
  // A new modifier has nothing to be compared with; without it, the flat rate is charged.
  expect(differenceBetween(price, before)).toMatchObject({ isLarge: false });
  expect(differenceBetween(price, before).rates.map(({ change_percent }) => change_percent)).toEqual([
    null,
    null,
    null,
  ]);
  expect(differenceBetween(before, { ...before, modifiers: [batch] })).toMatchObject({
    rates: [{ rate: 'modifiers[above_input_tokens=200000].input_usd_per_million', change_percent: -50 }],
    isLarge: false,
  });
  expect(differenceBetween(before, { ...before, units: {} })).toMatchObject({
    rates: [{ rate: 'units.web_search', before: '0.01', after: null, change_percent: -100 }],
    isLarge: true,
  });
});

test('a further modifier is compared with the flat rate', () => {
  const batch = { tier: 'batch', input_usd_per_million: '1' };
  const above = (tokens: number) => ({ above_input_tokens: tokens, input_usd_per_million: '4' });
  const before = { ...price, modifiers: [batch] };
  expect(differenceBetween(before, { ...price, modifiers: [batch, above(200_000)] })).toEqual({
    rates: [
      {
        rate: 'modifiers[above_input_tokens=200000].input_usd_per_million',
        before: null,
        after: '4',
        change_percent: 100,
      },
    ],
    isLarge: true,
  });
  // A list that moves a threshold.
  expect(
    differenceBetween({ ...price, modifiers: [above(200_000)] }, { ...price, modifiers: [above(1)] }).isLarge,
  ).toBe(true);
  expect(differenceBetween(before, { ...before, units: { web_search: '1' } }).isLarge).toBe(false);
});

test('a unit is never compared with a rate of the same name', () => {
  const units = { multiplier: '1' };
  expect(differenceBetween({ ...price, units }, price)).toMatchObject({
    rates: [{ rate: 'units.multiplier', change_percent: -100 }],
    isLarge: true,
  });
});

test('a factor of all rates is compared with 1', () => {
  const half = { ...price, modifiers: [{ tier: 'batch', multiplier: '0.5' }] };
  const rate = 'modifiers[tier=batch].multiplier';
  expect(differenceBetween(half, { ...price, modifiers: [{ tier: 'batch', multiplier: '0.6' }] })).toEqual({
    rates: [{ rate, before: '0.5', after: '0.6', change_percent: 20 }],
    isLarge: false,
  });
  expect(differenceBetween(half, price)).toMatchObject({
    rates: [{ rate, before: '0.5', after: null, change_percent: 100 }],
    isLarge: true,
  });
});

test('terms that a list does not know are taken from the current price', () => {
  const current = {
    ...price,
    image_usd: '0.04',
    modifiers: [
      { tier: 'batch', input_usd_per_million: '1' },
      { above_input_tokens: 200_000, input_usd_per_million: '4' },
      { tier: 'batch', multiplier: '1.1' },
    ],
    units: { web_search: '0.01' },
  };
  const listed = {
    input_usd_per_million: '3',
    output_usd_per_million: null,
    modifiers: [
      { above_input_tokens: 200_000, input_usd_per_million: '6' },
      { above_input_tokens: 400_000, input_usd_per_million: '8' },
    ],
    units: { page: '0.02' },
  };
  expect(withMissingTerms(listed, current)).toEqual({
    input_usd_per_million: '3',
    cached_input_usd_per_million: '1',
    output_usd_per_million: '10',
    image_usd: '0.04',
    modifiers: [
      { tier: 'batch', input_usd_per_million: '1' },
      { above_input_tokens: 200_000, input_usd_per_million: '6' },
      // Later ones win: a higher threshold comes after a lower one, and before factors.
      { above_input_tokens: 400_000, input_usd_per_million: '8' },
      { tier: 'batch', multiplier: '1.1' },
    ],
    units: { web_search: '0.01', page: '0.02' },
  });
  expect(
    withMissingTerms({ input_usd_per_million: '3' }, { input_usd_per_million: '2', image_usd: null }),
  ).toEqual({
    input_usd_per_million: '3',
  });
});
