/** Every denial about money over HTTP, with all details; and allowed amounts, exact to the nanodollar. */
import { beforeEach, describe, expect, test } from 'vitest';
import { type TestAnswer, type TestOrg, useWorld } from '../harness.ts';
import { rounds } from '../support/rounds.ts';

const world = useWorld();
let org: TestOrg;
beforeEach(async () => {
  org = await world.createOrg();
  // In this time zone the start of a day, a week or a month has an offset from UTC.
  await ours('PATCH', '', { timezone: 'Europe/Berlin' });
});

const send = (method: string, path: string, body?: object) =>
  world.request(method, path, { key: org.ownerKey, ...(body !== undefined && { body }) });

/** Sends a request that must succeed. */
async function done(sent: Promise<TestAnswer>) {
  const answer = await sent;
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json;
}
const ours = (method: string, path: string, body?: object) =>
  done(send(method, `/v1/orgs/${org.id}${path}`, body));
const operator = (method: string, path: string, body: object) =>
  done(world.request(method, `/v1/admin${path}`, { key: world.operatorKey, body }));
const ask = (body: object) => send('POST', '/v1/edge/decision', { model: 'm', ...body });
const run = (body: object) => send('POST', '/v1/runs', { model: 'm', ...body });

/** The three surfaces that check limits, each with the same amount. */
const surfaces = {
  'an edge decision': (usd: string, body: object = {}) => ask({ estimated_cost_usd: usd, ...body }),
  'a running run': (usd: string, body: object = {}) =>
    run({ status: 'running', estimated_cost_usd: usd, ...body }),
  'a finished run': (usd: string, body: object = {}) => run({ cost_usd: usd, ...body }),
} as const;
const surfaceNames = Object.keys(surfaces) as (keyof typeof surfaces)[];
const ingest = ['a running run', 'a finished run'] as const;

/** Returns status, code and details; `world.request` checks the headers. */
function denialOf({ status, json }: TestAnswer): unknown[] {
  return [status, json?.error?.code, json?.error?.details];
}

const putCap = (cap_usd: string) => ours('PUT', '/spend-cap', { cap_usd });
const putPolicies = (...policies: object[]) =>
  operator('PUT', `/orgs/${org.id}/rate-limits`, {
    policies: policies.map((policy, index) => ({ name: `p${index}`, ...policy })),
  });
const putPrepaid = async (amount_usd: string) => {
  await operator('PUT', `/orgs/${org.id}/prepaid`, { enabled: true });
  await operator('POST', `/orgs/${org.id}/prepaid/top-ups`, { amount_usd });
};
const putPlan = async (plan: object) => {
  const { id } = await operator('POST', '/plans', { name: `of ${org.id}`, overage_policy: 'block', ...plan });
  await operator('PUT', `/orgs/${org.id}/plan`, { plan_id: id });
};
const pack = (amount_usd: string, more: object = {}) =>
  ours('POST', '/credit-packs', { customer_id: 'c', amount_usd, ...more });
const inSeconds = (seconds: number) => new Date(world.clock.now().getTime() + seconds * 1_000).toISOString();
const reconciled = async () => {
  const { balanced, drift_usd } = await ours('GET', '/ledger/reconciliation');
  expect({ balanced, drift_usd }).toEqual({ balanced: true, drift_usd: '0' });
};

describe('spend_cap_exceeded', () => {
  test.each(surfaceNames)('%s', async (surface) => {
    await putCap('1');
    await done(surfaces['a finished run']('0.5'));
    await done(surfaces['an edge decision']('0.25'));
    expect(denialOf(await surfaces[surface]('0.250000001'))).toEqual([
      402,
      'spend_cap_exceeded',
      {
        cap_usd: '1',
        spent_usd: '0.75',
        held_usd: '0.25',
        attempted_usd: '0.250000001',
        resets_at: '2026-11-16T00:00:00.000+01:00',
        // Only a finished run has already incurred its cost.
        ...(surface !== 'a finished run' && { reason: 'pre_flight' }),
      },
    ]);
    await done(surfaces[surface]('0.25'));
    await reconciled();
  });

  test('a spend cap resets at `resets_at`', async () => {
    await putCap('1');
    await done(run({ cost_usd: '1' }));
    const { resets_at } = (await ask({ estimated_cost_usd: '1' })).json.error.details;
    world.clock.advanceSeconds((Date.parse(resets_at) - world.clock.now().getTime()) / 1_000 - 1);
    expect((await ask({ estimated_cost_usd: '1' })).status).toBe(402);
    world.clock.advanceSeconds(1);
    await done(ask({ estimated_cost_usd: '1' }));
  });
});

