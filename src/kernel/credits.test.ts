import { describe, expect, test } from 'vitest';
import { limitOf } from '../../test/support/ledger-values.ts';
import { burn, inBurnOrder, isLive, type Pack, unburn } from './credits.ts';
import type { Limit } from './limits.ts';

const pack = (id: string, fields: Partial<Limit> = {}) =>
  limitOf({ id, kind: 'credits', capacity: 10n, span: { kind: 'lifetime' }, ...fields });
const left = (id: string, amount: bigint): Pack => ({ limit: pack(id), key: `${id}@0`, left: amount });
const take = (id: string, amount: bigint) => ({ key: `${id}@0`, amount });

describe('a pack', () => {
  test('a credit pack is live before its expiry and not at it', () => {
    expect(isLive(pack('p', { expiresAtMs: 1_000 }), 999)).toBe(true);
    expect(isLive(pack('p', { expiresAtMs: 1_000 }), 1_000)).toBe(false);
    expect(isLive(pack('p'), Number.MAX_SAFE_INTEGER)).toBe(true);
  });

  test('credit packs burn in the order of expiry, then creation, then id', () => {
    const inOrder = [
      pack('z', { expiresAtMs: 100, createdAtMs: 9 }),
      pack('y', { expiresAtMs: 200, createdAtMs: 1 }),
      pack('a', { expiresAtMs: 200, createdAtMs: 2 }),
      pack('b', { expiresAtMs: 200, createdAtMs: 2 }),
      pack('d', { expiresAtMs: null, createdAtMs: 0 }),
      pack('c', { expiresAtMs: null, createdAtMs: 5 }),
    ];
    const ids = inOrder.map(({ id }) => id);
    expect(
      [...inOrder]
        .reverse()
        .sort(inBurnOrder)
        .map(({ id }) => id),
    ).toEqual(ids);
    const shuffled = [3, 5, 0, 4, 2, 1].map((i) => inOrder[i] as Limit);
    expect(shuffled.sort(inBurnOrder).map(({ id }) => id)).toEqual(ids);
  });
});

describe('burning', () => {
  test('uses up one pack after the other', () => {
    const packs = [left('a', 3n), left('b', 0n), left('c', 5n), left('d', 9n)];
    expect(burn(packs, 7n)).toEqual({ debits: [take('a', 3n), take('c', 4n)], rest: 0n });
    expect(burn(packs, 3n)).toEqual({ debits: [take('a', 3n)], rest: 0n });
    expect(burn(packs, 17n)).toEqual({ debits: [take('a', 3n), take('c', 5n), take('d', 9n)], rest: 0n });
  });

  test('returns the uncovered rest', () => {
    expect(burn([left('a', 3n)], 4n)).toEqual({ debits: [take('a', 3n)], rest: 1n });
    expect(burn([], 4n)).toEqual({ debits: [], rest: 4n });
  });

  test('burning takes nothing from packs for an amount of zero', () => {
    expect(burn([left('a', 3n)], 0n)).toEqual({ debits: [], rest: 0n });
  });
});

describe('giving back', () => {
  const takes = [take('a', 3n), take('b', 4n), take('c', 5n)];

  test.each([
    [0n, takes],
    [4n, [take('a', 3n), take('b', 4n), take('c', 1n)]],
    [5n, [take('a', 3n), take('b', 4n)]],
    [8n, [take('a', 3n), take('b', 1n)]],
    [12n, []],
    [99n, []],
  ])('%d starts with the last debit', (amount, kept) => {
    expect(unburn(takes, amount)).toEqual(kept);
  });

  test('does not change its input', () => {
    unburn(takes, 8n);
    expect(takes).toHaveLength(3);
  });
});
