import { expect, test } from 'vitest';
import { type QueuedSettlement, SettlementQueue } from './settlement-queue.ts';

const settlementOf = (orgId: string): QueuedSettlement => ({ settlement: { orgId }, isLedgerAway: false });

function queueOf(...orgIds: readonly string[]): SettlementQueue<QueuedSettlement> {
  const queue = new SettlementQueue<QueuedSettlement>();
  for (const orgId of orgIds) {
    queue.add(settlementOf(orgId));
  }
  return queue;
}

/** Tries a batch while the ledger of these orgs is away. Returns the orgs of the batch, and whether one of them was available. */
function attempt(queue: SettlementQueue<QueuedSettlement>, count: number, ...away: readonly string[]) {
  const batch = queue.take(count);
  const failed = batch.filter(({ settlement }) => away.includes(settlement.orgId));
  for (const pending of failed) {
    pending.isLedgerAway = true;
  }
  const isAvailable = queue.takeBack(batch, new Set(failed));
  return { orgIds: batch.map(({ settlement }) => settlement.orgId), isAvailable };
}

test('settlements of an org that is away keep none of another org waiting, however many they are', () => {
  const queue = queueOf('away', 'away', 'away', 'healthy');
  expect(attempt(queue, 2, 'away')).toEqual({ orgIds: ['away', 'away'], isAvailable: false });
  expect([queue.isAway('away'), queue.isAway('healthy')]).toEqual([true, false]);
  expect(attempt(queue, 2, 'away')).toEqual({ orgIds: ['healthy'], isAvailable: true });
  queue.add(settlementOf('away'));
  expect([queue.ready, queue.size]).toEqual([0, 4]);
});

test('one settlement of each org that is away is tried again, and the others follow it', () => {
  const queue = queueOf('a', 'b', 'a', 'b', 'a');
  attempt(queue, 5, 'a', 'b');
  queue.retry(10);
  expect(attempt(queue, 10, 'a').orgIds).toEqual(['a', 'b']);
  expect([queue.isAway('a'), queue.isAway('b')]).toEqual([true, false]);
  expect(attempt(queue, 10, 'a').orgIds).toEqual(['b']);
  queue.retry(10);
  expect(attempt(queue, 10).orgIds).toEqual(['a']);
  expect(attempt(queue, 10).orgIds).toEqual(['a', 'a']);
  expect(queue.size).toBe(0);
});

test('each org that is away is tried in turn', () => {
  const queue = queueOf('a', 'b', 'c');
  attempt(queue, 3, 'a', 'b', 'c');
  const tried = [1, 2, 3, 4].map(() => {
    queue.retry(1);
    return attempt(queue, 3, 'a', 'b', 'c').orgIds;
  });
  expect(tried).toEqual([['a'], ['b'], ['c'], ['a']]);
});
