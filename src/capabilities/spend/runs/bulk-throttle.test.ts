import { expect, test } from 'vitest';
import { createBulkThrottle } from './bulk-throttle.ts';

/** A fake clock that advances only while a bulk request waits or works, at a constant decision rate. */
function createFixture(decisionsPerMs: number) {
  let nowMs = 1_000;
  const spend = (ms: number) => {
    nowMs += ms;
  };
  const waits: number[] = [];
  const throttle = createBulkThrottle(
    () => nowMs * decisionsPerMs,
    () => nowMs,
    async (ms) => {
      waits.push(ms);
      spend(ms);
    },
  );
  return { throttle, waits, spend };
}

test('does not delay bulk requests while there are no decisions', async () => {
  const { throttle, waits, spend } = createFixture(0);
  for (let i = 0; i < 5; i += 1) {
    spend(1);
    await throttle.run(async () => spend(100));
  }
  expect(waits).toEqual([]);
});

test('pauses for four times the duration of the last bulk request while decisions are made', async () => {
  const { throttle, waits, spend } = createFixture(10);
  for (let i = 0; i < 4; i += 1) {
    spend(10);
    await throttle.run(async () => spend(100));
  }
  // The first request does not wait.
  expect(waits).toEqual([390, 390, 390]);
});

test('waits at most two seconds after a long bulk request', async () => {
  const { throttle, waits, spend } = createFixture(10);
  await throttle.run(async () => spend(60_000));
  await throttle.run(async () => spend(1));
  expect(waits).toEqual([2_000]);
});

test('counts the duration of a failed request and rethrows its error', async () => {
  const { throttle, waits, spend } = createFixture(10);
  spend(1);
  const failing = throttle.run(async () => {
    spend(100);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  await throttle.run(async () => spend(1));
  expect(waits).toEqual([400]);
});

test('starts concurrent bulk requests one after the other', async () => {
  const { throttle, waits, spend } = createFixture(10);
  spend(1);
  await throttle.run(async () => spend(100));
  const starts: Promise<void>[] = [throttle.run(async () => undefined), throttle.run(async () => undefined)];
  await Promise.all(starts);
  expect(waits).toEqual([400, 500]);
});
