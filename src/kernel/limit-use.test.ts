import { expect, test } from 'vitest';
import type { Counter, LimitWindow } from './admission.ts';
import { fullestLimit, warningOf } from './limit-use.ts';
import type { Limit } from './limits.ts';
import { lifetime, type Window } from './windows.ts';

const day: Window = { startMs: 0, endMs: 86_400_000 };

function use(...limits: (Partial<Limit> & { readonly settled: bigint; readonly window?: Window })[]) {
  const counters = new Map<string, Counter>();
  const windows = limits.map(({ settled, window = day, ...limit }, index): LimitWindow => {
    const key = String(index);
    counters.set(key, { settled, held: 50n, growth: 0n, alerted: 0, endMs: window.endMs });
    const usual = { unit: 'usd', kind: 'budget', enforcement: 'block', capacity: 100n };
    return { key, window, limit: { ...usual, ...limit } as Limit };
  });
  return fullestLimit(counters, windows);
}

test('the fullest limit is the one with the largest settled part, whatever is held', () => {
  expect(use({ settled: 79n }, { settled: 160n, capacity: 200n })).toEqual({ percent: 80, window: day });
  expect(use({ settled: 10n, capacity: 0n })).toMatchObject({ percent: 100 });
  expect(use({ settled: 1n, window: lifetime })).toEqual({ percent: 1, window: null });
});

test('only limits of cost that block have a part that is used', () => {
  expect(
    use(
      { settled: 99n, unit: 'tokens' },
      { settled: 99n, enforcement: 'alert' },
      { settled: 99n, kind: 'prepaid' },
      { settled: 99n, kind: 'credits' },
    ),
  ).toBeUndefined();
});

test('warns at 80 and at 95 percent', () => {
  const warning = (percent: number) => warningOf({ percent, window: null });
  expect([79, 80, 94, 95, 104].map(warning)).toEqual([undefined, 80, 80, 95, 95]);
});
