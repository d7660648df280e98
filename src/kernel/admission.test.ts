import { describe, expect, test } from 'vitest';
import { amountsOf, limitOf, limitsOf, scopeOf, usd } from '../../test/support/ledger-values.ts';
import {
  type Admission,
  admit,
  applicableCounters,
  type Charge,
  type Counter,
  countsIn,
  debitsOf,
  livePacks,
  type Reservation,
  releaseDebits,
  releaseReservation,
  reserve,
  reserveDebits,
  type Surface,
} from './admission.ts';
import { type Limit, limitKinds, type Scope, WILDCARD } from './limits.ts';

const atMs = Date.parse('2026-11-15T12:00:00Z');
const dayStart = Date.parse('2026-11-15T00:00:00Z');

/** Limits with counters at given sums, and charges against them. */
class Desk {
  readonly counters = new Map<string, Counter>();
  readonly #limits;

  constructor(
    all: readonly Limit[],
    private readonly spent: Readonly<Record<string, { settled?: bigint; held?: bigint }>> = {},
    timezone = 'UTC',
  ) {
    this.#limits = limitsOf(all, timezone);
  }

  ask(fields: Partial<Charge> = {}, surface: Surface = 'run', preFlight = false): Admission {
    const charge: Charge = { scope: scopeOf(), amounts: amountsOf('1'), depth: null, atMs, ...fields };
    const { counters: windows } = applicableCounters(this.#limits, charge.scope, charge.atMs, surface);
    for (const { key, limit, window } of windows) {
      if (!this.counters.has(key)) {
        const { settled = 0n, held = 0n } = this.spent[limit.id] ?? {};
        this.counters.set(key, { settled, held, growth: 0n, alerted: 0, endMs: window.endMs });
      }
    }
    return admit(this.counters, { limits: this.#limits, charge, windows, preFlight });
  }
}

const cap = (dollars: string, fields: Partial<Limit> = {}) =>
  limitOf({ id: 'cap_1', kind: 'spend_cap', capacity: usd(dollars), ...fields });

/** Returns the denial without the limit, which only some tests check. */
function denialOf(admission: Admission) {
  if (admission.kind !== 'denied') {
    return undefined;
  }
  const { code, details } = admission.denial;
  return { code, details };
}

describe('admission check', () => {
  test('allows a charge that exactly reaches the limit, and denies one nanodollar more', () => {
    const spent = { cap_1: { settled: usd('6'), held: usd('3') } };
    expect(new Desk([cap('10')], spent).ask()).toEqual({ kind: 'allowed', packs: [] });
    const more = new Desk([cap('10')], spent).ask({ amounts: amountsOf('1.000000001') });
    expect(denialOf(more)?.code).toBe('spend_cap_exceeded');
    const less = new Desk([cap('9.999999999')], spent).ask();
    expect(denialOf(less)?.code).toBe('spend_cap_exceeded');
  });

  test('denies everything but a charge of zero under a limit of zero', () => {
    expect(new Desk([cap('0')]).ask({ amounts: amountsOf('0.000000001') }).kind).toBe('denied');
    expect(new Desk([cap('0')]).ask({ amounts: amountsOf('0') })).toEqual({ kind: 'allowed', packs: [] });
  });

  test('allows a charge of zero under a limit that was reduced below the spend', () => {
    const desk = new Desk([cap('1')], { cap_1: { settled: usd('5') } });
    expect(desk.ask({ amounts: amountsOf('0') }).kind).toBe('allowed');
    expect(desk.ask({ amounts: amountsOf('0.000000001') }).kind).toBe('denied');
  });

  test('does not deny for a limit that only alerts', () => {
    const desk = new Desk([cap('1', { enforcement: 'alert' })], { cap_1: { settled: usd('5') } });
    expect(desk.ask()).toEqual({ kind: 'allowed', packs: [] });
  });

  test('checks each limit in its own unit', () => {
    const quota = (unit: Limit['unit'], capacity: bigint) =>
      limitOf({ id: 'q', kind: 'quota', unit, capacity, span: { kind: 'fixed', seconds: 60 } });
    const amounts = amountsOf('1', 500n, 1n);
    expect(new Desk([quota('tokens', 500n)]).ask({ amounts }).kind).toBe('allowed');
    expect(new Desk([quota('tokens', 499n)]).ask({ amounts }).kind).toBe('denied');
    expect(new Desk([quota('requests', 1n)]).ask({ amounts }).kind).toBe('allowed');
    expect(new Desk([quota('requests', 0n)]).ask({ amounts }).kind).toBe('denied');
  });

  test('does not change counters; only `reserve` does', () => {
    const desk = new Desk([cap('10')]);
    desk.ask();
    const key = `cap_1@${dayStart}`;
    expect(desk.counters.get(key)?.held).toBe(0n);
    const debits = debitsOf({ shares: [{ key, unit: 'usd' }], amounts: amountsOf('1'), packs: [] });
    reserveDebits(desk.counters, debits);
    expect(desk.counters.get(key)?.held).toBe(usd('1'));
    releaseDebits(desk.counters, [...debits, { key: 'gone@0', amount: 5n }]);
    expect(desk.counters.get(key)?.held).toBe(0n);
  });

  test('releases a whole reservation, also if a counter was deleted', () => {
    const desk = new Desk([cap('10')]);
    desk.ask();
    const key = `cap_1@${dayStart}`;
    const reservation: Reservation = {
      shares: [{ key, unit: 'usd' }],
      amounts: amountsOf('1'),
      packs: [{ key, amount: 5n }],
    };
    reserve(desk.counters, reservation);
    expect(desk.counters.get(key)?.held).toBe(usd('1') + 5n);
    releaseReservation(desk.counters, {
      ...reservation,
      shares: [...reservation.shares, { key: 'gone@0', unit: 'usd' }],
    });
    expect(desk.counters.get(key)?.held).toBe(0n);
    expect(() => reserve(new Map(), reservation)).toThrow(key);
  });

  test('debits each counter in its unit, skips zero amounts, and takes credits only from the listed packs', () => {
    const span = { kind: 'fixed', seconds: 60 } as const;
    const limits = limitsOf([
      cap('10'),
      limitOf({ id: 'q', kind: 'quota', unit: 'tokens', capacity: 9n, span }),
      limitOf({ id: 'r', kind: 'quota', unit: 'requests', capacity: 9n, span }),
      limitOf({ id: 'crp', kind: 'credits', match: { customer_id: 'c' }, capacity: 1n }),
    ]);
    const { shares, counters } = applicableCounters(limits, scopeOf({ customer_id: 'c' }), atMs, 'run');
    expect(counters).toHaveLength(4);
    expect(debitsOf({ shares, amounts: amountsOf('2', 7n, 0n), packs: [] })).toEqual([
      { key: `q@${atMs}`, amount: 7n },
      { key: `cap_1@${dayStart}`, amount: usd('2') },
    ]);
  });

  test('throws if a counter does not exist, instead of allowing the charge', () => {
    const limits = limitsOf([cap('10')]);
    const charge = { scope: scopeOf(), amounts: amountsOf('1'), depth: null, atMs };
    const { counters: windows } = applicableCounters(limits, charge.scope, atMs, 'run');
    expect(() => admit(new Map(), { limits, charge, windows, preFlight: false })).toThrow('cap_1@');
    expect(() => reserveDebits(new Map(), [{ key: 'x@0', amount: 1n }])).toThrow('x@0');
  });
});

describe('denial details', () => {
  const spent = { settled: usd('7.5'), held: usd('2') };
  const amounts = amountsOf('1', 50n, 1n);

  test('denial details of a spend cap, with and without `pre_flight`', () => {
    const details = {
      cap_usd: '10',
      spent_usd: '9.5',
      held_usd: '2',
      attempted_usd: '1',
      resets_at: '2026-11-16T00:00:00.000+00:00',
    };
    const desk = new Desk([cap('10')], { cap_1: spent });
    expect(denialOf(desk.ask())).toEqual({ code: 'spend_cap_exceeded', details });
    expect(denialOf(desk.ask({}, 'edge', true))).toEqual({
      code: 'spend_cap_exceeded',
      details: { ...details, reason: 'pre_flight' },
    });
  });

  test('contain times in the time zone of the window', () => {
    const inOrgZone = new Desk([cap('1')], { cap_1: spent }, 'Asia/Kolkata').ask();
    expect(denialOf(inOrgZone)?.details).toMatchObject({ resets_at: '2026-11-16T00:00:00.000+05:30' });
    const own = cap('1', { span: { kind: 'calendar', period: 'day', timezone: 'America/New_York' } });
    expect(denialOf(new Desk([own], { cap_1: spent }, 'Asia/Kolkata').ask())?.details).toMatchObject({
      resets_at: '2026-11-16T00:00:00.000-05:00',
    });
  });

  test.each([
    ['org', {}],
    ['department', { department: 'd' }],
    ['workflow', { workflow: 'w' }],
    ['deployment', { deployment: 'x' }],
  ] as const)('a denial by a budget of the %s has all details', (scopeKind, match) => {
    const budget = limitOf({
      id: 'bud_1',
      kind: 'budget',
      match,
      capacity: usd('10'),
      span: { kind: 'calendar', period: 'month', timezone: null },
    });
    const scope = scopeOf({ department: 'd', workflow: 'w', deployment: 'x' });
    expect(denialOf(new Desk([budget], { bud_1: spent }).ask({ scope }))).toEqual({
      code: 'budget_exceeded',
      details: {
        budget_id: 'bud_1',
        scope_kind: scopeKind,
        limit_usd: '10',
        spent_usd: '9.5',
        held_usd: '2',
        attempted_usd: '1',
        period_start: '2026-11-01T00:00:00.000+00:00',
        period_end: '2026-12-01T00:00:00.000+00:00',
      },
    });
  });

  test('denial details of a customer limit', () => {
    const limit = limitOf({
      id: 'clm_1',
      kind: 'customer',
      match: { customer_id: WILDCARD },
      capacity: usd('10'),
    });
    const denial = denialOf(
      new Desk([limit], { clm_1: spent }).ask({ scope: scopeOf({ customer_id: 'c' }) }),
    );
    expect(denial).toMatchObject({
      code: 'budget_exceeded',
      details: { budget_id: 'clm_1', scope_kind: 'customer', spent_usd: '9.5' },
    });
  });

  test('denial details of a plan', () => {
    const runs = limitOf({ id: 'plm_1', kind: 'plan_runs', unit: 'requests', capacity: 9n });
    expect(denialOf(new Desk([runs], { plm_1: { settled: 7n, held: 2n } }).ask())).toEqual({
      code: 'plan_limit_exceeded',
      details: { limit_kind: 'runs', limit: 9, used: 9 },
    });
    const tokens = limitOf({ id: 'plm_2', kind: 'plan_tokens', unit: 'tokens', capacity: 100n });
    expect(denialOf(new Desk([tokens], { plm_2: { settled: 51n } }).ask({ amounts }))).toEqual({
      code: 'plan_limit_exceeded',
      details: { limit_kind: 'tokens', limit: 100, used: 51 },
    });
  });

  test('denial details of a prepaid balance', () => {
    const prepaid = limitOf({
      id: 'ppd_1',
      kind: 'prepaid',
      capacity: usd('10'),
      span: { kind: 'lifetime' },
    });
    expect(denialOf(new Desk([prepaid], { ppd_1: spent }).ask())).toEqual({
      code: 'quota_exhausted',
      details: {
        quota_kind: 'prepaid',
        unit: 'usd',
        limit: '10',
        used: '9.5',
        window_start: null,
        window_end: null,
      },
    });
  });

  test.each([
    ['tokens', 60n, 60],
    ['requests', 0n, 0],
    ['usd', usd('9.75'), '9.75'],
  ] as const)('a denial by a quota of %s has all details', (unit, capacity, limit) => {
    const quota = limitOf({
      id: 'rlp_1',
      kind: 'quota',
      unit,
      capacity,
      span: { kind: 'fixed', seconds: 3_600 },
    });
    const used = { tokens: 11n, requests: 0n, usd: usd('9.5') }[unit];
    expect(denialOf(new Desk([quota], { rlp_1: { settled: used } }).ask({ amounts }))).toEqual({
      code: 'quota_exhausted',
      details: {
        quota_kind: 'window',
        unit,
        limit,
        used: unit === 'usd' ? '9.5' : Number(used),
        window_start: '2026-11-15T12:00:00.000+00:00',
        window_end: '2026-11-15T13:00:00.000+00:00',
      },
    });
  });

  const chain = (kind: 'chain_cost' | 'chain_depth' | 'chain_tokens', capacity: bigint) =>
    limitOf({
      id: kind,
      kind,
      unit: kind === 'chain_cost' ? 'usd' : 'tokens',
      match: { chain_id: WILDCARD },
      capacity,
      span: { kind: 'lifetime' },
    });
  const scope = scopeOf({ chain_id: 'ch' });

  test('denial details of the cost and tokens of a chain', () => {
    const cost = new Desk([chain('chain_cost', usd('10'))], { chain_cost: spent });
    expect(denialOf(cost.ask({ scope }))).toEqual({
      code: 'chain_budget_exceeded',
      details: { reason: 'cost', current: '9.5', attempted: '1', limit: '10' },
    });
    const tokens = new Desk([chain('chain_tokens', 100n)], { chain_tokens: { settled: 60n } });
    expect(denialOf(tokens.ask({ scope, amounts }))).toEqual({
      code: 'chain_budget_exceeded',
      details: { reason: 'tokens', current: 60, attempted: 50, limit: 100 },
    });
  });

  test('denial details of the depth of a chain, which may reach the limit exactly', () => {
    const desk = new Desk([chain('chain_depth', 3n)]);
    expect(desk.ask({ scope, depth: 3 }).kind).toBe('allowed');
    expect(desk.ask({ scope, depth: null }).kind).toBe('allowed');
    expect(desk.ask({ depth: 9 }).kind).toBe('allowed');
    expect(denialOf(desk.ask({ scope, depth: 4 }))).toEqual({
      code: 'chain_budget_exceeded',
      details: { reason: 'depth', current: 3, attempted: 4, limit: 3 },
    });
  });

  test('denial details of credits', () => {
    const pack = (id: string, capacity: bigint, fields: Partial<Limit> = {}) =>
      limitOf({
        id,
        kind: 'credits',
        match: { customer_id: 'c' },
        capacity,
        span: { kind: 'lifetime' },
        ...fields,
      });
    const desk = new Desk([pack('crp_1', usd('3')), pack('crp_2', usd('2'))], {
      crp_1: { settled: usd('2'), held: usd('0.5') },
      crp_2: { settled: usd('1.75') },
    });
    const customer = scopeOf({ customer_id: 'c' });
    expect(denialOf(desk.ask({ scope: customer }))).toEqual({
      code: 'credits_exhausted',
      details: { available_usd: '0.75', attempted_usd: '1' },
    });
    expect(desk.ask({ scope: customer, amounts: amountsOf('0.75') })).toEqual({
      kind: 'allowed',
      packs: [
        { key: 'crp_1@0', amount: usd('0.5') },
        { key: 'crp_2@0', amount: usd('0.25') },
      ],
    });
    expect(desk.ask({ scope: customer, amounts: amountsOf('0') }).kind).toBe('allowed');
    // Other customers are not affected.
    expect(desk.ask({ scope: scopeOf({ customer_id: 'd' }) })).toMatchObject({ kind: 'allowed', packs: [] });
  });

  test('denial details of live packs that are empty; expired packs are ignored', () => {
    const empty = limitOf({
      id: 'crp_1',
      kind: 'credits',
      match: { customer_id: 'c' },
      capacity: usd('3'),
      span: { kind: 'lifetime' },
      expiresAtMs: atMs + 1,
    });
    const customer = scopeOf({ customer_id: 'c' });
    expect(
      denialOf(new Desk([empty], { crp_1: { settled: usd('3') } }).ask({ scope: customer }))?.details,
    ).toEqual({ available_usd: '0', attempted_usd: '1' });
    const expired = { ...empty, expiresAtMs: atMs };
    expect(new Desk([expired]).ask({ scope: customer })).toMatchObject({ kind: 'allowed', packs: [] });
  });
});

test('limits are checked in order: when one is raised, the next one denies', () => {
  const scope = scopeOf({
    department: 'd',
    workflow: 'w',
    deployment: 'x',
    customer_id: 'c',
    chain_id: 'ch',
  });
  const lifetime = { kind: 'lifetime' } as const;
  const gates: [Limit, string, object?][] = [
    [
      limitOf({ id: 'l1', kind: 'plan_runs', unit: 'requests', capacity: 0n }),
      'plan_limit_exceeded',
      { limit_kind: 'runs' },
    ],
    [
      limitOf({ id: 'l2', kind: 'plan_tokens', unit: 'tokens', capacity: 0n }),
      'plan_limit_exceeded',
      { limit_kind: 'tokens' },
    ],
    [
      limitOf({ id: 'l3', kind: 'prepaid', capacity: 0n, span: lifetime }),
      'quota_exhausted',
      { quota_kind: 'prepaid' },
    ],
    [limitOf({ id: 'l4', kind: 'quota', capacity: 0n }), 'quota_exhausted', { quota_kind: 'window' }],
    [limitOf({ id: 'l5', kind: 'spend_cap', capacity: 0n }), 'spend_cap_exceeded'],
    [limitOf({ id: 'l6', kind: 'budget', capacity: 0n }), 'budget_exceeded', { scope_kind: 'org' }],
    [
      limitOf({ id: 'l7', kind: 'budget', match: { department: 'd' }, capacity: 0n }),
      'budget_exceeded',
      { scope_kind: 'department' },
    ],
    [
      limitOf({ id: 'l8', kind: 'budget', match: { workflow: 'w' }, capacity: 0n }),
      'budget_exceeded',
      { scope_kind: 'workflow' },
    ],
    [
      limitOf({ id: 'l9', kind: 'budget', match: { deployment: 'x' }, capacity: 0n }),
      'budget_exceeded',
      { scope_kind: 'deployment' },
    ],
    [
      limitOf({ id: 'm1', kind: 'customer', match: { customer_id: 'c' }, capacity: 0n }),
      'budget_exceeded',
      { scope_kind: 'customer' },
    ],
    [
      limitOf({ id: 'm2', kind: 'chain_cost', match: { chain_id: WILDCARD }, capacity: 0n, span: lifetime }),
      'chain_budget_exceeded',
      { reason: 'cost' },
    ],
    [
      limitOf({ id: 'm3', kind: 'chain_depth', match: { chain_id: WILDCARD }, capacity: 0n, span: lifetime }),
      'chain_budget_exceeded',
      { reason: 'depth' },
    ],
    [
      limitOf({
        id: 'm4',
        kind: 'chain_tokens',
        unit: 'tokens',
        match: { chain_id: WILDCARD },
        capacity: 0n,
        span: lifetime,
      }),
      'chain_budget_exceeded',
      { reason: 'tokens' },
    ],
    [
      limitOf({ id: 'm5', kind: 'credits', match: { customer_id: 'c' }, capacity: 0n, span: lifetime }),
      'credits_exhausted',
    ],
  ];
  const ask = (limits: readonly Limit[]) =>
    new Desk([...limits].reverse()).ask({ scope, amounts: amountsOf('1', 1n), depth: 1 });
  for (const [open, [, code, details = {}]] of gates.entries()) {
    const limits = gates.map(([limit], index) => (index < open ? { ...limit, capacity: usd('100') } : limit));
    expect(denialOf(ask(limits))).toMatchObject({ code, details });
  }
  expect(ask(gates.map(([limit]) => ({ ...limit, capacity: usd('100') }))).kind).toBe('allowed');
});

describe('a surface', () => {
  test('determines the kinds of limits that are checked', () => {
    const of = (surface: Surface) => limitKinds.filter((kind) => countsIn(surface, kind));
    expect(of('edge')).toEqual(['prepaid', 'quota', 'spend_cap', 'budget', 'customer']);
    expect(of('run')).toEqual(limitKinds.filter((kind) => kind !== 'rate' && kind !== 'chain_depth'));
    expect(of('record')).toEqual(
      limitKinds.filter((kind) => !['rate', 'chain_depth', 'prepaid', 'credits'].includes(kind)),
    );
  });

  test('reports each kind that was not checked once', () => {
    const limits = limitsOf([
      cap('1'),
      limitOf({ id: 'r', kind: 'rate', capacity: 1n }),
      limitOf({ id: 'p', kind: 'plan_runs', unit: 'requests', capacity: 1n }),
      limitOf({ id: 'd', kind: 'chain_depth', match: { chain_id: WILDCARD }, capacity: 1n }),
      limitOf({ id: 'c1', kind: 'credits', match: { customer_id: 'c' }, capacity: 1n }),
      limitOf({ id: 'c2', kind: 'credits', match: { customer_id: 'c' }, capacity: 1n }),
      limitOf({ id: 'c3', kind: 'credits', match: { customer_id: 'other' }, capacity: 1n }),
    ]);
    const leftOut = (scope: Scope) => applicableCounters(limits, scope, atMs, 'edge').notChecked;
    expect(leftOut(scopeOf({ customer_id: 'c', chain_id: 'x' }))).toEqual([
      'plan_runs',
      'chain_depth',
      'credits',
    ]);
    expect(leftOut(scopeOf())).toEqual(['plan_runs']);
  });
});

test('live packs are returned in burn order with their remaining amount, at least zero', () => {
  const pack = (id: string, expiresAtMs: number | null) =>
    limitOf({
      id,
      kind: 'credits',
      match: { customer_id: 'c' },
      capacity: 10n,
      span: { kind: 'lifetime' },
      expiresAtMs,
    });
  const limits = limitsOf([pack('a', null), pack('b', atMs + 2), pack('c', atMs + 1), pack('d', atMs)]);
  const { counters: windows } = applicableCounters(limits, scopeOf({ customer_id: 'c' }), atMs, 'run');
  const counter = (settled: bigint, held: bigint): Counter => ({
    settled,
    held,
    growth: 0n,
    alerted: 0,
    endMs: 0,
  });
  const counters = new Map([
    ['a@0', counter(1n, 2n)],
    ['b@0', counter(9n, 5n)],
    ['c@0', counter(0n, 0n)],
    ['d@0', counter(0n, 0n)],
  ]);
  expect(livePacks(counters, windows, atMs).map(({ key, left }) => [key, left])).toEqual([
    ['c@0', 10n],
    ['b@0', 0n],
    ['a@0', 7n],
  ]);
});
