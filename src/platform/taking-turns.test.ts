import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { takingTurns } from './taking-turns.ts';

const work = (ms: number) => {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs) {
    // Busy.
  }
};

test('long work lets others have their turn in between', async () => {
  let turns = 0;
  let ended = false;
  const others = () => {
    if (!ended) {
      turns += 1;
      setImmediate(others);
    }
  };
  setImmediate(others);
  const othersTurn = takingTurns();
  for (let i = 0; i < 50; i += 1) {
    work(1);
    await othersTurn();
  }
  ended = true;
  expect(turns).toBeGreaterThanOrEqual(5);
});

test('short work waits for nobody', () => {
  expect(takingTurns()()).toBeUndefined();
});
