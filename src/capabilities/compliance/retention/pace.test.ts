import { expect, test } from 'vitest';
import { pauseMsAfter } from './job.ts';

test('pauses in proportion to the batch, four times as long while decisions are made, and never for minutes', () => {
  expect(pauseMsAfter(100, 0)).toBe(300);
  expect(pauseMsAfter(100, 1)).toBe(1_200);
  expect(pauseMsAfter(60_000, 1)).toBe(4_000);
});
