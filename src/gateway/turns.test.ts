import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('a burst is spread over turns of the event loop, in its order', async () => {
  const turns = new Turns(3);
  const started: number[] = [];
  const work = async (number: number) => {
    await turns.next();
    started.push(number);
  };
  const all = Array.from({ length: 8 }, (_, number) => work(number));
  const counts: number[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    await nextTurn();
    counts.push(started.length);
  }
  await Promise.all(all);
  expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(counts[0]).toBeLessThanOrEqual(6);
  expect(counts.at(-1)).toBe(8);
});

test('work that comes one by one never waits', async () => {
  const turns = new Turns(1);
  for (let index = 0; index < 3; index += 1) {
    expect(turns.next()).toBeUndefined();
    await nextTurn();
    await nextTurn();
  }
});

test('later work does not overtake what waits', async () => {
  const turns = new Turns(1);
  expect(turns.next()).toBeUndefined();
  const started: string[] = [];
  const first = turns.next()?.then(() => started.push('first'));
  await nextTurn();
  const second = turns.next()?.then(() => started.push('second'));
  await Promise.all([first, second]);
  expect(started).toEqual(['first', 'second']);
});
