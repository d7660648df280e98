import { describe, expect, test } from 'vitest';
import { limitOf, limitsOf, scopeOf } from '../../test/support/ledger-values.ts';
import {
  applicable,
  counterKey,
  type Limit,
  type LimitKind,
  type Match,
  WILDCARD,
  windowOf,
} from './limits.ts';

const idsFor = (all: readonly Limit[], scope = scopeOf()) =>
  applicable(limitsOf(all), scope).map(({ id }) => id);
const one = (id: string, kind: LimitKind, match: Match = {}) => limitOf({ id, kind, match, capacity: 1n });

describe('the limits that apply to a charge', () => {
  test('the limits that apply to a charge are those whose match fields all equal the scope', () => {
    const all = [
      one('org', 'budget'),
      one('sales', 'budget', { department: 'sales' }),
      one('ops', 'budget', { department: 'ops' }),
      one('both', 'quota', { department: 'sales', model: 'm' }),
      one('other-model', 'quota', { department: 'sales', model: 'n' }),
      one('model', 'quota', { model: 'm' }),
      one('key', 'quota', { key_id: 'key_1' }),
      one('other-key', 'quota', { key_id: 'key_2' }),
    ];
    expect(idsFor(all, scopeOf({ department: 'sales' }))).toEqual(['both', 'key', 'model', 'org', 'sales']);
    expect(idsFor(all)).toEqual(['key', 'model', 'org']);
    expect(idsFor(all, scopeOf({ model: null }))).toEqual(['key', 'org']);
  });

  test('the limits that apply to a charge are found by team, provider, member and tags', () => {
    const all = [
      one('team', 'budget', { team: 't' }),
      one('provider', 'budget', { provider: 'p' }),
      one('member', 'budget', { member_id: 'mem_1' }),
      one('env', 'budget', { 'tag:env': 'prod' }),
      one('each-env', 'budget', { 'tag:env': WILDCARD }),
      one('both', 'quota', { model: 'm', 'tag:env': 'prod' }),
      one('property', 'budget', { 'tag:toString': WILDCARD }),
    ];
    expect(idsFor(all)).toEqual([]);
    expect(idsFor(all, scopeOf({ tags: { env: 'test' } }))).toEqual(['each-env']);
    const scope = scopeOf({ team: 't', provider: 'p', member_id: 'mem_1', tags: { env: 'prod' } });
    expect(idsFor(all, scope)).toEqual(['both', 'team', 'member', 'provider', 'each-env', 'env']);
    expect(idsFor(all, scopeOf({ team: 'u', provider: 'q', member_id: 'mem_2', tags: null }))).toEqual([]);
  });

  test('the limits that apply to a charge are empty if the org has no limits', () => {
    expect(idsFor([])).toEqual([]);
  });

  test('the limits that apply to a charge are in the order in which denials are reported, independent of the order of rows', () => {
    const all = [
      one('z-rate', 'rate'),
      one('y-plan-runs', 'plan_runs'),
      one('x-plan-tokens', 'plan_tokens'),
      one('w-prepaid', 'prepaid'),
      one('v-quota', 'quota'),
      one('u-cap', 'spend_cap'),
      one('t-org', 'budget'),
      one('s-department', 'budget', { department: 'd' }),
      one('r-workflow', 'budget', { workflow: 'w' }),
      one('q-deployment', 'budget', { deployment: 'x' }),
      one('p-customer', 'customer', { customer_id: 'c' }),
      one('o-chain-cost', 'chain_cost', { chain_id: WILDCARD }),
      one('n-chain-depth', 'chain_depth', { chain_id: WILDCARD }),
      one('m-chain-tokens', 'chain_tokens', { chain_id: WILDCARD }),
      one('l-credits', 'credits', { customer_id: 'c' }),
    ];
    const scope = scopeOf({
      department: 'd',
      workflow: 'w',
      deployment: 'x',
      customer_id: 'c',
      chain_id: 'ch',
    });
    const expected = all.map(({ id }) => id);
    expect(idsFor(all, scope)).toEqual(expected);
    expect(idsFor([...all].reverse(), scope)).toEqual(expected);
  });

  test('the limits that apply to a charge are ordered by id, and so by age, within the same rank', () => {
    expect(idsFor([one('b', 'budget'), one('c', 'budget'), one('a', 'budget')])).toEqual(['a', 'b', 'c']);
  });

  test('include the wildcard limit for a customer without a limit of its own', () => {
    const all = [
      one('each', 'customer', { customer_id: WILDCARD }),
      one('own', 'customer', { customer_id: 'big' }),
      one('pack', 'credits', { customer_id: 'small' }),
    ];
    expect(idsFor(all, scopeOf({ customer_id: 'big' }))).toEqual(['own']);
    // A credit pack is not a customer limit, so it overrides nothing.
    expect(idsFor(all, scopeOf({ customer_id: 'small' }))).toEqual(['each', 'pack']);
    expect(idsFor(all, scopeOf({ customer_id: 'new' }))).toEqual(['each']);
    expect(idsFor(all)).toEqual([]);
  });

  test('contain each limit once, also for a customer or chain that is named like the wildcard', () => {
    const all = [
      one('each', 'customer', { customer_id: WILDCARD }),
      one('cost', 'chain_cost', { chain_id: WILDCARD }),
      one('depth', 'chain_depth', { chain_id: WILDCARD }),
    ];
    expect(idsFor(all, scopeOf({ customer_id: '*', chain_id: '*' }))).toEqual(['each', 'cost', 'depth']);
  });

  test('do not include limits on a route class', () => {
    expect(idsFor([one('reads', 'rate', { route_class: 'read' })])).toEqual([]);
  });

  test('the limits that apply to a charge are found without scanning 10,000 limits of other customers', () => {
    let looks = 0;
    const watched = (limit: Limit): Limit => ({
      ...limit,
      get match() {
        looks += 1;
        return limit.match;
      },
    });
    const all = Array.from({ length: 10_000 }, (_, i) =>
      watched(
        one(
          `limit-${i}`,
          i % 2 === 0 ? 'budget' : 'customer',
          i % 2 === 0 ? { workflow: `w${i}` } : { customer_id: `c${i}` },
        ),
      ),
    );
    const limits = limitsOf(all);
    looks = 0;
    const found = applicable(limits, scopeOf({ workflow: 'w5000', customer_id: 'c5001' }));
    expect(found.map(({ id }) => id)).toEqual(['limit-5000', 'limit-5001']);
    expect(looks).toBeLessThan(20);
  });
});

