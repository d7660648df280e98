import { expect, test } from 'vitest';
import { coalesced } from './coalesce.ts';

/** Work that ends when the test says so, on a clock that only waiting moves. */
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
  const begun = async (count: number) => {
    while (rounds.length < count) {
      await Promise.resolve();
    }
  };
  return { call, rounds, waits, begun };
}

test('calls during a round share the next one, which begins a second after it at the earliest', async () => {
  const { call, rounds, waits, begun } = setUp();
  const first = call();
  await begun(1);
  const later = [call(), call(), call()];
  rounds[0]?.end('first');
  expect(await first).toBe('first');
  await begun(2);
  rounds[1]?.end('second');
  expect(await Promise.all(later)).toEqual(['second', 'second', 'second']);
  expect([rounds.length, waits]).toEqual([2, [1_000]]);
});

test('a failed round fails its own callers only', async () => {
  const { call, rounds, begun } = setUp();
  const first = call();
  await begun(1);
  const second = call();
  rounds[0]?.fail();
  await expect(first).rejects.toThrow('no');
  await begun(2);
  rounds[1]?.end('good');
  expect(await second).toBe('good');
});
