import { expect, test } from 'vitest';
import { createYielder } from './yielder.ts';

test('yields to the event loop after five milliseconds of work', async () => {
  let nowMs = 1_000;
  const yielder = createYielder(() => nowMs);
  let served = 0;
  const servedAfterPiece: number[] = [];
  for (let piece = 1; piece <= 12; piece += 1) {
    setImmediate(() => {
      served += 1;
    });
    nowMs += 1;
    await yielder.yieldIfDue();
    servedAfterPiece.push(served);
  }
  // Each yield serves everything that is waiting; nothing is served in between.
  expect(servedAfterPiece).toEqual([0, 0, 0, 0, 5, 5, 5, 5, 5, 10, 10, 10]);
});

test('does not return a promise before the budget is used up', () => {
  expect(createYielder(() => 0).yieldIfDue()).toBeUndefined();
});