describe('a counter', () => {
  const atMs = Date.parse('2026-11-15T12:00:00Z');
  const keyOf = (limit: Limit, scope = scopeOf(), timezone = 'UTC') =>
    counterKey(limit, windowOf(limit, timezone, atMs), scope);

  test('a counter has a key of its limit and the start of its window', () => {
    expect(keyOf(one('bud', 'budget'))).toBe(`bud@${Date.parse('2026-11-15T00:00:00Z')}`);
    expect(keyOf({ ...one('bud', 'budget'), span: { kind: 'fixed', seconds: 60 } })).toBe(`bud@${atMs}`);
    expect(keyOf({ ...one('crp', 'credits', { customer_id: 'c' }), span: { kind: 'lifetime' } })).toBe(
      'crp@0',
    );
  });

  test('uses the time zone of the limit before that of the org', () => {
    const day = Date.parse('2026-11-15T00:00:00Z');
    const inTokyo = one('bud', 'budget');
    expect(keyOf(inTokyo, scopeOf(), 'Asia/Tokyo')).toBe(`bud@${day - 9 * 3_600_000}`);
    const own: Limit = {
      ...inTokyo,
      span: { kind: 'calendar', period: 'day', timezone: 'America/New_York' },
    };
    expect(keyOf(own, scopeOf(), 'Asia/Tokyo')).toBe(`bud@${day + 5 * 3_600_000}`);
  });

  test('a counter is separate for each customer and chain under a wildcard limit', () => {
    const start = Date.parse('2026-11-15T00:00:00Z');
    const customer = one('clm', 'customer', { customer_id: WILDCARD });
    expect(keyOf(customer, scopeOf({ customer_id: 'a' }))).toBe(`clm@${start}:a`);
    expect(keyOf(customer, scopeOf({ customer_id: 'b' }))).toBe(`clm@${start}:b`);
    const chain: Limit = { ...one('chn', 'chain_cost', { chain_id: WILDCARD }), span: { kind: 'lifetime' } };
    expect(keyOf(chain, scopeOf({ chain_id: 'x' }))).toBe('chn@0:x');
    expect(keyOf(one('clm', 'customer', { customer_id: 'a' }), scopeOf({ customer_id: 'a' }))).toBe(
      `clm@${start}`,
    );
  });
});
