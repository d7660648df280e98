import { expect, test } from 'vitest';
import { createDecisionRate } from './decision-rate.ts';

test('returns the rate since the last sample, and the same rate if no time has passed', () => {
  let [nowMs, decisions] = [1_000, 500];
  const rate = createDecisionRate(
    () => decisions,
    () => nowMs,
  );
  expect(rate.sample()).toBe(0);
  [nowMs, decisions] = [1_100, 700];
  expect(rate.sample()).toBe(2);
  decisions = 900;
  expect(rate.sample()).toBe(2);
  nowMs = 1_500;
  expect(rate.sample()).toBe(0.5);
  nowMs = 1_600;
  expect(rate.sample()).toBe(0);
});
