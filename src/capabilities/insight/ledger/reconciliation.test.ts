import { beforeEach, describe, expect, test } from 'vitest';
import { engine, useOrgPerTest, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const call = async (method: string, path: string, body?: object) => {
  const answer = await world.request(method, path, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json;
};
const ours = (path: string) => `/v1/orgs/${org.id}${path}`;
const reconcile = () => call('GET', ours('/ledger/reconciliation'));
const operator = async (method: string, path: string, body: object) => {
  const answer = await world.request(method, `/v1/admin${path}`, { key: world.operatorKey, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json;
};
const run = (body: object) => call('POST', '/v1/runs', { model: 'm', ...body });
const ask = (body: object) => call('POST', '/v1/edge/decision', { model: 'm', ...body });

/** Creates one limit of every kind that has counters. */
async function limitEverything(): Promise<void> {
  await call('PUT', ours('/spend-cap'), { cap_usd: '1000' });
  for (const scope_kind of ['org', 'workflow', 'deployment', 'department']) {
    await call('POST', ours('/budgets'), {
      name: scope_kind,
      scope_kind,
      ...(scope_kind !== 'org' && { scope_id: 'x' }),
      period: 'month',
      limit_usd: '1000',
    });
  }
  await call('POST', ours('/customer-limits'), { customer_id: '*', period: 'week', limit_usd: '1000' });
  await call('POST', ours('/customer-limits'), { customer_id: 'named', period: 'year', limit_usd: '1000' });
  await call('PUT', ours('/chain-budget'), { max_cost_usd: '1000', max_tokens: 1_000_000, max_depth: 9 });
  await call('POST', ours('/credit-packs'), { customer_id: 'payer', amount_usd: '0.5' });
  await operator('PUT', `/orgs/${org.id}/prepaid`, { enabled: true });
  await operator('POST', `/orgs/${org.id}/prepaid/top-ups`, { amount_usd: '1000' });
  const plan = await operator('POST', '/plans', {
    name: `plan of ${org.id}`,
    monthly_runs: 1_000,
    monthly_tokens: 1_000_000,
    overage_policy: 'block',
  });
  await operator('PUT', `/orgs/${org.id}/plan`, { plan_id: plan.id });
  await operator('PUT', `/orgs/${org.id}/rate-limits`, {
    policies: [
      { name: 'a', unit: 'usd', limit: '1000', window_seconds: 7, kind: 'quota' },
      {
        name: 'b',
        match: { model: 'm', customer_id: '*' },
        unit: 'tokens',
        limit: 9_999,
        window_seconds: 3_600,
        kind: 'quota',
      },
      {
        name: 'd',
        match: { customer_id: '*', model: '*', key_id: '*' },
        unit: 'usd',
        limit: '1000',
        window_seconds: 86_400,
        kind: 'quota',
      },
      { name: 'e', match: { model: '*' }, unit: 'usd', limit: '1000', window_seconds: 600, kind: 'quota' },
      {
        name: 'c',
        match: { customer_id: '*' },
        unit: 'requests',
        limit: 9_999,
        window_seconds: 900,
        kind: 'quota',
      },
    ],
  });
}

/** Creates charges of every kind: without a hold, settled, above their hold, late, corrected, recorded, still open. */
async function spend(): Promise<void> {
  const places = { workflow: 'x', deployment: 'x', department: 'x', input_tokens: 10, output_tokens: 5 };
  await run({ cost_usd: '0.123456789', ...places, customer_id: 'some:one' });
  const first = await run({ cost_usd: '0.2', customer_id: 'payer', input_tokens: 7 });
  await call('POST', `/v1/runs/${first.id}/adjustments`, { amount_usd: '-0.05', reason: 'credit note' });
  const held = await ask({ estimated_cost_usd: '0.1', customer_id: 'payer' });
  await run({ cost_usd: '0.7', decision_id: held.decision_id });
  const opened = await run({ status: 'running', estimated_cost_usd: '0.4', chain_id: 'chain:1' });
  await call('POST', `/v1/runs/${opened.id}/complete`, { cost_usd: '0.3', output_tokens: 3 });
  const lost = await ask({ estimated_cost_usd: '0.1', customer_id: 'named' });
  await call('DELETE', ours(`/holds/${lost.decision_id}`));
  await run({ cost_usd: '0.11', decision_id: lost.decision_id });
  world.clock.advanceSeconds(20);
  await run({ cost_usd: '0.000000001', ...places });
  const yesterday = new Date(world.clock.now().getTime() - 86_400_000).toISOString();
  await call('POST', '/v1/runs/bulk?enforcement=record', {
    runs: [
      { model: 'm', cost_usd: '2', started_at: yesterday },
      { model: 'm', cost_usd: '1' },
    ],
  });
  await ask({ estimated_cost_usd: '0.33', ...{ workflow: 'x' }, customer_id: 'payer' });
  await run({ status: 'running', estimated_cost_usd: '0.01', customer_id: 'other', chain_id: 'chain:2' });
}

describe('a ledger that balances', () => {
  test('the ledger of an org without postings balances', async () => {
    expect(await reconcile()).toMatchObject({
      balanced: true,
      drift_usd: '0',
      counters: [],
      counters_checked: 0,
    });
  });

  test('a ledger with charged, held, corrected, recorded, late and excess amounts balances', async () => {
    await limitEverything();
    await spend();
    const seen = await reconcile();
    expect(seen.counters.filter(({ drift }: { drift: unknown }) => drift !== '0' && drift !== 0)).toEqual([]);
    expect(seen).toMatchObject({
      balanced: true,
      drift_usd: '0',
      checked_at: world.clock.now().toISOString(),
      totals: {
        cost_usd: { entries: '4.38345679', runs: '4.38345679', usage: '4.38345679' },
        tokens: { entries: '40', runs: '40', usage: '40' },
        runs: { entries: '8', runs: '8', usage: '8' },
        credits_usd: { entries: '0.5', tallies: '0.5' },
      },
    });
    expect(new Set(seen.counters.map(({ kind }: { kind: string }) => kind))).toEqual(
      new Set([
        'spend_cap',
        'budget',
        'customer',
        'chain_cost',
        'chain_tokens',
        'credits',
        'prepaid',
        'plan_runs',
        'plan_tokens',
        'quota',
      ]),
    );
    expect(seen.counters_checked).toBe(seen.counters.length);
    const cap = seen.counters.find(({ kind }: { kind: string }) => kind === 'spend_cap');
    expect(cap).toEqual({
      key: expect.stringMatching(/^cap_/),
      limit_id: expect.stringMatching(/^cap_/),
      kind: 'spend_cap',
      unit: 'usd',
      window_start: '2026-11-15T00:00:00.000Z',
      window_end: '2026-11-16T00:00:00.000Z',
      settled: '2.38345679',
      settled_by_entries: '2.38345679',
      held: '0.34',
      held_by_holds: '0.34',
      growth: '0',
      growth_by_holds: '0',
      drift: '0',
    });
    // Counters that are all zero would agree too.
    const busy = seen.counters.filter(
      ({ settled_by_entries }: { settled_by_entries: unknown }) =>
        ![null, '0', 0].includes(settled_by_entries as null),
    );
    expect(busy.length).toBeGreaterThan(20);
  });

  test('across midnight, with past windows', async () => {
    await call('PUT', ours('/spend-cap'), { cap_usd: '10' });
    const { decision_id } = await ask({ estimated_cost_usd: '1' });
    await run({ cost_usd: '0.5' });
    world.clock.advanceSeconds(86_400 - 3_600);
    await run({ cost_usd: '0.25' });
    await run({ cost_usd: '0.75', decision_id });
    const { balanced, counters } = await reconcile();
    expect(balanced).toBe(true);
    expect(
      counters
        .map(({ settled, settled_by_entries }: Record<string, string>) => [settled, settled_by_entries])
        .sort(),
    ).toEqual([
      ['0.25', '0.25'],
      ['1.25', '1.25'],
    ]);
  });

  test('a ledger balances at any time while runs are posted, settled late and corrected', async () => {
    await limitEverything();
    const holds: { decision_id: string }[] = [];
    for (let i = 0; i < 30; i += 1) {
      holds.push(await ask({ estimated_cost_usd: '0.1', workflow: 'x', expires_in_seconds: 86_400 }));
    }
    const old = await run({ cost_usd: '5' });
    world.clock.advanceSeconds(3 * 3_600);
    const busy = holds.flatMap(({ decision_id }) => [
      run({ cost_usd: '0.2', decision_id }),
      run({ cost_usd: '0.01', customer_id: 'somebody', workflow: 'x' }),
      call('POST', `/v1/runs/${old.id}/adjustments`, { amount_usd: '-0.01', reason: 'r' }),
    ]);
    const seen = await Promise.all(Array.from({ length: 8 }, () => reconcile()));
    await Promise.all(busy);
    for (const { balanced, drift_usd } of [...seen, await reconcile()]) {
      expect({ balanced, drift_usd }).toEqual({ balanced: true, drift_usd: '0' });
    }
  });

  test('when a limit has ended, and its counter is no longer in use', async () => {
    await call('PUT', ours('/spend-cap'), { cap_usd: '10' });
    await run({ cost_usd: '0.5' });
    await world.request('DELETE', ours('/spend-cap'), { key: org.ownerKey });
    await run({ cost_usd: '0.5' });
    const { balanced, counters } = await reconcile();
    expect(balanced).toBe(true);
    expect(counters.every((row: { settled_by_entries: unknown }) => row.settled_by_entries === null)).toBe(
      true,
    );
  });
});

describe('a ledger that was tampered with', () => {
  beforeEach(async () => {
    await call('PUT', ours('/spend-cap'), { cap_usd: '10' });
    await call('POST', ours('/credit-packs'), { customer_id: 'c', amount_usd: '5' });
    await run({ cost_usd: '1', customer_id: 'c', input_tokens: 10 });
    await run({ cost_usd: '2' });
    await ask({ estimated_cost_usd: '0.5' });
    expect(await reconcile()).toMatchObject({ balanced: true, drift_usd: '0' });
  });

  const tamper = (table: string, change: string) =>
    world.db.query(`UPDATE ${table} SET ${change} WHERE org_id = $1`, [org.id]);

  test.each([
    ['a run', 'runs', 'cost_nanos = cost_nanos + 1', '0.000000002'],
    ['a correction of a run', 'runs', 'adjusted_nanos = 1', '0.000000002'],
    ['what credits did not cover', 'runs', 'uncovered_nanos = 5', '0.00000001'],
    // A changed bucket differs from the entries, from the days and from the totals.
    ['usage', 'usage_rollups', 'usd_nanos = usd_nanos - 3', '0.000000018'],
    ['usage of everything', 'usage_totals', 'usd_nanos = usd_nanos - 3', '0.000000003'],
    ['usage by day', 'usage_days', 'usd_nanos = usd_nanos - 3', '0.000000006'],
    ['whose usage a day was', 'usage_days', `digest = digest || '!'`, '6'],
    ['a tally', 'limit_tallies', 'settled = settled + 7', '0.000000007'],
    // The changed entries differ from two runs, from two usage rows and from the cap's counter.
    ['the entries', 'ledger_entries', 'usd_nanos = usd_nanos + 1', '0.000000006'],
    ['the kinds of the entries', 'ledger_entries', `parts = 'i1,3;o1,-3;'`, '0.000000012'],
    // A changed bucket differs from the entries, from the days and from the totals.
    ['the kinds of usage', 'usage_rollups', `parts = 'u:page,0,4;'`, '0.000000024'],
    ['the kinds of a day', 'usage_days', `parts = 'u:page,0,-4;'`, '0.000000008'],
    ['the kinds of everything', 'usage_totals', `parts = 'u:page,0,4;'`, '0.000000004'],
  ])('%s', async (_, table, change, drift) => {
    await tamper(table, change);
    expect(await reconcile()).toMatchObject({ balanced: false, drift_usd: drift });
  });

  test('opposite differences on two days do not cancel out', async () => {
    world.clock.advanceSeconds(86_400);
    await run({ cost_usd: '1' });
    await world.db.query(
      `UPDATE runs SET cost_nanos = cost_nanos + CASE WHEN charged_at >= $2 THEN 2 ELSE -1 END WHERE org_id = $1`,
      [org.id, new Date(world.clock.now().getTime() - 3_600_000)],
    );
    const { drift_usd, totals } = await reconcile();
    expect(totals.cost_usd.runs).toBe(totals.cost_usd.entries);
    expect(drift_usd).toBe('0.000000004');
  });

  test('differences in tokens and runs are no drift in dollars, but not balanced either', async () => {
    await tamper('usage_rollups', 'input_tokens = input_tokens + 1');
    expect(await reconcile()).toMatchObject({ balanced: false, drift_usd: '0' });
    await tamper('usage_rollups', 'input_tokens = input_tokens - 1, requests = requests + 1');
    expect(await reconcile()).toMatchObject({ balanced: false, drift_usd: '0' });
    await tamper('usage_rollups', 'requests = requests - 1');
    expect(await reconcile()).toMatchObject({ balanced: true });
    for (const table of ['usage_days', 'usage_totals']) {
      await tamper(table, 'output_tokens = output_tokens + 1');
      expect(await reconcile()).toMatchObject({ balanced: false, drift_usd: '0' });
      await tamper(table, 'output_tokens = output_tokens - 1');
    }
  });

  test.runIf(engine === 'postgres')('a counter, in its settled and its held amount', async () => {
    await tamper('counters', 'settled = settled + 4, held = held - 1');
    const { drift_usd, counters } = await reconcile();
    // The sum over the counters of the cap and of the pack.
    expect(drift_usd).toBe('0.00000001');
    expect(counters).toMatchObject([{ drift: '0.000000005' }, { drift: '0.000000005' }]);
    expect(counters.find(({ kind }: { kind: string }) => kind === 'spend_cap')).toMatchObject({
      settled: '3.000000004',
      settled_by_entries: '3',
      held: '0.499999999',
      held_by_holds: '0.5',
    });
  });
});

test('a ledger is balanced if the sum of a month does not fit into 64 bits, and the limits of the month are used up', async () => {
  const createBudget = (name: string) =>
    call('POST', ours('/budgets'), { name, scope_kind: 'org', period: 'month', limit_usd: '1000' });
  const budgets = [await createBudget('with a counter')];
  await run({ cost_usd: '1' });
  const now = world.clock.now();
  for (const day of [1, 2]) {
    const started_at = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), day)).toISOString();
    const runs = [{ model: 'm', cost_usd: '8999999999', started_at }];
    await call('POST', '/v1/runs/bulk?enforcement=record', { runs });
  }
  budgets.push(await createBudget('without a counter'));
  for (const [path, field] of [
    ['/v1/runs', 'cost_usd'],
    ['/v1/edge/decision', 'estimated_cost_usd'],
  ] as const) {
    const body = { model: 'm', [field]: '1' };
    const { status, json } = await world.request('POST', path, { key: org.ownerKey, body });
    expect([status, json.error?.code]).toEqual([402, 'budget_exceeded']);
  }
  for (const { id } of budgets) {
    expect(await call('GET', ours(`/limits/${id}`))).toMatchObject({ standing: { settled: '17999999999' } });
  }
  expect(await reconcile()).toMatchObject({
    balanced: true,
    drift_usd: '0',
    totals: { cost_usd: { entries: '17999999999', runs: '17999999999', usage: '17999999999' } },
  });
});
