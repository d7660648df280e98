import { describe, expect, test } from 'vitest';
import { amountsOf, limitOf, limitsOf, scopeOf, usd } from '../../test/support/ledger-values.ts';
import {
  admit,
  applicableCounters,
  type Charge,
  type Counter,
  type Reservation,
  reserve,
} from './admission.ts';
import type { Limit } from './limits.ts';
import {
  alertsDue,
  commitSettlement,
  correct,
  markAlerted,
  emptyReservation as nothing,
  prepareSettlement,
  rollBackSettlement,
} from './settlement.ts';

const atMs = Date.parse('2026-11-15T12:00:00Z');
const capKey = `cap_1@${Date.parse('2026-11-15T00:00:00Z')}`;
const cap = limitOf({ id: 'cap_1', kind: 'spend_cap', capacity: usd('10') });
const prepaid = limitOf({ id: 'ppd_1', kind: 'prepaid', capacity: usd('100'), span: { kind: 'lifetime' } });
const quota = limitOf({
  id: 'rlp_1',
  kind: 'quota',
  unit: 'tokens',
  capacity: 1_000n,
  span: { kind: 'fixed', seconds: 86_400 },
});
const pack = (id: string, dollars: string, expiresAtMs: number | null = null): Limit =>
  limitOf({
    id,
    kind: 'credits',
    match: { customer_id: 'c' },
    capacity: usd(dollars),
    span: { kind: 'lifetime' },
    expiresAtMs,
  });

class Desk {
  readonly counters = new Map<string, Counter>();

  constructor(private limits: readonly Limit[]) {}

  change(limits: readonly Limit[]): void {
    this.limits = limits;
  }

  meet(dollars: string, tokens = 0n, at = atMs) {
    const charge: Charge = {
      scope: scopeOf({ customer_id: 'c' }),
      amounts: amountsOf(dollars, tokens),
      depth: null,
      atMs: at,
    };
    const { counters: windows, shares } = applicableCounters(limitsOf(this.limits), charge.scope, at, 'run');
    for (const { key, window } of windows) {
      if (!this.counters.has(key)) {
        this.counters.set(key, { settled: 0n, held: 0n, growth: 0n, alerted: 0, endMs: window.endMs });
      }
    }
    return { charge, met: windows, shares };
  }

  hold(dollars: string, tokens = 0n): Reservation {
    const { charge, met: windows, shares } = this.meet(dollars, tokens);
    const admission = admit(this.counters, {
      limits: limitsOf(this.limits),
      charge,
      windows,
      preFlight: true,
    });
    if (admission.kind === 'denied') {
      throw new Error(admission.denial.code);
    }
    const taken = { shares, amounts: charge.amounts, packs: admission.packs };
    reserve(this.counters, taken);
    return taken;
  }

  raise(hold: Reservation, dollars: string, tokens = 0n, at = atMs) {
    const { charge, met: windows } = this.meet(dollars, tokens, at);
    return prepareSettlement(this.counters, {
      reservation: hold,
      windows,
      amounts: charge.amounts,
      atMs: at,
    });
  }

  state(): Record<string, string> {
    return Object.fromEntries(
      [...this.counters].map(([key, { settled, held }]) => [key.split('@')[0], `${settled}+${held}`]),
    );
  }
}

const at = (settled: string, held = '0') => `${usd(settled)}+${usd(held)}`;