describe('chain_budget_exceeded', () => {
  test.each(ingest)('cost, by %s', async (surface) => {
    await ours('PUT', '/chain-budget', { max_cost_usd: '1' });
    await done(surfaces[surface]('0.6', { chain_id: 'a' }));
    expect(denialOf(await surfaces[surface]('0.5', { chain_id: 'a' }))).toEqual([
      402,
      'chain_budget_exceeded',
      { reason: 'cost', current: '0.6', attempted: '0.5', limit: '1' },
    ]);
    await done(surfaces[surface]('1', { chain_id: 'b' }));
  });

  test('tokens', async () => {
    await ours('PUT', '/chain-budget', { max_tokens: 100 });
    await done(run({ cost_usd: '0', chain_id: 'a', input_tokens: 50, output_tokens: 10 }));
    expect(denialOf(await run({ cost_usd: '0', chain_id: 'a', input_tokens: 41 }))).toEqual([
      402,
      'chain_budget_exceeded',
      { reason: 'tokens', current: 60, attempted: 41, limit: 100 },
    ]);
    await done(run({ cost_usd: '0', chain_id: 'a', input_tokens: 40 }));
  });

  test('depth is 429 without Retry-After', async () => {
    await ours('PUT', '/chain-budget', { max_depth: 2 });
    const first = await done(run({ cost_usd: '0.1' }));
    const second = await done(run({ cost_usd: '0.1', parent_run_id: first.id }));
    expect([second.depth, second.chain_id]).toEqual([2, first.id]);
    const third = await run({ cost_usd: '0.1', parent_run_id: second.id });
    expect(denialOf(third)).toEqual([
      429,
      'chain_budget_exceeded',
      { reason: 'depth', current: 2, attempted: 3, limit: 2 },
    ]);
    expect(third.headers['retry-after']).toBeUndefined();
  });

  test('cost is checked before depth, depth before tokens', async () => {
    await ours('PUT', '/chain-budget', { max_cost_usd: '1', max_depth: 1, max_tokens: 10 });
    const first = await done(run({ cost_usd: '0.5', input_tokens: 5 }));
    const reason = async (body: object) =>
      (await run({ parent_run_id: first.id, ...body })).json.error.details.reason;
    expect(await reason({ cost_usd: '1', input_tokens: 10 })).toBe('cost');
    expect(await reason({ cost_usd: '0.1', input_tokens: 10 })).toBe('depth');
  });
});

describe('budget_exceeded', () => {
  const scopes = {
    org: {},
    department: { department: 'x' },
    workflow: { workflow: 'x' },
    deployment: { deployment: 'x' },
    customer: { customer_id: 'x' },
  };
  const cases = Object.entries(scopes).flatMap(([kind, scope]) =>
    surfaceNames.map((surface) => [kind, surface, scope] as const),
  );
  test.each(cases)('of %s, by %s', async (scope_kind, surface, scope) => {
    const spending = { period: 'month', limit_usd: '2' };
    const { id } =
      scope_kind === 'customer'
        ? await ours('POST', '/customer-limits', { customer_id: 'x', ...spending })
        : await ours('POST', '/budgets', {
            name: 'a',
            scope_kind,
            ...(scope_kind !== 'org' && { scope_id: 'x' }),
            ...spending,
          });
    await done(run({ cost_usd: '1.5', ...scope }));
    await done(ask({ estimated_cost_usd: '0.2', ...scope }));
    expect(denialOf(await surfaces[surface]('0.4', scope))).toEqual([
      402,
      'budget_exceeded',
      {
        budget_id: id,
        scope_kind,
        limit_usd: '2',
        spent_usd: '1.7',
        held_usd: '0.2',
        attempted_usd: '0.4',
        period_start: '2026-11-01T00:00:00.000+01:00',
        period_end: '2026-12-01T00:00:00.000+01:00',
      },
    ]);
    await done(surfaces[surface]('0.3', scope));
    if (scope_kind !== 'org') {
      await done(surfaces[surface]('100'));
    }
  });

  test('the limit for `*` counts each customer separately, except those with their own limit', async () => {
    const { id } = await ours('POST', '/customer-limits', {
      customer_id: '*',
      period: 'day',
      limit_usd: '1',
    });
    await ours('POST', '/customer-limits', { customer_id: 'vip', period: 'day', limit_usd: '5' });
    await done(run({ cost_usd: '1', customer_id: 'a' }));
    await done(run({ cost_usd: '1', customer_id: 'b' }));
    await done(run({ cost_usd: '5', customer_id: 'vip' }));
    expect((await run({ cost_usd: '0.1', customer_id: 'a' })).json.error.details).toMatchObject({
      budget_id: id,
      scope_kind: 'customer',
      spent_usd: '1',
    });
  });

  test('a budget created within its period counts settled and held amounts since the start of the period', async () => {
    await done(run({ cost_usd: '0.75', workflow: 'w' }));
    await done(ask({ estimated_cost_usd: '0.25', workflow: 'w' }));
    await ours('POST', '/budgets', {
      name: 'late',
      scope_kind: 'workflow',
      scope_id: 'w',
      period: 'month',
      limit_usd: '1.5',
    });
    const { details } = (await ask({ estimated_cost_usd: '0.500000001', workflow: 'w' })).json.error;
    expect(details).toMatchObject({ spent_usd: '1', held_usd: '0.25', attempted_usd: '0.500000001' });
    await done(ask({ estimated_cost_usd: '0.5', workflow: 'w' }));
    await reconciled();
  });
});

