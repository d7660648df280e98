import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seedsOf } from '../../test/support/seeds.ts';
import { formatUsd, maxNanos, parseSignedUsd, parseUsd } from './money.ts';

const { forAll } = seedsOf('money');

describe('an amount of money', () => {
  test.each([
    ['0', 0n],
    ['0.0', 0n],
    ['1', 1_000_000_000n],
    ['0.000000001', 1n],
    ['0.1', 100_000_000n],
    ['12.340000000', 12_340_000_000n],
    ['007', 7_000_000_000n],
    ['0000000001.5', 1_500_000_000n],
    ['8999999999.999999999', 8_999_999_999_999_999_999n],
    // Beyond what a float holds exactly.
    ['9007199.254740993', 9_007_199_254_740_993n],
  ])('%s is %d nanodollars', (text, nanos) => {
    expect(parseUsd(text)).toBe(nanos);
    expect(parseSignedUsd(text)).toBe(nanos);
  });

  test.each([
    '',
    ' ',
    '-',
    '.',
    '-1',
    '+1',
    '1e3',
    '1E-3',
    '1.',
    '.5',
    '1.2.3',
    '1,5',
    '1_000',
    '0x10',
    '0b1',
    ' 1',
    '1 ',
    '1\n',
    '\u00a01',
    '1.0000000000',
    '0.1234567891',
    '9000000000',
    '9000000000.0',
    '9999999999.999999999',
    '10000000000',
    '00000000001',
    'NaN',
    'Infinity',
    'null',
    '１', // full width
    '٣', // Arabic-Indic
    '𝟙', // mathematical
    '1.٣',
    '−1', // a minus sign that is not a hyphen
    '$1',
    '½',
  ])('%j is rejected', (text) => {
    expect(parseUsd(text)).toBeUndefined();
    if (text !== '-1') {
      expect(parseSignedUsd(text)).toBeUndefined();
    }
  });

  test.each([
    ['-1', -1_000_000_000n],
    ['-0.000000001', -1n],
    ['-8999999999.999999999', -maxNanos],
    ['-0', 0n],
  ])('a signed amount may be %s', (text, nanos) => {
    expect(parseSignedUsd(text)).toBe(nanos);
    expect(parseUsd(text)).toBeUndefined();
  });

  test.each(['--1', '-+1', '+-1', '- 1', '-', '-9000000000', '-1e3'])(
    'a signed amount must not be %s',
    (text) => {
      expect(parseSignedUsd(text)).toBeUndefined();
    },
  );

  test.each([
    [0n, '0'],
    [1n, '0.000000001'],
    [10n, '0.00000001'],
    [100_000_000n, '0.1'],
    [1_000_000_000n, '1'],
    [10_000_000_000n, '10'],
    [1_010_000_000n, '1.01'],
    [maxNanos, '8999999999.999999999'],
    [-1n, '-0.000000001'],
    [-1_500_000_000n, '-1.5'],
    // Sums may be larger than any single amount.
    [2n * maxNanos, '17999999999.999999998'],
  ])('%d nanodollars are formatted as %s', (nanos, text) => {
    expect(formatUsd(nanos)).toBe(text);
  });

  test('an amount of money survives formatting and parsing exactly, with the shortest text', () => {
    forAll(
      fc.property(fc.bigInt({ min: -maxNanos, max: maxNanos }), (nanos) => {
        const text = formatUsd(nanos);
        expect(parseSignedUsd(text)).toBe(nanos);
        expect(text).not.toMatch(/\.\d*0$|\.$|^-?0\d/);
      }),
    );
  });

  test('fits a 64-bit integer', () => {
    expect(maxNanos).toBeLessThan(2n ** 63n);
  });
});