describe('a settlement', () => {
  test.each([
    ['below', '2', '4'],
    ['at', '4', '4'],
    ['above', '7', '7'],
    ['far above the limit', '50', '50'],
    ['of nothing', '0', '4'],
  ])('%s its hold is posted in full; until then the larger of both is held', (_, cost, meanwhile) => {
    const desk = new Desk([cap, prepaid]);
    const hold = desk.hold('4');
    expect(desk.state()).toEqual({ cap_1: at('0', '4'), ppd_1: at('0', '4') });
    const settlement = desk.raise(hold, cost);
    expect(desk.state()).toEqual({ cap_1: at('0', meanwhile), ppd_1: at('0', meanwhile) });
    expect(settlement.prepaid).toBe(usd(cost));
    commitSettlement(desk.counters, settlement);
    expect(desk.state()).toEqual({ cap_1: at(cost), ppd_1: at(cost) });
  });

  test('a settlement that is rolled back leaves the hold unchanged', () => {
    const desk = new Desk([cap, pack('p1', '3'), pack('p2', '9')]);
    const hold = desk.hold('4');
    const before = desk.state();
    const settlement = desk.raise(hold, '8');
    expect(desk.state()).not.toEqual(before);
    rollBackSettlement(desk.counters, settlement, hold);
    expect(desk.state()).toEqual(before);
  });

  test('a settlement without a hold leaves nothing behind when it is rolled back', () => {
    const desk = new Desk([cap, pack('p1', '3')]);
    const settlement = desk.raise(nothing, '2');
    expect(desk.state()).toEqual({ cap_1: at('0', '2'), p1: at('0', '2') });
    rollBackSettlement(desk.counters, settlement, nothing);
    expect(desk.state()).toEqual({ cap_1: at('0'), p1: at('0') });
  });

  test('a settlement counts each unit separately', () => {
    const desk = new Desk([cap, quota]);
    const hold = desk.hold('4', 100n);
    const settlement = desk.raise(hold, '1', 250n);
    expect(desk.state()).toEqual({ cap_1: at('0', '4'), rlp_1: '0+250' });
    commitSettlement(desk.counters, settlement);
    expect(desk.state()).toEqual({ cap_1: at('1'), rlp_1: '250+0' });
  });

  test('a settlement counts in limits created after its hold, and releases those that have ended', () => {
    const desk = new Desk([cap]);
    const hold = desk.hold('4');
    desk.change([quota, prepaid]);
    const settlement = desk.raise(hold, '3', 7n);
    commitSettlement(desk.counters, settlement);
    // The counter of the ended cap still exists, without holds, and is no longer used.
    expect(desk.state()).toEqual({ cap_1: at('0'), rlp_1: '7+0', ppd_1: at('3') });
  });

  test('ignores evicted counters', () => {
    const desk = new Desk([cap]);
    const hold = desk.hold('4');
    const { met: windows } = desk.meet('5');
    desk.counters.clear();
    const settlement = prepareSettlement(desk.counters, {
      reservation: hold,
      windows,
      amounts: amountsOf('5'),
      atMs,
    });
    expect(() => commitSettlement(desk.counters, settlement)).not.toThrow();
    expect(() => rollBackSettlement(desk.counters, settlement, hold)).not.toThrow();
    expect(desk.state()).toEqual({});
  });
});

