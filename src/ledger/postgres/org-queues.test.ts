import { expect, test } from 'vitest';
import type { LedgerCommand } from './ledger-command.ts';
import { OrgQueues, type QueuedOrg } from './org-queues.ts';

const command: LedgerCommand<unknown> = { kind: 'void', holdId: 'dec_1' };

/** Queues whose batches last until `finishOldest` is called, and the orgs of the batches in progress. */
function busyQueues() {
  const running: { readonly orgIds: readonly string[]; finish(): void }[] = [];
  const execute = (batch: readonly QueuedOrg<unknown>[]) =>
    new Promise<void>((resolve) => {
      running.push({
        orgIds: batch.map(({ orgId }) => orgId),
        finish() {
          for (const queued of batch.flatMap(({ commands }) => commands)) {
            queued.resolve({} as never);
          }
          resolve();
        },
      });
    });
  const queues = new OrgQueues<unknown>({
    groupOf: () => 1,
    executeFree: async (batch) => {
      await execute(batch);
      return [];
    },
    executeSoon: async () => [],
    executeAlone: (org) => execute([org]),
  });
  const finishOldest = async () => {
    running.shift()?.finish();
    await settled();
  };
  return { queues, running, finishOldest };
}

async function settled(): Promise<void> {
  await new Promise(setImmediate);
  await new Promise(setImmediate);
}

test('an org with few commands does not wait for the batches of a hundred others', async () => {
  const { queues, running, finishOldest } = busyQueues();
  const noisy = (n: number) => void queues.enqueue(`noisy ${n % 100}`, command);
  for (let n = 0; n < 4_000; n += 1) {
    noisy(n);
  }
  await settled();
  for (let batch = 0; batch < 60; batch += 1) {
    for (let n = 0; n < 100; n += 1) {
      noisy(n);
    }
    await finishOldest();
  }
  const quiet = queues.enqueue('quiet', command);
  await settled();
  const own = running.find(({ orgIds }) => orgIds.includes('quiet'));
  expect(own?.orgIds.length).toBeLessThan(10);
  own?.finish();
  await quiet;
});

test('orgs that are never idle share two batches', async () => {
  const { queues, running, finishOldest } = busyQueues();
  const enqueueAll = () => {
    for (let n = 0; n < 100; n += 1) {
      void queues.enqueue(`org ${n}`, command);
    }
  };
  enqueueAll();
  await settled();
  enqueueAll();
  expect(running.map(({ orgIds }) => orgIds.length)).toEqual([64, 36]);
  await finishOldest();
  expect(running.map(({ orgIds }) => orgIds.length)).toEqual([36, 64]);
});
