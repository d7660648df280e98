import { expect, test } from 'vitest';
import { coalesced } from './coalesce.ts';

/** Sets up work that ends only when the test ends it, and a clock that advances only when the code waits. */
function setUp() {
  let nowMs = 0;
  const waits: number[] = [];
  const rounds: { end(result: string): void; fail(): void }[] = [];
  const call = coalesced(
    () =>
      new Promise<string>((resolve, reject) => {
        rounds.push({ end: resolve, fail: () => reject(new Error('no')) });
      }),
    {
      everyMs: 1_000,
      nowMs: () => nowMs,
      wait: async (ms) => {
        waits.push(ms);
        nowMs += ms;
      },
    },
  );
  const started = async (count: number) => {
    while (rounds.length < count) {
      await Promise.resolve();
    }
  };
  return { call, rounds, waits, started };
}

test('calls during a round share the next round, which starts a second later at the earliest', async () => {
  const { call, rounds, waits, started } = setUp();
  const first = call();
  await started(1);
  const later = [call(), call(), call()];
  rounds[0]?.end('first');
  expect(await first).toBe('first');
  await started(2);
  rounds[1]?.end('second');
  expect(await Promise.all(later)).toEqual(['second', 'second', 'second']);
  expect([rounds.length, waits]).toEqual([2, [1_000]]);
});

test('a failed round only fails its own callers', async () => {
  const { call, rounds, started } = setUp();
  const first = call();
  await started(1);
  const second = call();
  rounds[0]?.fail();
  await expect(first).rejects.toThrow('no');
  await started(2);
  rounds[1]?.end('good');
  expect(await second).toBe('good');
});
