import { describe, expect, test } from 'vitest';
import { amountsOf, limitOf, limitsOf, scopeOf, usd } from '../../test/support/ledger-values.ts';
import {
  applicableCounters,
  type Counter,
  type Reservation,
  releaseReservation,
  reserve,
} from './admission.ts';
import { admitIncrease, reserveIncrease, undoIncrease } from './increase.ts';
import type { Limit } from './limits.ts';

const scope = scopeOf({ customer_id: 'c' });
const lifetime = { kind: 'lifetime' } as const;
const cap = limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd('10') });
const tokens = limitOf({ id: 'tok', kind: 'quota', unit: 'tokens', capacity: 100n });
const pack = (id: string, dollars: string) =>
  limitOf({
    id,
    kind: 'credits',
    match: { customer_id: 'c' },
    capacity: usd(dollars),
    span: lifetime,
    createdAtMs: Number(id.slice(-1)),
  });

/** A reservation of an amount, taken under `limits`, and the counters of those and of `later` limits. */
function stateOf(limits: readonly Limit[], dollars: string, later: readonly Limit[] = []) {
  const counters = new Map<string, Counter>();
  const all = limitsOf([...limits, ...later]);
  const now = applicableCounters(all, scope, 0, 'run');
  for (const { key, window } of now.counters) {
    counters.set(key, { settled: 0n, held: 0n, growth: 0n, alerted: 0, endMs: window.endMs });
  }
  const reservation: Reservation = {
    shares: applicableCounters(limitsOf(limits), scope, 0, 'run').shares,
    amounts: amountsOf(dollars, 10n),
    packs: [],
  };
  reserve(counters, reservation);
  const increase = (from: Reservation, more: string, moreTokens = 0n) =>
    admitIncrease(counters, {
      limits: all,
      scope,
      reservation: from,
      by: amountsOf(more, moreTokens, 0n),
      atMs: 0,
      applicable: now,
    });
  const held = (id: string) => counters.get(`${id}@0`)?.held;
  return { counters, reservation, increase, held };
}

describe('an increase', () => {
  test('replaces the growth of the reservation in each of its counters, until it is undone', () => {
    const { counters, reservation, held } = stateOf([cap, tokens], '4');
    const grown = { ...reservation, growth: amountsOf('3', 5n, 0n) };
    releaseReservation(counters, reservation);
    reserve(counters, grown);
    const growth = () => ['cap', 'tok'].map((id) => counters.get(`${id}@0`)?.growth);
    expect(growth()).toEqual([usd('3'), 5n]);
    const all = limitsOf([cap, tokens]);
    const allowed = admitIncrease(counters, {
      limits: all,
      scope,
      reservation: grown,
      by: amountsOf('1', 1n, 0n),
      growth: amountsOf('2', 4n, 0n),
      atMs: 0,
      applicable: applicableCounters(all, scope, 0, 'run'),
    });
    if (allowed.kind === 'denied') {
      throw new Error('denied');
    }
    reserveIncrease(counters, grown, allowed);
    expect([growth(), held('cap')]).toEqual([[usd('2'), 4n], usd('5')]);
    expect(undoIncrease(counters, allowed.reservation, allowed)).toEqual(grown);
    expect([growth(), held('cap')]).toEqual([[usd('3'), 5n], usd('4')]);
    releaseReservation(counters, grown);
    expect([growth(), held('cap')]).toEqual([[0n, 0n], 0n]);
  });

  test('an increase may reach a limit and not exceed it, and a denied one reserves nothing', () => {
    const { counters, reservation, increase, held } = stateOf([cap, tokens], '4');
    expect(increase(reservation, '6.000000001')).toMatchObject({
      kind: 'denied',
      denial: { code: 'spend_cap_exceeded', details: { spent_usd: '4', attempted_usd: '6.000000001' } },
    });
    expect(increase(reservation, '1', 91n)).toMatchObject({ denial: { code: 'quota_exhausted' } });
    expect(held('cap')).toBe(usd('4'));
    const allowed = increase(reservation, '6', 90n);
    if (allowed.kind === 'denied') {
      throw new Error('denied');
    }
    reserveIncrease(counters, reservation, allowed);
    expect([held('cap'), held('tok')]).toEqual([usd('10'), 100n]);
    expect(allowed.reservation.shares).toBe(reservation.shares);
    releaseReservation(counters, allowed.reservation);
    expect([held('cap'), held('tok')]).toEqual([0n, 0n]);
  });

  test('checks a limit without a share of the reservation for the whole new amount, and adds the share', () => {
    const bud = limitOf({ id: 'bud', kind: 'budget', capacity: usd('5') });
    const { counters, reservation, increase, held } = stateOf([cap], '4', [bud]);
    expect(increase(reservation, '1.000000001')).toMatchObject({
      denial: { code: 'budget_exceeded', details: { attempted_usd: '5.000000001' } },
    });
    const allowed = increase(reservation, '1');
    if (allowed.kind === 'denied') {
      throw new Error('denied');
    }
    reserveIncrease(counters, reservation, allowed);
    expect([held('cap'), held('bud')]).toEqual([usd('5'), usd('5')]);
    // Without the increase, the reservation still has a share in the budget, of the smaller amount.
    const undone = undoIncrease(counters, allowed.reservation, allowed);
    expect([held('cap'), held('bud')]).toEqual([usd('4'), usd('4')]);
    releaseReservation(counters, undone);
    expect([held('cap'), held('bud')]).toEqual([0n, 0n]);
  });

  test('an increase burns further credit packs, and is denied if they do not cover the whole amount', () => {
    const { counters, reservation, increase, held } = stateOf([cap], '1', [
      pack('crp1', '2'),
      pack('crp2', '3'),
    ]);
    const first = increase(reservation, '1');
    if (first.kind === 'denied') {
      throw new Error('denied');
    }
    reserveIncrease(counters, reservation, first);
    expect(first.reservation.packs).toEqual([{ key: 'crp1@0', amount: usd('2') }]);
    expect(increase(first.reservation, '3.1')).toMatchObject({
      denial: { code: 'credits_exhausted', details: { available_usd: '3', attempted_usd: '3.1' } },
    });
    const second = increase(first.reservation, '2');
    if (second.kind === 'denied') {
      throw new Error('denied');
    }
    reserveIncrease(counters, first.reservation, second);
    expect([held('crp1'), held('crp2')]).toEqual([usd('2'), usd('2')]);
    const undone = undoIncrease(counters, second.reservation, first);
    expect(undone.packs).toEqual([{ key: 'crp2@0', amount: usd('2') }]);
    expect([held('cap'), held('crp1'), held('crp2')]).toEqual([usd('3'), 0n, usd('2')]);
  });

  test('an increase of a reservation whose limit has ended counts in its counter, if that exists, and is not checked', () => {
    const { counters, reservation, increase, held } = stateOf([cap, tokens], '4');
    const ended: Reservation = {
      ...reservation,
      shares: [...reservation.shares, { key: 'old@0', unit: 'usd' }],
    };
    const allowed = increase(ended, '1');
    if (allowed.kind === 'denied') {
      throw new Error('denied');
    }
    counters.set('old@0', { settled: 0n, held: usd('4'), growth: 0n, alerted: 0, endMs: 1 });
    reserveIncrease(counters, ended, allowed);
    expect([held('cap'), held('old')]).toEqual([usd('5'), usd('5')]);
    counters.delete('old@0');
    expect(undoIncrease(counters, allowed.reservation, allowed).amounts.usd).toBe(usd('4'));
  });
});
