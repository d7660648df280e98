import { expect, test } from 'vitest';
import { TurnOrder } from './turn-order.ts';

const noisy = Array.from({ length: 100 }, (_, index) => `noisy ${index}`);

/** Gives turns to tenants that always wait; returns them in order. */
function turns(order: TurnOrder, tenants: readonly string[], count: number): string[] {
  return Array.from({ length: count }, () => {
    const tenant = order.first(tenants) as string;
    order.count(tenant);
    return tenant;
  });
}

test('tenants that always wait take turns', () => {
  expect(turns(new TurnOrder(), ['a', 'b', 'c'], 7)).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a']);
});

test('a tenant that comes back overtakes a hundred busy ones', () => {
  const order = new TurnOrder();
  turns(order, noisy, 5_000);
  expect(turns(order, [...noisy, 'quiet'], 1)).toEqual(['quiet']);
});

test('a tenant that comes back overtakes the others sixteen times at most before it takes turns with them', () => {
  const order = new TurnOrder();
  turns(order, noisy, 5_000);
  const taken = turns(order, [...noisy, 'back'], 1_000);
  expect(taken.slice(0, 20).filter((tenant) => tenant === 'back').length).toBeLessThanOrEqual(17);
  expect(taken.filter((tenant) => tenant === 'back').length).toBeLessThanOrEqual(17 + 10);
  expect(new Set(taken).size).toBe(101);
});

test('a tenant with a turn in every other round stays ahead of those with one in each', () => {
  const order = new TurnOrder();
  turns(order, noisy, 5_000);
  for (let round = 0; round < 100; round += 1) {
    expect(order.first([...noisy, 'quiet'])).toBe('quiet');
    order.count('quiet');
    turns(order, noisy, 200);
  }
});

test('a stream of new tenants does not starve the others', () => {
  const order = new TurnOrder();
  turns(order, noisy, 5_000);
  let served = 0;
  for (let n = 0; n < 4_000; n += 1) {
    // Two tenants that were never seen before wait at any time, each with very much work.
    const group = Math.floor(n / 40);
    const [tenant = ''] = turns(order, [...noisy, `new ${group}`, `newer ${group}`], 1);
    served += tenant.startsWith('noisy') ? 1 : 0;
  }
  expect(served).toBeGreaterThan(500);
});

test('keeps nothing of tenants that are as far behind as new ones', () => {
  const order = new TurnOrder(2);
  for (let n = 0; n < 10_000; n += 1) {
    order.count(`once ${n}`);
    order.count('always');
  }
  expect(order.size).toBeLessThanOrEqual(2_000);
});