describe('quota_exhausted', () => {
  test.each(surfaceNames)('the prepaid balance, by %s: always 402', async (surface) => {
    await putPrepaid('1');
    await done(run({ cost_usd: '0.6' }));
    await done(ask({ estimated_cost_usd: '0.1' }));
    expect(denialOf(await surfaces[surface]('0.4'))).toEqual([
      402,
      'quota_exhausted',
      { quota_kind: 'prepaid', unit: 'usd', limit: '1', used: '0.7', window_start: null, window_end: null },
    ]);
    await done(surfaces[surface]('0.3'));
    await operator('POST', `/orgs/${org.id}/prepaid/top-ups`, { amount_usd: '0.5' });
    await done(surfaces[surface]('0.5'));
  });

  const windows = [
    { unit: 'usd', limit: '1', used: '0.7', body: {} },
    { unit: 'tokens', limit: 100, used: 70, body: { input_tokens: 40 } },
    { unit: 'requests', limit: 2, used: 2, body: {} },
  ];
  test.each(
    surfaceNames.flatMap((surface) => windows.map((window) => [surface, window.unit, window] as const)),
  )(
    'a window, by %s, in %s: 429 at ingest, 402 on the edge, and no Retry-After',
    async (surface, unit, { limit, used, body }) => {
      await putPolicies({ unit, limit, window_seconds: 3_600, kind: 'quota' });
      const spent = unit === 'tokens' ? { input_tokens: 35 } : {};
      await done(run({ cost_usd: '0.6', ...spent }));
      await done(ask({ estimated_cost_usd: '0.1', ...spent }));
      const denied = await surfaces[surface]('0.4', body);
      const start = new Date(Math.floor(world.clock.now().getTime() / 3_600_000) * 3_600_000);
      expect(denialOf(denied)).toEqual([
        surface === 'an edge decision' ? 402 : 429,
        'quota_exhausted',
        {
          quota_kind: 'window',
          unit,
          limit,
          used,
          window_start: expect.stringMatching(/^2026-1[12]-\d\dT\d\d:00:00\.000\+01:00$/),
          window_end: expect.stringMatching(/^2026-1[12]-\d\dT\d\d:00:00\.000\+01:00$/),
        },
      ]);
      const { window_start, window_end } = denied.json.error.details;
      expect(Date.parse(window_start)).toBe(start.getTime());
      expect(Date.parse(window_end)).toBe(start.getTime() + 3_600_000);
      expect(denied.headers['retry-after']).toBeUndefined();
      // The message is the same on every surface, so it names no status.
      expect(denied.json.error.message).toMatch(/^The quota of a rate-limit policy is exhausted/);
      expect(denied.json.error.message).not.toMatch(/\b4\d\d\b/);
    },
  );
});

