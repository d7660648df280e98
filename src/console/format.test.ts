import { expect, test } from 'vitest';
import { percent } from './format.ts';

test('a positive share is never rounded to zero', () => {
  expect([0, 0.0001, 0.005, 0.5].map(percent)).toEqual(['0%', '<1%', '1%', '50%']);
});
