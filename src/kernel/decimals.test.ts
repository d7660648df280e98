import { expect, test } from 'vitest';
import { formatDecimal, roundedQuotient } from './decimals.ts';

test('a quotient is rounded to the nearest integer, halves away from zero', () => {
  const quotients = [7n, 8n, 9n, 10n, -7n, -9n, -10n, 0n].map((dividend) => roundedQuotient(dividend, 4n));
  expect(quotients).toEqual([2n, 2n, 2n, 3n, -2n, -2n, -3n, 0n]);
});

test('a decimal is written without exponent and without superfluous zeros', () => {
  expect(formatDecimal(1n, 24)).toBe('0.000000000000000000000001');
  expect(formatDecimal(-1_500n, 3)).toBe('-1.5');
  expect(formatDecimal(1_000n, 3)).toBe('1');
  expect(formatDecimal(0n, 9)).toBe('0');
  expect(formatDecimal(42n, 0)).toBe('42');
});