describe('credits', () => {
  test('credits that were held pay first, and the unused part is returned to the last pack', () => {
    const desk = new Desk([pack('p1', '3', atMs + 10), pack('p2', '9')]);
    const hold = desk.hold('5');
    expect(desk.state()).toEqual({ p1: at('0', '3'), p2: at('0', '2') });
    const settlement = desk.raise(hold, '4');
    expect(settlement).toMatchObject({
      burned: [
        { key: 'p1@0', amount: usd('3') },
        { key: 'p2@0', amount: usd('1') },
      ],
      uncovered: 0n,
    });
    commitSettlement(desk.counters, settlement);
    expect(desk.state()).toEqual({ p1: at('3'), p2: at('1') });
  });

  test('credits that were held pay even if they expired since; their unused part expires with them', () => {
    const desk = new Desk([pack('p1', '3', atMs + 10)]);
    const hold = desk.hold('3');
    const settlement = desk.raise(hold, '2', 0n, atMs + 20);
    expect(settlement).toMatchObject({ burned: [{ key: 'p1@0', amount: usd('2') }], uncovered: 0n });
    commitSettlement(desk.counters, settlement);
    expect(desk.state()).toEqual({ p1: at('2') });
    // The pack is no longer live. Without a live pack, credits are not checked.
    expect(desk.raise(nothing, '1', 0n, atMs + 20)).toMatchObject({ burned: [], uncovered: 0n });
  });

  test('beyond the hold come from other live packs; the rest is uncovered', () => {
    const desk = new Desk([pack('p1', '3', atMs + 10), pack('p2', '4')]);
    const hold = desk.hold('2');
    const settlement = desk.raise(hold, '9');
    expect(settlement).toMatchObject({
      burned: [
        { key: 'p1@0', amount: usd('3') },
        { key: 'p2@0', amount: usd('4') },
      ],
      uncovered: usd('2'),
    });
    expect(desk.state()).toEqual({ p1: at('0', '3'), p2: at('0', '4') });
    commitSettlement(desk.counters, settlement);
    expect(desk.state()).toEqual({ p1: at('3'), p2: at('4') });
  });

  test('credits of other customers are not used if a held pack expired: the rest is uncovered', () => {
    const desk = new Desk([pack('p1', '3', atMs + 10)]);
    const hold = desk.hold('3');
    expect(desk.raise(hold, '5', 0n, atMs + 20)).toMatchObject({
      burned: [{ key: 'p1@0', amount: usd('3') }],
      uncovered: usd('2'),
    });
  });

  test('credits that ended while held still pay', () => {
    const desk = new Desk([pack('p1', '3')]);
    const hold = desk.hold('3');
    desk.change([]);
    const settlement = desk.raise(hold, '4');
    expect(settlement).toMatchObject({ burned: [{ key: 'p1@0', amount: usd('3') }], uncovered: usd('1') });
  });

  test('credits that are held are not available to another charge', () => {
    const desk = new Desk([pack('p1', '3')]);
    desk.hold('2');
    expect(desk.raise(nothing, '2')).toMatchObject({
      burned: [{ key: 'p1@0', amount: usd('1') }],
      uncovered: usd('1'),
    });
  });
});

describe('a correction', () => {
  const paid = {
    burned: [
      { key: 'p1@0', amount: usd('3') },
      { key: 'p2@0', amount: usd('1') },
    ],
    uncovered: usd('2'),
    prepaid: usd('6'),
  };

  function posted(): Desk {
    const desk = new Desk([cap, prepaid, pack('p1', '3'), pack('p2', '9')]);
    desk.meet('0');
    for (const [key, settled] of [
      [capKey, '6'],
      ['ppd_1@0', '6'],
      ['p1@0', '3'],
      ['p2@0', '1'],
    ] as const) {
      (desk.counters.get(key) as Counter).settled = usd(settled);
    }
    return desk;
  }

  function corrected(delta: string) {
    const desk = posted();
    const { met: windows, charge } = desk.meet(delta);
    const settlement = correct(desk.counters, { windows, amounts: charge.amounts, atMs, ...paid });
    const meanwhile = desk.state();
    commitSettlement(desk.counters, settlement);
    return { raised: settlement, meanwhile, after: desk.state() };
  }

  test('upwards is burned like a cost beyond its hold', () => {
    const { raised: settlement, after } = corrected('1.5');
    expect(settlement).toMatchObject({
      burned: [{ key: 'p2@0', amount: usd('1.5') }],
      uncovered: 0n,
      prepaid: usd('1.5'),
    });
    expect(after).toEqual({ cap_1: at('7.5'), ppd_1: at('7.5'), p1: at('3'), p2: at('2.5') });
  });

  test.each([
    ['-1', '5', '3', '1', '-1'],
    ['-2', '4', '3', '1', '-2'],
    ['-2.5', '3.5', '3', '0.5', '-2'],
    ['-4', '2', '2', '0', '-2'],
    ['-6', '0', '0', '0', '-2'],
  ])(
    'a correction of %s forgives what is uncovered, then gives back to the last pack',
    (delta, spent, p1, p2, forgiven) => {
      const { raised: settlement, meanwhile, after } = corrected(delta);
      // Nothing is released before the commit.
      expect(meanwhile).toEqual(posted().state());
      expect(settlement.uncovered).toBe(usd(forgiven));
      expect(settlement.prepaid).toBe(usd(delta));
      expect(after).toEqual({ cap_1: at(spent), ppd_1: at(spent), p1: at(p1), p2: at(p2) });
    },
  );

  test('a correction of zero changes nothing', () => {
    const { raised: settlement, after } = corrected('0');
    expect(settlement).toMatchObject({ burned: [], uncovered: 0n, prepaid: 0n });
    expect(after).toEqual(posted().state());
  });

  test('returns to the prepaid balance at most what it has paid', () => {
    const desk = posted();
    const { met: windows, charge } = desk.meet('-5');
    const settlement = correct(desk.counters, {
      windows,
      amounts: charge.amounts,
      atMs,
      ...paid,
      prepaid: usd('2'),
    });
    commitSettlement(desk.counters, settlement);
    expect(settlement.prepaid).toBe(usd('-2'));
    expect(desk.state()).toMatchObject({ cap_1: at('1'), ppd_1: at('4') });
  });
});

