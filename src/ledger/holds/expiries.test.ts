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

test('a hold that could not end is due again a second later, and overdue since its expiry', () => {
  const expiries = new Expiries();
  const open = openUntil(1_000);
  expiries.add(open);
  expect(expiries.takeDue(1_000, 10)).toEqual([open]);
  expect(expiries.overdue(3_500)).toEqual({ holds: 1, oldestMs: 2_500 });
  expiries.putBack([open], 1_000);
  expect(expiries.takeDue(1_000, 10)).toEqual([]);
  expect(expiries.overdue(1_500)).toEqual({ holds: 1, oldestMs: 500 });
  expect(expiries.overdue(3_500)).toEqual({ holds: 1, oldestMs: 2_500 });
  expect(expiries.takeDue(2_000, 10)).toEqual([open]);
  expiries.remove(open);
  expect(expiries.overdue(3_500)).toEqual({ holds: 0, oldestMs: 0 });
  expect(expiries.isEmpty()).toBe(true);
});

test('neither a settled nor an extended hold counts as overdue', () => {
  const expiries = new Expiries();
  const [settled, extended, later] = [openUntil(1_000), openUntil(2_000), openUntil(60_000)];
  for (const open of [settled, extended, later]) {
    expiries.add(open);
  }
  expiries.remove(settled);
  expect(expiries.takeDue(2_000, 10)).toEqual([extended]);
  expiries.putBack([extended], 2_000);
  prolong(expiries, extended, 50_000);
  expect(expiries.overdue(40_000)).toEqual({ holds: 0, oldestMs: 0 });
  expect(expiries.overdue(61_000)).toEqual({ holds: 2, oldestMs: 11_000 });
});
