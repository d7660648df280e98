import { expect, test } from 'vitest';
import { takingTurns } from './yielder.ts';

test('work yields to others once it took five milliseconds since they had their last turn', async () => {
  let nowMs = 1_000;
  const othersTurn = takingTurns(() => nowMs);
  let served = 0;
  const servedAfterPiece: number[] = [];
  for (let piece = 1; piece <= 12; piece += 1) {
    setImmediate(() => {
      served += 1;
    });
    nowMs += 1;
    await othersTurn();
    servedAfterPiece.push(served);
  }
  // All that waited until then had its turn, and nothing in between.
  expect(servedAfterPiece).toEqual([0, 0, 0, 0, 5, 5, 5, 5, 5, 10, 10, 10]);
});

test('short work does not yield', () => {
  expect(takingTurns(() => 0)()).toBeUndefined();
});