describe('credits_exhausted', () => {
  test.each(ingest)('by %s', async (surface) => {
    await pack('1');
    await done(surfaces[surface]('0.7', { customer_id: 'c' }));
    expect(denialOf(await surfaces[surface]('0.300000001', { customer_id: 'c' }))).toEqual([
      402,
      'credits_exhausted',
      { available_usd: '0.3', attempted_usd: '0.300000001' },
    ]);
    await done(surfaces[surface]('0.3', { customer_id: 'c' }));
    // An empty pack is still live.
    expect((await surfaces[surface]('0.1', { customer_id: 'c' })).json.error.details).toEqual({
      available_usd: '0',
      attempted_usd: '0.1',
    });
    await reconciled();
  });

  test('credits_exhausted is never returned for a customer without a live pack', async () => {
    await done(run({ cost_usd: '100', customer_id: 'c' }));
    const voided = await pack('0.1');
    await send('DELETE', `/v1/orgs/${org.id}/credit-packs/${voided.id}`);
    await pack('0.1', { expires_at: inSeconds(10) });
    expect((await run({ cost_usd: '100', customer_id: 'c' })).json.error.code).toBe('credits_exhausted');
    await done(run({ cost_usd: '100', customer_id: 'somebody else' }));
    await done(run({ cost_usd: '100' }));
    world.clock.advanceSeconds(10);
    await done(run({ cost_usd: '100', customer_id: 'c' }));
  });

  test('a pack that expires still pays for amounts that were held, and for nothing else', async () => {
    const { id } = await pack('1', { expires_at: inSeconds(60) });
    const held = await done(run({ status: 'running', estimated_cost_usd: '0.8', customer_id: 'c' }));
    world.clock.advanceSeconds(120);
    const ended = await done(send('POST', `/v1/runs/${held.id}/complete`, { cost_usd: '0.5' }));
    expect(ended).toMatchObject({ cost_usd: '0.5', uncovered_usd: '0', marks: [] });
    const [tally] = await world.db.query<{ settled: bigint }>(
      'SELECT settled FROM limit_tallies WHERE org_id = $1 AND limit_id = $2',
      [org.id, id],
    );
    expect(tally?.settled).toBe(500_000_000n);
    await reconciled();
  });

  test('the cost of a settled decision beyond the credits is posted and visible', async () => {
    await pack('1');
    const { decision_id } = await done(ask({ estimated_cost_usd: '3', customer_id: 'c' }));
    const settled = await done(run({ cost_usd: '3', decision_id }));
    expect(settled.uncovered_usd).toBe('2');
    await reconciled();
  });
});

describe('plan_limit_exceeded', () => {
  test.each(ingest)('runs, by %s', async (surface) => {
    await putPlan({ monthly_runs: 2 });
    await done(surfaces[surface]('1'));
    await done(surfaces[surface]('1'));
    expect(denialOf(await surfaces[surface]('1'))).toEqual([
      402,
      'plan_limit_exceeded',
      { limit_kind: 'runs', limit: 2, used: 2 },
    ]);
  });

  test('tokens', async () => {
    await putPlan({ monthly_tokens: 100 });
    await done(run({ cost_usd: '0', input_tokens: 60, output_tokens: 30 }));
    expect(denialOf(await run({ cost_usd: '0', output_tokens: 11 }))).toEqual([
      402,
      'plan_limit_exceeded',
      { limit_kind: 'tokens', limit: 100, used: 90 },
    ]);
    await done(run({ cost_usd: '0', output_tokens: 10 }));
  });

  test('plan_limit_exceeded is not returned with the overage policy `allow`, nor in the next month', async () => {
    await putPlan({ monthly_runs: 1, monthly_tokens: 1, overage_policy: 'allow' });
    for (let i = 0; i < 3; i += 1) {
      await done(run({ cost_usd: '1', input_tokens: 10 }));
    }
    const other = await world.createOrg();
    org = other;
    await putPlan({ monthly_runs: 1 });
    await done(run({ cost_usd: '1' }));
    expect((await run({ cost_usd: '1' })).status).toBe(402);
    world.clock.advanceSeconds(31 * 86_400);
    await done(run({ cost_usd: '1' }));
  });
});

