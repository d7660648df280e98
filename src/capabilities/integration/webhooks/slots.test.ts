import { expect, test } from 'vitest';
import { Slots } from './slots.ts';

/** Fake work that runs until the test ends it. */
function bench(slots: Slots) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    started,
    begin: (orgId: string, name: string) =>
      slots.use(orgId, () => {
        started.push(name);
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
      }),
    async end(name: string) {
      ends.get(name)?.();
      await new Promise(setImmediate);
    },
  };
}

test('limits an org to its share; free slots remain for others', async () => {
  const { started, begin, end } = bench(new Slots(4, 2));
  for (const name of ['a1', 'a2', 'a3', 'a4']) {
    void begin('a', name);
  }
  void begin('b', 'b1');
  await new Promise(setImmediate);
  expect(started).toEqual(['a1', 'a2', 'b1']);
  await end('a1');
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('serves waiting orgs in turn, however much work one of them has', async () => {
  const { started, begin, end } = bench(new Slots(1, 1));
  for (const name of ['a1', 'a2', 'a3']) {
    void begin('a', name);
  }
  void begin('b', 'b1');
  await new Promise(setImmediate);
  for (const name of ['a1', 'a2', 'b1']) {
    await end(name);
  }
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('starts nothing after it was closed, including waiting work', async () => {
  const slots = new Slots(1, 1);
  const { started, begin, end } = bench(slots);
  const first = begin('a', 'first');
  const second = begin('a', 'second');
  await new Promise(setImmediate);
  slots.close();
  await end('first');
  expect([await first, await second, await begin('b', 'third')]).toEqual(['first', undefined, undefined]);
  expect(started).toEqual(['first']);
});