describe('alerts', () => {
  const alerting = { ...cap, thresholds: [50, 80, 100] };
  const percents = (desk: Desk, ...costs: string[]) => {
    const settlements = costs.map((cost) => desk.raise(nothing, cost));
    const alerts = alertsDue(desk.counters, settlements);
    markAlerted(desk.counters, alerts);
    for (const one of settlements) {
      commitSettlement(desk.counters, one);
    }
    return alerts.map(({ percent }) => percent);
  };

  test('alerts are emitted once, when a threshold is reached exactly', () => {
    const desk = new Desk([alerting]);
    expect(percents(desk, '4.999999999')).toEqual([]);
    expect(percents(desk, '0.000000001')).toEqual([50]);
    expect(percents(desk, '1')).toEqual([]);
    expect(percents(desk, '20')).toEqual([80, 100]);
    expect(percents(desk, '20')).toEqual([]);
  });

  test('alerts of concurrent postings are those of their sum', () => {
    const desk = new Desk([alerting]);
    expect(percents(desk, '2', '2', '4')).toEqual([50, 80]);
  });

  test('alerts are not emitted again after a correction below the threshold and back', () => {
    const desk = new Desk([alerting]);
    expect(percents(desk, '6')).toEqual([50]);
    const { met: windows, charge } = desk.meet('-3');
    const paid = { burned: [], uncovered: 0n, prepaid: 0n };
    const back = correct(desk.counters, { windows, amounts: charge.amounts, atMs, ...paid });
    expect(alertsDue(desk.counters, [back])).toEqual([]);
    commitSettlement(desk.counters, back);
    expect(percents(desk, '3')).toEqual([]);
  });

  test('do not count held amounts', () => {
    const desk = new Desk([alerting]);
    const hold = desk.hold('9');
    expect(alertsDue(desk.counters, [desk.raise(hold, '1')])).toEqual([]);
  });

  test('alerts of a pack depend on its burned amount', () => {
    const desk = new Desk([
      { ...pack('p1', '3', atMs + 10), thresholds: [100] },
      { ...pack('p2', '10'), thresholds: [50] },
    ]);
    const settlements = [desk.raise(nothing, '7')];
    expect(
      alertsDue(desk.counters, settlements).map(({ limitWindow, percent, settled }) => [
        limitWindow.key,
        percent,
        settled,
      ]),
    ).toEqual([['p1@0', 100, usd('3')]]);
  });

  test('alerts of a limit of zero are emitted with the first cost, not without any', () => {
    const desk = new Desk([{ ...cap, capacity: 0n, thresholds: [50] }]);
    expect(percents(desk, '0')).toEqual([]);
    expect(percents(desk, '0.000000001')).toEqual([50]);
  });
});
