import { expect, test } from 'vitest';
import { createBulkThrottle } from './bulk-throttle.ts';

/** Time that passes only where someone waits or works, and decisions that come in meanwhile. */
function world(decisionsPerMs: number) {
  let nowMs = 1_000;
  const spend = (ms: number) => {
    nowMs += ms;
  };
  const waits: number[] = [];
  const way = createBulkThrottle(
    () => nowMs * decisionsPerMs,
    () => nowMs,
    async (ms) => {
      waits.push(ms);
      spend(ms);
    },
  );
  return { way, waits, spend };
}

test('without decisions, bulk requests follow each other at once', async () => {
  const { way, waits, spend } = world(0);
  for (let i = 0; i < 5; i += 1) {
    spend(1);
    await way.turn(async () => spend(100));
  }
  expect(waits).toEqual([]);
});

test('beside decisions, the next one leaves four times what the last one took', async () => {
  const { way, waits, spend } = world(10);
  for (let i = 0; i < 4; i += 1) {
    spend(10);
    await way.turn(async () => spend(100));
  }
  // The first had nobody before it.
  expect(waits).toEqual([390, 390, 390]);
});

test('nobody waits for longer than two seconds after a long one', async () => {
  const { way, waits, spend } = world(10);
  await way.turn(async () => spend(60_000));
  await way.turn(async () => spend(1));
  expect(waits).toEqual([2_000]);
});

test('what fails counts like what does not, and tells its failure', async () => {
  const { way, waits, spend } = world(10);
  spend(1);
  const failing = way.turn(async () => {
    spend(100);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  await way.turn(async () => spend(1));
  expect(waits).toEqual([400]);
});

test('those that come together start one after the other', async () => {
  const { way, waits, spend } = world(10);
  spend(1);
  await way.turn(async () => spend(100));
  const starts: Promise<void>[] = [way.turn(async () => undefined), way.turn(async () => undefined)];
  await Promise.all(starts);
  expect(waits).toEqual([400, 500]);
});
