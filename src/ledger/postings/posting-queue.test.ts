import { expect, test } from 'vitest';
import type { GroupResult, Posting } from '../posting.ts';
import { PostingQueue, type WaitingGroup } from './posting-queue.ts';

const done: GroupResult = { kind: 'done', outcomes: [] };

/** A queue whose first batch is in progress until `finish` is called, and the orgs of each batch. */
function busyQueue(groupsMax?: number) {
  const batches: string[][] = [];
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const queue = new PostingQueue(async (waiting: readonly WaitingGroup<unknown>[]) => {
    batches.push(waiting.map(({ group }) => group.orgId));
    await finished;
    for (const { resolve } of waiting) {
      resolve(done);
    }
  }, groupsMax);
  const add = (orgId: string, postings = 1) =>
    queue.add({ orgId, postings: new Array<Posting>(postings).fill({} as Posting) });
  return { queue, batches, add, finish };
}

test('an org that fills the queue leaves places for the others', async () => {
  const { queue, add, finish } = busyQueue(100);
  const results = Array.from({ length: 120 }, () => add('noisy'));
  const refused = results.slice(90).map((one) => expect(one).rejects.toMatchObject({ name: 'OverCapacity' }));
  const quiet = add('quiet');
  await Promise.all(refused);
  expect(queue.size).toBe(91);
  finish();
  expect(await quiet).toBe(done);
  await Promise.all(results.slice(0, 90));
  await queue.idle();
  expect(queue.size).toBe(0);
});

test('orgs take turns, whatever number of postings each of them has queued', async () => {
  const { batches, add, finish } = busyQueue();
  const first = add('first');
  await new Promise(setImmediate);
  const rest = [
    add('noisy', 900),
    add('noisy', 900),
    add('noisy', 900),
    add('quiet', 1),
    add('other', 1),
    add('quiet', 1),
  ];
  finish();
  await Promise.all([first, ...rest]);
  expect(batches).toEqual([['first'], ['noisy', 'quiet', 'other', 'noisy', 'quiet'], ['noisy']]);
});

test('a group that is larger than a batch gets one of its own', async () => {
  const { batches, add, finish } = busyQueue();
  const first = add('first');
  await new Promise(setImmediate);
  const rest = [add('large', 5_000), add('small', 1)];
  finish();
  await Promise.all([first, ...rest]);
  expect(batches).toEqual([['first'], ['large'], ['small']]);
});

test('a batch has few orgs if many wait, and an org that had none before is in the next one', async () => {
  const { batches, add, finish } = busyQueue();
  const first = add('first');
  await new Promise(setImmediate);
  const noisy = Array.from({ length: 400 }, (_, index) => add(`noisy ${index % 40}`));
  finish();
  let quiet: Promise<unknown> | undefined;
  while (quiet === undefined) {
    await new Promise(setImmediate);
    quiet = batches.length >= 4 ? add('quiet') : undefined;
  }
  const batchesBefore = batches.length;
  await Promise.all([first, quiet, ...noisy]);
  expect(batches.findIndex((orgs) => orgs.includes('quiet')) - batchesBefore).toBeLessThanOrEqual(1);
  for (const orgs of batches) {
    expect(new Set(orgs).size).toBeLessThanOrEqual(16);
  }
});
