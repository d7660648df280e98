import fc from 'fast-check';
import { expect, test } from 'vitest';
import { seedsOf } from '../../../../test/support/seeds.ts';
import { projectLinearly } from './linear.ts';

const { forAll } = seedsOf('linear-forecast');

test('twice the teams have twice the value, cost and return', () => {
  expect(projectLinearly({ valueNanos: 900n, costNanos: 300n, teams: 3n }, 6n)).toEqual({
    valueNanos: 1_800n,
    costNanos: 600n,
    returnNanos: 1_200n,
  });
});

test('rounds once, to the nearest, halves away from zero', () => {
  const ofThree = (nanos: bigint, teams: bigint) =>
    projectLinearly({ valueNanos: nanos, costNanos: 0n, teams }, 1n).valueNanos;
  expect([ofThree(1n, 3n), ofThree(2n, 3n), ofThree(1n, 2n), ofThree(-1n, 2n), ofThree(-1n, 3n)]).toEqual([
    0n,
    1n,
    1n,
    -1n,
    0n,
  ]);
  // A third times three is the whole: rounding loses nothing.
  expect(projectLinearly({ valueNanos: 100n, costNanos: 1n, teams: 3n }, 3n).valueNanos).toBe(100n);
});

test('differs by at most half a nanodollar, and its three figures agree', () => {
  const nanos = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n });
  const count = fc.bigInt({ min: 1n, max: 1_000_000n });
  forAll(
    fc.property(nanos, nanos, count, count, (valueNanos, costNanos, teams, wanted) => {
      const forecast = projectLinearly({ valueNanos, costNanos, teams }, wanted);
      const error = 2n * (forecast.valueNanos * teams - valueNanos * wanted);
      expect(error <= teams && -error <= teams).toBe(true);
      expect(forecast.returnNanos).toBe(forecast.valueNanos - forecast.costNanos);
    }),
  );
});
