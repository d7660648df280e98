/** `Expiries` compared with a plain list of all holds. */
import { expect, test } from 'vitest';
import { Expiries } from './expiries.ts';
import type { Hold } from './hold.ts';
import type { OpenHold } from './org-ledger-state.ts';

function openUntil(expiresAtMs: number): OpenHold {
  return {
    hold: { expiresAtMs } as Hold,
    ending: false,
    logLocation: undefined,
    isForgotten: false,
    dueSecond: Number.NaN,
  };
}

function prolong(expiries: Expiries, open: OpenHold, expiresAtMs: number): void {
  open.hold = { ...open.hold, expiresAtMs };
  expiries.move(open);
}

test('returns each due hold once, and no removed hold', () => {
  const expiries = new Expiries();
  const opens = Array.from({ length: 300 }, (_, i) => openUntil(1_000 + i * 17));
  for (const open of opens) {
    expiries.add(open);
  }
  const left = opens.filter((_, i) => i % 3 === 0);
  for (const open of left) {
    expiries.remove(open);
    // Removed a second time, like a hold that is settled while it is about to expire.
    expiries.remove(open);
  }
  const staying = opens.filter((open) => !left.includes(open));
  const taken: OpenHold[] = [];
  for (let nowMs = 0; nowMs <= 7_000; nowMs += 250) {
    const due = expiries.takeDue(nowMs, 10);
    expect(due.every(({ hold }) => hold.expiresAtMs <= nowMs)).toBe(true);
    taken.push(...due, ...expiries.takeDue(nowMs, 1_000));
    expect(expiries.takeDue(nowMs, 1_000)).toEqual([]);
  }
  expect(new Set(taken)).toEqual(new Set(staying));
  expect(taken).toHaveLength(staying.length);
});

test('an extended hold is due only at its latest expiry, however often it was extended', () => {
  const expiries = new Expiries();
  const [open, other] = [openUntil(1_000), openUntil(1_000)];
  expiries.add(open);
  expiries.add(other);
  for (const laterMs of [1_000, 1_500, 2_000, 9_000, 9_000, 8_500]) {
    prolong(expiries, open, laterMs);
  }
  expect(expiries.takeDue(8_000, 10)).toEqual([other]);
  expect(expiries.takeDue(9_000, 10)).toEqual([open]);
  expect(expiries.takeDue(99_000, 10)).toEqual([]);
});

test('a hold that could not end is due again a second later', () => {
  const expiries = new Expiries();
  const open = openUntil(1_000);
  expiries.add(open);
  expect(expiries.takeDue(1_000, 10)).toEqual([open]);
  expiries.putBack([open], 1_000);
  expect(expiries.takeDue(1_000, 10)).toEqual([]);
  expect(expiries.oldestOverdueMs(3_500)).toBe(1_500);
  expect(expiries.takeDue(2_000, 10)).toEqual([open]);
  expect(expiries.oldestOverdueMs(3_500)).toBe(0);
});
