import { afterEach, expect, test, vi } from 'vitest';
import { FairQueue } from './fair-queue.ts';

const usual = { resource: 'the test', concurrency: 20, waitingMax: 100, waitMsMax: 60_000 };

/** Work that still runs or waits at the end of a test would be rejected during a later one. */
const unfinished: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const finishAll of unfinished.splice(0)) {
    await finishAll();
  }
});

/** Work that lasts until `finishOne` is called, and the order in which work has started. */
function workOn(queue: FairQueue) {
  const started: string[] = [];
  const finishes: (() => void)[] = [];
  const run = (tenant?: string) =>
    queue.run(tenant, () => {
      started.push(tenant ?? 'service');
      return new Promise<void>((resolve) => finishes.push(resolve));
    });
  const finishOne = async () => {
    finishes.shift()?.();
    await new Promise(setImmediate);
  };
  unfinished.push(async () => {
    while (finishes.length > 0) {
      await finishOne();
    }
    expect(queue.waiting).toBe(0);
  });
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
  expect(started).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a']);
  expect(queue.waiting).toBe(0);
});

test('the next turn is that of a quiet tenant, however many others wait', async () => {
  const queue = new FairQueue({ ...usual, concurrency: 1, waitingMax: 1_000 });
  const { started, run, finishOne } = workOn(queue);
  for (let n = 0; n < 500; n += 1) {
    void run(`noisy ${n % 100}`);
  }
  for (let n = 0; n < 200; n += 1) {
    await finishOne();
  }
  void run('quiet');
  await finishOne();
  expect(started.at(-1)).toBe('quiet');
  for (let n = 0; n < 300; n += 1) {
    await finishOne();
  }
  expect(started).toHaveLength(501);
});

test('a full queue rejects work of the tenant with the longest one, and not of the tenant that arrives', async () => {
  const queue = new FairQueue({ ...usual, concurrency: 1, waitingMax: 100 });
  const { started, run, finishOne } = workOn(queue);
  const results = new Map<string, Promise<string>[]>();
  const add = (tenant: string) => {
    const outcome = run(tenant).then(
      () => 'done',
      (error: Error) => error.name,
    );
    results.set(tenant, [...(results.get(tenant) ?? []), outcome]);
  };
  void run('first');
  for (let n = 0; n < 200; n += 1) {
    add(`noisy ${n % 20}`);
  }
  for (let n = 0; n < 30; n += 1) {
    add(`quiet ${n}`);
  }
  expect(queue.waiting).toBe(100);
  while (queue.waiting > 0 || queue.running > 0) {
    await finishOne();
  }
  const outcomes = async (prefix: string) =>
    (
      await Promise.all(
        [...results].filter(([tenant]) => tenant.startsWith(prefix)).flatMap(([, each]) => each),
      )
    ).filter((outcome) => outcome === 'OverCapacity').length;
  expect(await outcomes('quiet')).toBe(0);
  expect(await outcomes('noisy')).toBe(130);
  expect(started).toHaveLength(101);
});

test('work of the service and of tenants get the same time, however long their turns are', async () => {
  let nowMs = 0;
  const queue = new FairQueue({ ...usual, concurrency: 1, nowMs: () => nowMs });
  const { started, run, finishOne } = workOn(queue);
  for (let n = 0; n < 10; n += 1) {
    void run();
  }
  for (let n = 0; n < 60; n += 1) {
    void run(`tenant ${n % 30}`);
  }
  for (let n = 0; n < 66; n += 1) {
    nowMs += started.at(-1) === 'service' ? 20 : 2;
    await finishOne();
  }
  const turnsOfService = started.filter((tenant) => tenant === 'service').length;
  expect(turnsOfService).toBeGreaterThanOrEqual(6);
  expect(turnsOfService).toBeLessThanOrEqual(8);
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

test('starts no more than the present limit, and then a quiet tenant first', async () => {
  let limit = 20;
  const queue = new FairQueue({ ...usual, limit: () => limit });
  const { started, run, finishOne } = workOn(queue);
  void run('noisy');
  void run('noisy');
  limit = 2;
  void run('noisy');
  void run('noisy');
  void run('quiet');
  expect(started).toHaveLength(2);
  await finishOne();
  expect(started).toEqual(['noisy', 'noisy', 'quiet']);
  expect(queue.waiting).toBe(2);
});

test('work that lasts long does not keep others from starting at the present limit', async () => {
  vi.useFakeTimers();
  try {
    const queue = new FairQueue({ ...usual, limit: () => 2 });
    const { started, run } = workOn(queue);
    for (const tenant of ['slow', 'slow', 'quiet']) {
      void run(tenant);
    }
    expect(started).toEqual(['slow', 'slow']);
    await vi.advanceTimersByTimeAsync(50);
    expect(started).toEqual(['slow', 'slow', 'quiet']);
  } finally {
    vi.useRealTimers();
  }
});
