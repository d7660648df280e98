import { expect, test } from 'vitest';
import type { Queryable } from '../../platform/db/database.ts';
import { OpenHoldRoom } from './open-hold-room.ts';

/** A room over a table that has `open` holds. */
function roomOver({
  open = 0,
  holdsMax,
  processes = 1,
}: {
  open?: number;
  holdsMax: number;
  processes?: number;
}) {
  const state = { open, counts: 0, nowMs: 0 };
  const db = {
    async query() {
      state.counts += 1;
      return [{ open: BigInt(state.open) }];
    },
  } as unknown as Queryable;
  const room = new OpenHoldRoom({ db, holdsMax, processes: () => processes, nowMs: () => state.nowMs });
  const take = (count: number) =>
    Promise.allSettled(
      Array.from({ length: count }, () =>
        room.use('org', 1, async () => {
          state.open += 1;
        }),
      ),
    ).then((results) => results.filter(({ status }) => status === 'fulfilled').length);
  return { state, take };
}

test('does not count for every hold', async () => {
  const { state, take } = roomOver({ holdsMax: 10_000 });
  expect(await take(100)).toBe(100);
  expect(state.counts).toBe(0);
  expect(await take(9_000)).toBe(9_000);
  expect(state.counts).toBe(1);
});

test('allows a process its part of the room', async () => {
  const { take } = roomOver({ open: 4_000, holdsMax: 10_000, processes: 3 });
  expect(await take(100)).toBe(100);
  expect(await take(5_000)).toBe(1_967);
});

test('counts at most once a second while an org has no room, and admits again once it has', async () => {
  const { state, take } = roomOver({ open: 1_000, holdsMax: 1_000 });
  expect(await take(10)).toBe(10);
  expect(await take(50)).toBe(0);
  expect(await take(50)).toBe(0);
  expect(state.counts).toBe(1);
  state.open = 900;
  expect(await take(1)).toBe(0);
  state.nowMs += 1_000;
  expect(await take(200)).toBe(100);
  expect(state.counts).toBe(2);
});

test('counts at once if holds end as quickly as they are opened', async () => {
  const { state, take } = roomOver({ holdsMax: 200 });
  for (let round = 0; round < 20; round += 1) {
    expect(await take(100)).toBe(100);
    state.open = 0;
  }
});
