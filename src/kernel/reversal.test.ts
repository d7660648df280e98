import { expect, test } from 'vitest';
import { limitOf, limitsOf, scopeOf, usd } from '../../test/support/ledger-values.ts';
import { applicableCounters, type Counter, countsIn } from './admission.ts';
import { prepareReversal, withRefund } from './reversal.ts';
import { commitSettlement, emptyReservation, prepareSettlement } from './settlement.ts';

const pack = (id: string, dollars: string, expiresAtMs: number) =>
  limitOf({
    id,
    kind: 'credits',
    match: { customer_id: 'c' },
    capacity: usd(dollars),
    span: { kind: 'lifetime' },
    expiresAtMs,
  });
const cap = limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd('100') });
const atMs = 1_000;
const scope = scopeOf({ customer_id: 'c' });
const amountsOf = (dollars: string) => ({ usd: usd(dollars), tokens: 0n, requests: 1n });

function ledger() {
  const limits = limitsOf([cap, pack('crp_a', '3', 5_000), pack('crp_b', '10', 9_000)]);
  const { counters: windows } = applicableCounters(limits, scope, atMs, 'charge');
  const counters = new Map<string, Counter>(
    windows.map(({ key, window }) => [
      key,
      { settled: 0n, held: 0n, growth: 0n, alerted: 0, endMs: window.endMs },
    ]),
  );
  const charge = (dollars: string) =>
    prepareSettlement(counters, {
      reservation: emptyReservation,
      windows,
      amounts: amountsOf(dollars),
      atMs,
    });
  const amounts = () => [...counters].map(([key, { settled, held }]) => `${key} ${settled}+${held}`);
  return { windows, counters, charge, amounts };
}

test('a reversal and a new charge leave the counters as the new charge alone', () => {
  const [once, twice] = [ledger(), ledger()];
  commitSettlement(once.counters, once.charge('2'));
  const first = twice.charge('5');
  commitSettlement(twice.counters, first);
  const { windows, counters } = twice;
  const reversal = prepareReversal({ windows, amounts: amountsOf('5'), paid: first });
  const charged = withRefund(counters, first.burned, () => twice.charge('2'));
  // The refund is not available to others before it is committed.
  expect(counters.get('crp_a@0')).toMatchObject({ settled: usd('3'), held: usd('2') });
  commitSettlement(counters, reversal);
  commitSettlement(counters, charged);
  expect(charged.burned).toEqual([{ key: 'crp_a@0', amount: usd('2') }]);
  expect(twice.amounts()).toEqual(once.amounts());
});

test('a refund is taken back if the new charge fails', () => {
  const { counters, charge, amounts } = ledger();
  const first = charge('5');
  commitSettlement(counters, first);
  const before = amounts();
  const fail = () => {
    throw new Error('not charged');
  };
  expect(() => withRefund(counters, first.burned, fail)).toThrow('not charged');
  expect(amounts()).toEqual(before);
});

test('requests in flight are counted by holds, and by nothing that is finished', () => {
  const surfaces = ['edge', 'run', 'charge', 'record'] as const;
  expect(surfaces.filter((surface) => countsIn(surface, 'concurrency'))).toEqual(['edge', 'run']);
});
