import { expect, test } from 'vitest';
import { completed, type Sliced, SlicedWork } from './sliced-work.ts';

let nowMs = 0;
const create = () => new SlicedWork(() => nowMs);
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Pieces of a millisecond, which are noted in the log. */
function* pieces(name: string, count: number, log: string[]): Sliced<string> {
  for (let piece = 0; piece < count; piece += 1) {
    nowMs += 1;
    log.push(name);
    yield;
  }
  return name;
}

test('short work has its result at once', () => {
  const work = create();
  expect(work.run('org_1', pieces('a', 2, []))).toBe('a');
  expect(work.run('org_2', pieces('b', 2, []))).toBe('b');
  expect(completed(pieces('c', 9, []))).toBe('c');
});

test('at most five milliseconds of all work are done in one turn of the event loop', async () => {
  const work = create();
  const log: string[] = [];
  const results = ['a', 'b', 'c'].map((name) => work.run(name, pieces(name, 20, log)));
  const lengths = [log.length];
  while (log.length < 60) {
    await nextTurn();
    lengths.push(log.length);
  }
  lengths.forEach((length, turn) => {
    expect(length - (lengths[turn - 1] ?? 0)).toBeLessThanOrEqual(5);
  });
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c']);
});

test('a tenant with little work overtakes one with much', async () => {
  const work = create();
  const log: string[] = [];
  const ends: string[] = [];
  const much = ['a1', 'a2', 'a3'].map(async (name) =>
    ends.push(await work.run('org_1', pieces(name, 50, log))),
  );
  await nextTurn();
  const little = (async () => ends.push(await work.run('org_2', pieces('b', 8, log))))();
  await little;
  expect(ends).toEqual(['b']);
  const all = log.length;
  expect(all).toBeLessThan(50);
  await Promise.all(much);
  // The work of one tenant takes turns too.
  expect(new Set(log.slice(0, 30))).toContain('a3');
});

test('an error of one computation does not end the others', async () => {
  const work = create();
  function* failing(): Sliced<void> {
    for (let piece = 0; piece < 10; piece += 1) {
      nowMs += 1;
      yield;
    }
    throw new Error('broken');
  }
  const other = work.run('org_2', pieces('b', 30, []));
  await expect(work.run('org_1', failing())).rejects.toThrow('broken');
  expect(await other).toBe('b');
  await nextTurn();
  expect(work.run('org_1', pieces('c', 1, []))).toBe('c');
});
