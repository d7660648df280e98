import { expect, test } from 'vitest';
import { OverCapacity } from '../../service-unavailable.ts';
import { DatabaseUnavailable } from '../database.ts';
import { FairMutex } from './fair-mutex.ts';

/** Takes the mutex until the returned function is called. */
function occupy(mutex: FairMutex): () => Promise<void> {
  let resolve = () => {};
  const promise = new Promise<void>((end) => {
    resolve = end;
  });
  const work = mutex.take(() => promise);
  return () => {
    resolve();
    return work;
  };
}

test('serves callers one at a time, in their order', async () => {
  const mutex = new FairMutex('the database', 1_000);
  const release = occupy(mutex);
  const order: number[] = [];
  const callers = [1, 2, 3].map((n) => mutex.take(async () => order.push(n)));
  expect([mutex.busy, mutex.waiting, order]).toEqual([true, 3, []]);
  await release();
  await Promise.all(callers);
  expect([mutex.busy, mutex.waiting, order]).toEqual([false, 0, [1, 2, 3]]);
});

test('rejects a caller that waits too long with OverCapacity, which is not DatabaseUnavailable', async () => {
  const mutex = new FairMutex('the database', 10);
  const release = occupy(mutex);
  const error = await mutex.take(async () => undefined).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(OverCapacity);
  expect(error).not.toBeInstanceOf(DatabaseUnavailable);
  expect(mutex.waiting).toBe(0);
  await release();
});

test('rejects callers beyond a full queue at once, without running their work', async () => {
  const mutex = new FairMutex('the database', 10_000);
  const release = occupy(mutex);
  const waiting = Array.from({ length: 1_000 }, () => mutex.take(async () => 'served'));
  let ran = false;
  const beyond = mutex.take(async () => {
    ran = true;
  });
  await expect(beyond).rejects.toThrow(OverCapacity);
  await release();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['served']));
  expect(ran).toBe(false);
});
