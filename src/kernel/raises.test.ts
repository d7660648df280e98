import { describe, expect, test } from 'vitest';
import { amountsOf, limitOf, limitsOf, scopeOf, usd } from '../../test/support/ledger-values.ts';
import { admit, applicableCounters, type Counter, reserve } from './admission.ts';
import { admitIncrease } from './increase.ts';
import { type Limit, type Raise, WILDCARD } from './limits.ts';
import { maxCounter } from './money.ts';
import { raisedLimit } from './raises.ts';

const atMs = Date.parse('2026-11-15T12:00:00Z');
const hourMs = 3_600_000;
const raise = (dollars: string, untilMs: number, value: string | null = null): Raise => ({
  amount: usd(dollars),
  untilMs,
  value,
});
const cap = (dollars: string, raises: readonly Raise[], fields: Partial<Limit> = {}) =>
  limitOf({ id: 'cap_1', kind: 'spend_cap', capacity: usd(dollars), raises, ...fields });

/** Decides about charges at several times, with the same counters. */
function deskOf(...all: readonly Limit[]) {
  const limits = limitsOf(all);
  const counters = new Map<string, Counter>();
  const windowsAt = (time: number, decidedAtMs = time, scope = scopeOf()) => {
    const applicable = applicableCounters(limits, scope, time, 'edge', decidedAtMs);
    for (const { key, window } of applicable.counters) {
      if (!counters.has(key)) {
        counters.set(key, { settled: 0n, held: 0n, growth: 0n, alerted: 0, endMs: window.endMs });
      }
    }
    return applicable;
  };
  const hold = (dollars: string, time: number, scope = scopeOf()) => {
    const { counters: windows, shares } = windowsAt(time, time, scope);
    const amounts = amountsOf(dollars);
    const charge = { scope, amounts, depth: null, atMs: time };
    const admission = admit(counters, { limits, charge, windows, preFlight: true });
    const reservation = { shares, amounts, packs: [] };
    if (admission.kind === 'allowed') {
      reserve(counters, reservation);
    }
    return { ...admission, reservation };
  };
  return { limits, counters, windowsAt, hold };
}

describe('a raised limit', () => {
  test('has the sum of its active raises until the first of them ends', () => {
    const limit = cap('10', [raise('1', atMs + 2 * hourMs), raise('0.5', atMs + hourMs), raise('7', atMs)]);
    expect(raisedLimit(limit, scopeOf(), atMs)).toEqual({
      limit: { ...limit, capacity: usd('11.5'), raised: { amount: usd('1.5'), untilMs: atMs + hourMs } },
      fromMs: atMs,
      untilMs: atMs + hourMs,
    });
  });

  test('is the limit itself if it has no raises, or if all of them have ended', () => {
    const plain = limitOf({ id: 'a', kind: 'spend_cap', capacity: 1n });
    expect(raisedLimit(plain, scopeOf(), atMs).limit).toBe(plain);
    const ended = cap('10', [raise('1', atMs)]);
    expect(raisedLimit(ended, scopeOf(), atMs).limit).toBe(ended);
    expect(raisedLimit(ended, scopeOf(), atMs - 1).limit.capacity).toBe(usd('11'));
  });

  test('raises one value of a wildcard for that value only', () => {
    const limit = cap('10', [raise('1', atMs + 1, 'ann'), raise('2', atMs + 1)], {
      kind: 'budget',
      match: { member_id: WILDCARD },
    });
    const capacityOf = (member_id: string | null) =>
      raisedLimit(limit, scopeOf({ member_id }), atMs).limit.capacity;
    expect([capacityOf('ann'), capacityOf('bob'), capacityOf(null)]).toEqual([
      usd('13'),
      usd('12'),
      usd('12'),
    ]);
  });

  test('never exceeds what a counter can hold', () => {
    const { limit } = raisedLimit(cap('8999999999', [raise('8999999999', atMs + 1)]), scopeOf(), atMs);
    expect(limit.capacity).toBe(maxCounter);
    expect(limit.raised?.amount).toBe(maxCounter - usd('8999999999'));
  });
});

describe('an admission', () => {
  test('exceeds the limit by the raise until exactly its end', () => {
    const { hold } = deskOf(cap('10', [raise('5', atMs + hourMs)]));
    expect(hold('10', atMs).kind).toBe('allowed');
    expect(hold('5.000000001', atMs).kind).toBe('denied');
    expect(hold('4', atMs + hourMs - 1).kind).toBe('allowed');
    expect(hold('0.000000001', atMs + hourMs).kind).toBe('denied');
    // The cached counters of a later time are not used for an earlier one.
    expect(hold('1', atMs + hourMs - 1).kind).toBe('allowed');
  });

  test('says in its denial how much of the limit is raised, and until when', () => {
    const { hold } = deskOf(cap('10', [raise('5', atMs + hourMs)]));
    expect(hold('16', atMs)).toMatchObject({
      denial: {
        details: { cap_usd: '15', raised_usd: '5', raised_until: '2026-11-15T13:00:00.000+00:00' },
      },
    });
    const denied = hold('16', atMs + hourMs);
    expect(denied.kind === 'denied' && denied.denial.details).not.toHaveProperty('raised_usd');
  });

  test('keeps holds that a raise admitted, and leaves nothing after its end', () => {
    const { hold, counters } = deskOf(cap('10', [raise('5', atMs + hourMs)]));
    hold('15', atMs);
    expect(hold('0.01', atMs + hourMs).kind).toBe('denied');
    expect([...counters.values()].map(({ held }) => held)).toEqual([usd('15')]);
  });
});

describe('an increase of a hold', () => {
  const increase = (desk: ReturnType<typeof deskOf>, dollars: string, decidedAtMs: number) => {
    const { reservation } = desk.hold('10', atMs);
    return admitIncrease(desk.counters, {
      limits: desk.limits,
      scope: scopeOf(),
      reservation,
      by: amountsOf(dollars, 0n, 0n),
      atMs,
      applicable: desk.windowsAt(atMs, decidedAtMs),
    }).kind;
  };

  test('uses a raise that is active when it is decided', () => {
    const raised = cap('10', [raise('5', atMs + hourMs)]);
    expect(increase(deskOf(raised), '5', atMs + hourMs - 1)).toBe('allowed');
    expect(increase(deskOf(raised), '5.01', atMs + hourMs - 1)).toBe('denied');
  });

  test('does not use a raise that was active when the hold was admitted and has ended since', () => {
    expect(increase(deskOf(cap('10', [raise('5', atMs + hourMs)])), '0.01', atMs + hourMs)).toBe('denied');
  });
});