describe('rate_limited', () => {
  /**
   * Checks that the request is denied with a delay in seconds: it is allowed after that delay, and not one second
   * earlier.
   */
  async function expectRate(again: () => Promise<TestAnswer>): Promise<void> {
    const denied = await again();
    const seconds = denied.json.error?.details.retry_after_seconds;
    expect(denialOf(denied)).toEqual([429, 'rate_limited', { retry_after_seconds: seconds }]);
    expect(Number.isInteger(seconds) && seconds >= 1, String(seconds)).toBe(true);
    expect(denied.headers['retry-after']).toBe(String(seconds));
    world.clock.advanceSeconds(seconds - 1);
    if (seconds > 1) {
      expect((await again()).status).toBe(429);
    }
    world.clock.advanceSeconds(1);
    await done(again());
  }

  test('requests of all kinds', async () => {
    await putPolicies({
      match: { route_class: 'edge' },
      unit: 'requests',
      limit: 1,
      window_seconds: 60,
      kind: 'rate',
    });
    await done(ask({ estimated_cost_usd: '1' }));
    await expectRate(() => ask({ estimated_cost_usd: '1' }));
  });

  test.each(surfaceNames)('requests of a model and of each customer, by %s', async (surface) => {
    await putPolicies(
      { match: { model: 'slow' }, unit: 'requests', limit: 1, window_seconds: 30, kind: 'rate' },
      { match: { customer_id: '*' }, unit: 'requests', limit: 1, window_seconds: 40, kind: 'rate' },
    );
    await done(surfaces[surface]('1', { model: 'slow' }));
    await done(surfaces[surface]('1', { model: 'fast' }));
    await expectRate(() => surfaces[surface]('1', { model: 'slow' }));
    await done(surfaces[surface]('1', { customer_id: 'a' }));
    await done(surfaces[surface]('1', { customer_id: 'b' }));
    await expectRate(() => surfaces[surface]('1', { customer_id: 'a' }));
  });

  test.each(surfaceNames)('tokens and dollars, by %s', async (surface) => {
    await putPolicies(
      { unit: 'tokens', limit: 100, window_seconds: 60, kind: 'rate', match: { model: 't' } },
      { unit: 'usd', limit: '1', window_seconds: 60, kind: 'rate', match: { model: 'u' } },
    );
    await done(surfaces[surface]('1', { model: 't', input_tokens: 60 }));
    await expectRate(() => surfaces[surface]('1', { model: 't', input_tokens: 60 }));
    await done(surfaces[surface]('0.6', { model: 'u' }));
    await expectRate(() => surfaces[surface]('0.6', { model: 'u' }));
  });

  const tooMuch = {
    quota_kind: 'window',
    unit: 'tokens',
    limit: 100,
    used: 0,
    window_start: null,
    window_end: null,
  };
  const perMinute = { unit: 'tokens', limit: 200, burst: 100, window_seconds: 60, kind: 'rate' };
  test.each(surfaceNames)(
    'rate_limited is not returned for an amount above the burst limit, by %s, since no retry helps',
    async (surface) => {
      await putPolicies(
        { ...perMinute, match: { model: 'm' } },
        { unit: 'requests', limit: 1, window_seconds: 60, kind: 'rate', match: { model: '*' } },
      );
      const denied = await surfaces[surface]('1', { input_tokens: 101 });
      const status = surface === 'an edge decision' ? 402 : 429;
      expect(denialOf(denied)).toEqual([status, 'quota_exhausted', tooMuch]);
      expect(denied.json.error.message).toContain('101 tokens');
      expect(denied.headers['retry-after']).toBeUndefined();
      // The denied request debited neither rate.
      await done(surfaces[surface]('1', { input_tokens: 100 }));
      // The error is the same if another rate would only require a wait.
      expect(denialOf(await surfaces[surface]('1', { input_tokens: 101 }))[1]).toBe('quota_exhausted');
    },
  );

  test('rate_limited is not returned for a bulk request whose total exceeds the burst limit', async () => {
    await putPolicies({ ...perMinute, match: { model: 'm' } });
    const bulk = (count: number) =>
      send('POST', '/v1/runs/bulk', {
        runs: Array.from({ length: count }, () => ({ model: 'm', cost_usd: '0', input_tokens: 40 })),
      });
    const never = [429, 'quota_exhausted', { ...tooMuch, run_index: 2 }];
    expect(denialOf(await bulk(3))).toEqual(never);
    await done(bulk(2));
    // The error is the same if little is available now.
    expect(denialOf(await bulk(3))).toEqual(never);
    const waiting = await bulk(1);
    expect(denialOf(waiting)).toEqual([
      429,
      'rate_limited',
      { retry_after_seconds: Number(waiting.headers['retry-after']), run_index: 0 },
    ]);
  });

  test('a request that another check denies returns its debit of the rate', async () => {
    await putCap('1');
    await putPolicies({
      match: { model: 'm' },
      unit: 'requests',
      limit: 1,
      window_seconds: 60,
      kind: 'rate',
    });
    for (const surface of surfaceNames) {
      expect((await surfaces[surface]('2')).json.error.code).toBe('spend_cap_exceeded');
    }
    await done(ask({ estimated_cost_usd: '1' }));
  });
});

