import { expect, test } from 'vitest';
import { FairShare } from './fair-share.ts';

/** Takes units until the pool refuses one. */
function fill(pool: FairShare, tenant: string): number {
  let taken = 0;
  while (pool.tryTake(tenant)) {
    taken += 1;
  }
  return taken;
}

test('lets one tenant use nine tenths, and keeps the last tenth for others', () => {
  const pool = new FairShare({ capacity: 1_000 });
  expect(fill(pool, 'noisy')).toBe(900);
  expect(fill(pool, 'quiet')).toBe(10);
  expect(pool.used).toBe(910);
  pool.release('quiet', 10);
  expect(pool.usedBy('quiet')).toBe(0);
  expect(pool.tryTake('quiet')).toBe(true);
});

test('never exceeds the capacity, and needs eleven tenants to be full', () => {
  const pool = new FairShare({ capacity: 1_000 });
  const taken = Array.from({ length: 12 }, (_, tenant) => fill(pool, `tenant ${tenant}`));
  expect(taken).toEqual([900, 10, 10, 10, 10, 10, 10, 10, 10, 10, 9, 1]);
  expect(pool.used).toBe(1_000);
});

test('a tenant above its share takes more again once others have released enough', () => {
  const pool = new FairShare({ capacity: 100 });
  fill(pool, 'noisy');
  fill(pool, 'quiet');
  expect(pool.tryTake('noisy')).toBe(false);
  pool.release('noisy', 10);
  expect(fill(pool, 'noisy')).toBe(9);
});

test('counts what must be taken beyond every bound, and admits again once it is released', () => {
  const pool = new FairShare({ capacity: 10 });
  pool.take('restored', 25);
  expect(pool.tryTake('other')).toBe(false);
  pool.release('restored', 20);
  expect(pool.tryTake('other')).toBe(true);
});

test('a pool that is too small for a reserve is used completely', () => {
  expect(fill(new FairShare({ capacity: 3 }), 'only')).toBe(3);
});

test('applies the maximum of a tenant also to an empty pool', () => {
  expect(fill(new FairShare({ capacity: 20, perTenantMax: 5 }), 'one')).toBe(5);
});

test('a larger share admits one large amount of a quiet tenant', () => {
  const pool = new FairShare({ capacity: 1_000, shareMax: 40 });
  pool.take('noisy', 900);
  expect([pool.tryTake('quiet', 41), pool.tryTake('quiet', 40), pool.tryTake('quiet')]).toEqual([
    false,
    true,
    false,
  ]);
});

test('rejects a release of more than was taken', () => {
  expect(() => new FairShare({ capacity: 1 }).release('nothing')).toThrow('more was released');
});
