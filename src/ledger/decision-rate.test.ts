import { expect, test } from 'vitest';
import { createDecisionRate } from './decision-rate.ts';

test('tells what came in since the last look, and the same again where no time has passed', () => {
  let [nowMs, decisions] = [1_000, 500];
  const pace = createDecisionRate(
    () => decisions,
    () => nowMs,
  );
  expect(pace.sample()).toBe(0);
  [nowMs, decisions] = [1_100, 700];
  expect(pace.sample()).toBe(2);
  decisions = 900;
  expect(pace.sample()).toBe(2);
  nowMs = 1_500;
  expect(pace.sample()).toBe(0.5);
  nowMs = 1_600;
  expect(pace.sample()).toBe(0);
});