describe('if several limits deny a request', () => {
  test('the first in the order of the checks is reported, and no limit is debited', async () => {
    await putPolicies({
      unit: 'usd',
      limit: '1',
      window_seconds: 86_400,
      kind: 'quota',
      match: { model: 'm' },
    });
    await putCap('1');
    for (const [scope_kind, scope_id] of [
      ['deployment', 'x'],
      ['workflow', 'x'],
      ['department', 'x'],
      ['org', undefined],
    ]) {
      await ours('POST', '/budgets', {
        name: scope_kind,
        scope_kind,
        ...(scope_id && { scope_id }),
        period: 'day',
        limit_usd: '1',
      });
    }
    await ours('POST', '/customer-limits', { customer_id: 'c', period: 'day', limit_usd: '1' });
    await ours('PUT', '/chain-budget', { max_cost_usd: '1' });
    await pack('1');
    await putPrepaid('1');
    await putPlan({ monthly_runs: 0 });
    const body = {
      workflow: 'x',
      deployment: 'x',
      department: 'x',
      customer_id: 'c',
      chain_id: 'a',
      cost_usd: '2',
    };
    const seen: string[] = [];
    const next = async () => {
      const { code, details } = (await run(body)).json.error;
      seen.push(
        [code, details.quota_kind ?? details.scope_kind ?? details.limit_kind].filter(Boolean).join(' '),
      );
    };
    const drop = (path: string) => send('DELETE', `/v1/orgs/${org.id}${path}`);
    await next();
    await operator('PUT', `/orgs/${org.id}/plan`, { plan_id: null });
    await next();
    await operator('PUT', `/orgs/${org.id}/prepaid`, { enabled: false });
    await next();
    await putPolicies();
    await next();
    await drop('/spend-cap');
    const { data: budgets } = await ours('GET', '/budgets');
    for (const kind of ['org', 'department', 'workflow', 'deployment']) {
      await next();
      await drop(
        `/budgets/${budgets.find((budget: { scope_kind: string }) => budget.scope_kind === kind).id}`,
      );
    }
    await next();
    const { data: limits } = await ours('GET', '/customer-limits');
    await drop(`/customer-limits/${limits[0].id}`);
    await next();
    await ours('PUT', '/chain-budget', {});
    await next();
    expect(seen).toEqual([
      'plan_limit_exceeded runs',
      'quota_exhausted prepaid',
      'quota_exhausted window',
      'spend_cap_exceeded',
      'budget_exceeded org',
      'budget_exceeded department',
      'budget_exceeded workflow',
      'budget_exceeded deployment',
      'budget_exceeded customer',
      'chain_budget_exceeded',
      'credits_exhausted',
    ]);
    const { counters, totals } = await ours('GET', '/ledger/reconciliation');
    for (const { settled, held } of counters) {
      expect([String(settled), String(held)]).toEqual(['0', '0']);
    }
    expect(totals.cost_usd.entries).toBe('0');
  });
});

describe('in bulk', () => {
  const bulk = (runs: object[]) =>
    send('POST', '/v1/runs/bulk', { runs: runs.map((one) => ({ model: 'm', ...one })) });

  test('a denial names the run, and no run is posted', async () => {
    await putCap('1');
    expect(
      denialOf(
        await bulk([{ cost_usd: '0.5' }, { cost_usd: '0.4' }, { cost_usd: '0.2' }, { cost_usd: '9' }]),
      ),
    ).toEqual([
      402,
      'spend_cap_exceeded',
      {
        cap_usd: '1',
        spent_usd: '0.9',
        held_usd: '0.9',
        attempted_usd: '0.2',
        resets_at: expect.any(String),
        run_index: 2,
      },
    ]);
    expect((await ours('GET', '/usage')).total.runs).toBe(0);
    await done(bulk([{ cost_usd: '0.5' }, { cost_usd: '0.4' }, { cost_usd: '0.1' }]));
    await reconciled();
  });

  test('a denial names the run also for a running run, the depth of a chain, and a rate', async () => {
    await putCap('1');
    const { json } = await bulk([{ cost_usd: '0.5' }, { status: 'running', estimated_cost_usd: '0.6' }]);
    expect(json.error.details).toMatchObject({ run_index: 1, reason: 'pre_flight' });
    const parent = await done(run({ cost_usd: '0' }));
    await ours('PUT', '/chain-budget', { max_depth: 1 });
    const deep = await bulk([{ cost_usd: '0' }, { cost_usd: '0', parent_run_id: parent.id }]);
    expect([deep.status, deep.json.error.details.run_index]).toEqual([429, 1]);
  });
});

