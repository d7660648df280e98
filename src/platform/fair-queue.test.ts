import { expect, test, vi } from 'vitest';
import { FairQueue } from './fair-queue.ts';

const usual = { resource: 'the test', concurrency: 20, waitingMax: 100, waitMsMax: 60_000 };

/** Work that lasts until `finish` is called, and the order in which work has started. */
function workOn(queue: FairQueue) {
  const started: string[] = [];
  const finishes: (() => void)[] = [];
  const run = (tenant: string) =>
    queue.run(tenant, () => {
      started.push(tenant);
      return new Promise<void>((resolve) => finishes.push(resolve));
    });
  const finishOne = async () => {
    finishes.shift()?.();
    await new Promise(setImmediate);
  };
  return { started, run, finishOne };
}

test('a tenant with much work leaves room to run for the others', async () => {
  const { started, run, finishOne } = workOn(new FairQueue(usual));
  const all = Array.from({ length: 50 }, () => run('noisy'));
  expect(started).toHaveLength(18);
  all.push(run('quiet'));
  expect(started.at(-1)).toBe('quiet');
  for (let n = 0; n < 51; n += 1) {
    await finishOne();
  }
  await Promise.all(all);
  expect(started).toHaveLength(51);
});

test('tenants take turns', async () => {
  const queue = new FairQueue({ ...usual, concurrency: 1 });
  const { started, run, finishOne } = workOn(queue);
  for (const tenant of ['a', 'a', 'a', 'a', 'b', 'c', 'b']) {
    void run(tenant);
  }
  for (let n = 0; n < 7; n += 1) {
    await finishOne();
  }
  expect(started).toEqual(['a', 'a', 'b', 'c', 'a', 'b', 'a']);
  expect(queue.waiting).toBe(0);
});

test('rejects what does not fit, and leaves places for other tenants', async () => {
  const queue = new FairQueue({ ...usual, concurrency: 1 });
  const { run, finishOne } = workOn(queue);
  const results = Array.from({ length: 100 }, () => run('noisy').catch((error: Error) => error.name));
  const quiet = run('quiet');
  expect(queue.waiting).toBe(91);
  for (let n = 0; n < 92; n += 1) {
    await finishOne();
  }
  await quiet;
  expect((await Promise.all(results)).filter((name) => name === 'OverCapacity')).toHaveLength(9);
});

test('rejects what has waited for too long, and goes on', async () => {
  vi.useFakeTimers();
  try {
    const queue = new FairQueue({ ...usual, concurrency: 1, waitMsMax: 1_000 });
    let finish = () => {};
    const first = queue.run('a', () => new Promise<void>((resolve) => (finish = resolve)));
    const second = queue.run('b', async () => 'late');
    const refused = expect(second).rejects.toMatchObject({
      name: 'OverCapacity',
      message: 'the test is busy',
    });
    await vi.advanceTimersByTimeAsync(1_000);
    await refused;
    expect(queue.waiting).toBe(0);
    finish();
    await first;
    expect(await queue.run('b', async () => 'now')).toBe('now');
  } finally {
    vi.useRealTimers();
  }
});

test('releases its place if the work fails', async () => {
  const queue = new FairQueue({ ...usual, concurrency: 1 });
  await expect(queue.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await queue.run('a', async () => 'works')).toBe('works');
});
