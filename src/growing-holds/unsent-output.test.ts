import { expect, test } from 'vitest';
import { tokensWithin } from '../kernel/pace.ts';
import { UnsentOutput } from './unsent-output.ts';

const pace = { burstTokensPerSecond: 1_500, burstTokens: 2_000, sustainedTokensPerSecond: 500 };
const one = { pace, maxOutputTokens: 128_000, answers: 1 };

test('counts from the last output on, which events without output do not change', () => {
  const unsent = new UnsentOutput();
  expect(unsent.tokens(one, 5_000)).toBe(0);
  unsent.begin(1_000);
  expect(unsent.tokens(one, 5_000)).toBe(tokensWithin(one, 4_000));
  unsent.note(10, () => 4_000);
  unsent.note(10, () => 5_000);
  expect(unsent.tokens(one, 6_000)).toBe(tokensWithin(one, 2_000));
  unsent.begin(6_000);
  expect(unsent.tokens(one, 6_500)).toBe(tokensWithin(one, 500));
});

test('one of several answers may be collected while another one arrives, so they count from their start on', () => {
  const two = { ...one, answers: 2 };
  const unsent = new UnsentOutput();
  unsent.begin(1_000);
  unsent.note(10, () => 4_999);
  expect(unsent.tokens(two, 5_000)).toBe(tokensWithin(two, 4_000));
});