/** More than the connections of a pool. */
const atOnce = rounds(60, 200);

describe('over real HTTP', () => {
  async function rush(count: number, body: object): Promise<Record<string, number>> {
    const { url } = await world.listen();
    const answers = await Promise.all(
      Array.from({ length: count }, async () => {
        const response = await fetch(`${url}/v1/edge/decision`, {
          method: 'POST',
          headers: { authorization: `Bearer ${org.ownerKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'm', ...body }),
        });
        const json = (await response.json()) as { decision?: string; error?: { code: string } };
        return `${response.status} ${json.decision ?? json.error?.code}`;
      }),
    );
    const counts: Record<string, number> = {};
    for (const answer of answers) {
      counts[answer] = (counts[answer] ?? 0) + 1;
    }
    return counts;
  }

  test.each([1, 7, atOnce - 15])(
    `of ${atOnce} concurrent requests on a cap for %i exactly that many are allowed`,
    async (fits) => {
      // For 7, the cap is one nanodollar below $8, so an eighth request for $1 does not fit.
      await putCap(`${fits}.${fits === 7 ? '999999999' : '000000000'}`);
      expect(await rush(atOnce, { estimated_cost_usd: '1' })).toEqual({
        '200 allow': fits,
        '402 spend_cap_exceeded': atOnce - fits,
      });
      const { counters } = await ours('GET', '/ledger/reconciliation');
      expect(counters).toMatchObject([{ held: String(fits), held_by_holds: String(fits), drift: '0' }]);
    },
  );

  const kinds = ['prepaid', 'quota', 'cap', 'budget', 'customer'] as const;
  const codes = [
    'quota_exhausted',
    'quota_exhausted',
    'spend_cap_exceeded',
    'budget_exceeded',
    'budget_exceeded',
  ];
  test.each(kinds.map((kind, index) => [kind, codes[index]] as const))(
    `${atOnce} at once on five limits, of which the %s is the tightest`,
    async (tight, code) => {
      const usd = (kind: (typeof kinds)[number]) => (kind === tight ? '7' : '1000');
      await putPrepaid(usd('prepaid'));
      await putPolicies({
        unit: 'requests',
        limit: tight === 'quota' ? 7 : 1_000,
        window_seconds: 86_400,
        kind: 'quota',
      });
      await putCap(usd('cap'));
      await ours('POST', '/budgets', {
        name: 'a',
        scope_kind: 'workflow',
        scope_id: 'w',
        period: 'month',
        limit_usd: usd('budget'),
      });
      await ours('POST', '/customer-limits', {
        customer_id: '*',
        period: 'week',
        limit_usd: usd('customer'),
      });
      const body = { estimated_cost_usd: '1', workflow: 'w', customer_id: 'c' };
      expect(await rush(atOnce, body)).toEqual({ '200 allow': 7, [`402 ${code}`]: atOnce - 7 });
      const { counters, balanced } = await ours('GET', '/ledger/reconciliation');
      expect(balanced).toBe(true);
      expect(counters.map(({ held }: { held: unknown }) => String(held))).toEqual(Array(5).fill('7'));
    },
  );
});

describe('between a decision and its run', () => {
  test('the price at the time of the decision applies, even if it has changed since', async () => {
    const price = (usd: string) =>
      operator('PUT', '/models/priced', {
        provider: 'p',
        input_usd_per_million: usd,
        output_usd_per_million: usd,
      });
    await price('1000000');
    const { decision_id, held_usd } = await done(
      ask({ model: 'priced', input_tokens: 2, max_output_tokens: 3 }),
    );
    expect(held_usd).toBe('5');
    await price('2000000');
    const tokens = { model: 'priced', input_tokens: 2, output_tokens: 1 };
    expect(await done(run({ ...tokens, decision_id }))).toMatchObject({ cost_usd: '3', marks: [] });
    expect((await done(run(tokens))).cost_usd).toBe('6');
  });

  test('no run within `max_output_tokens` costs more than was held', async () => {
    await operator('PUT', '/models/clamped', {
      provider: 'p',
      input_usd_per_million: '3.3',
      output_usd_per_million: '7.7',
    });
    const request = { model: 'clamped', input_tokens: 1_000, estimated_cost_usd: '0.01' };
    const verdict = await done(ask(request));
    expect(verdict.max_output_tokens).toBe(Math.floor((10_000_000 - 3_300_000) / 7_700));
    const output_tokens = verdict.max_output_tokens;
    const settled = await done(
      run({ model: 'clamped', input_tokens: 1_000, output_tokens, decision_id: verdict.decision_id }),
    );
    expect(Number(settled.cost_usd)).toBeLessThanOrEqual(0.01);
    expect(settled.marks).toEqual([]);
    const { decision_id } = await done(ask(request));
    const beyond = await done(
      run({ model: 'clamped', input_tokens: 1_000, output_tokens: output_tokens + 1, decision_id }),
    );
    expect(beyond.marks).toEqual(['over_hold']);
    expect((await done(ask({ ...request, max_output_tokens: 5 }))).max_output_tokens).toBe(5);
    expect((await done(ask({ ...request, model: 'unpriced' }))).max_output_tokens).toBeNull();
  });

  test('a run on a later day is charged to the day of the decision', async () => {
    await putCap('1');
    // Advances to the next noon UTC, so that the day changes in Berlin too.
    world.clock.advanceSeconds(86_400 - ((world.clock.now().getTime() / 1_000 + 43_200) % 86_400));
    const day = world.clock.now().toISOString().slice(0, 10);
    const { decision_id } = await done(ask({ estimated_cost_usd: '1', expires_in_seconds: 86_400 }));
    world.clock.advanceSeconds(86_000);
    await done(ask({ estimated_cost_usd: '0.4' }));
    const settled = await done(run({ cost_usd: '0.9', decision_id }));
    expect([settled.marks, settled.charged_at.slice(0, 10)]).toEqual([[], day]);
    const { limits } = await done(ask({ estimated_cost_usd: '0' }));
    expect(limits).toMatchObject([{ kind: 'spend_cap', remaining: '0.6' }]);
    const { data } = await ours('GET', '/usage?group_by=day');
    expect(data).toMatchObject([{ day, cost_usd: '0.9', runs: 1 }]);
    await reconciled();
  });
});

test('a decision lists the checks in `not_checked` that apply to the org, and only those', async () => {
  const notChecked = async (body: object = {}) =>
    (await done(ask({ estimated_cost_usd: '1', ...body }))).not_checked.sort();
  await putCap('1000');
  expect(await notChecked()).toEqual([]);
  await putPlan({ monthly_runs: 1, monthly_tokens: 1 });
  expect(await notChecked()).toEqual(['plan']);
  await ours('PUT', '/chain-budget', { max_cost_usd: '1', max_depth: 1, max_tokens: 1 });
  expect(await notChecked()).toEqual(['plan']);
  expect(await notChecked({ chain_id: 'a' })).toEqual(['chain', 'plan']);
  await pack('1');
  expect(await notChecked({ customer_id: 'd' })).toEqual(['plan']);
  expect(await notChecked({ customer_id: 'c', chain_id: 'a' })).toEqual(['chain', 'credits', 'plan']);
});

test('a request without cost is allowed by every exhausted limit in dollars', async () => {
  await putCap('0');
  await putPrepaid('0.000000001');
  await pack('0.000000001');
  for (const surface of surfaceNames) {
    expect((await surfaces[surface]('0.01', { customer_id: 'c' })).status).toBe(402);
    await done(surfaces[surface]('0', { customer_id: 'c' }));
  }
});

test('an amount that would overflow the sums of the ledger is rejected like one that is too large', async () => {
  await done(run({ cost_usd: '8999999999' }));
  const fields = [{ field: 'cost_usd', code: 'out_of_range', message: expect.any(String) }];
  expect(denialOf(await run({ cost_usd: '8999999999' }))).toEqual([422, 'validation_failed', { fields }]);
  const bulk = await send('POST', '/v1/runs/bulk', { runs: [{ model: 'm', cost_usd: '8999999999' }] });
  expect(bulk.json.error.details.fields).toMatchObject([{ field: 'runs', code: 'out_of_range' }]);
  await done(run({ cost_usd: '1' }));
  await reconciled();
});
