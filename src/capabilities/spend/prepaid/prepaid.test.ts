import { describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import {
  badAmounts,
  chargeOf,
  errorSummary,
  invalid,
  limitsVersion,
  liveLimits,
  recordedOf,
  sender,
} from '../../../../test/support/limits.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const send = sender(
  () => world,
  () => `/v1/admin/orgs/${org.id}/prepaid`,
  () => world.operatorKey,
);
const topUp = (amount_usd: string, more: object = {}) => send('POST', '/top-ups', { amount_usd, ...more });
const read = async () => (await send('GET', '')).json;

describe('the account', () => {
  test('the prepaid account is disabled and empty by default', async () => {
    const none = { id: null, enabled: false, topped_up_usd: '0' };
    expect(await read()).toEqual(none);
    expect((await send('PUT', '', { enabled: false })).json).toEqual(none);
    expect(await liveLimits(world, org.id)).toEqual([]);
  });

  test('denies every run if it is enabled without a balance', async () => {
    const version = await limitsVersion(world, org.id);
    const { status, json } = await send('PUT', '', { enabled: true });
    expect([status, json]).toEqual([
      200,
      { id: expect.stringMatching(/^ppd_/), enabled: true, topped_up_usd: '0' },
    ]);
    expect(await liveLimits(world, org.id)).toEqual([
      {
        id: json.id,
        kind: 'prepaid',
        unit: 'usd',
        match: {},
        period: null,
        window_seconds: null,
        timezone: null,
        capacity: 0n,
        burst: null,
        enforcement: 'block',
        alert_thresholds: [50, 80, 100],
        expires_at: null,
      },
    ]);
    expect(await limitsVersion(world, org.id)).toBeGreaterThan(version);
  });

  test('keeps its id and its balance while it is disabled', async () => {
    const { json: first } = await send('PUT', '', { enabled: true });
    await topUp('5');
    expect((await send('PUT', '', { enabled: false })).json).toEqual({
      id: first.id,
      enabled: false,
      topped_up_usd: '5',
    });
    expect(await liveLimits(world, org.id)).toEqual([]);
    expect((await send('PUT', '', { enabled: false })).status).toBe(200);
    const version = await limitsVersion(world, org.id);
    await topUp('0.5');
    await send('PUT', '', { enabled: true });
    await send('PUT', '', { enabled: true });
    expect(await read()).toEqual({ id: first.id, enabled: true, topped_up_usd: '5.5' });
    expect(await liveLimits(world, org.id)).toMatchObject([{ id: first.id, capacity: 5_500_000_000n }]);
    expect(await limitsVersion(world, org.id)).toBeGreaterThan(version);
  });

  test('gets back what a run paid, also while it is disabled', async () => {
    await send('PUT', '', { enabled: true });
    await topUp('10');
    const body = { model: 'm', status: 'succeeded', cost_usd: '10' };
    const { json: run } = await world.request('POST', '/v1/runs', { key: org.ownerKey, body });
    expect(await chargeOf(world, org, '1')).toBe('quota_exhausted');
    await send('PUT', '', { enabled: false });
    const adjusted = await world.request('POST', `/v1/runs/${run.id}/adjustments`, {
      key: org.ownerKey,
      body: { amount_usd: '-10', reason: 'Not delivered.' },
    });
    expect(adjusted.status).toBe(201);
    await send('PUT', '', { enabled: true });
    expect(await chargeOf(world, org, '10')).toBe(201);
    expect(await chargeOf(world, org, '1')).toBe('quota_exhausted');
    const path = `/v1/orgs/${org.id}/ledger/reconciliation`;
    expect((await world.request('GET', path, { key: org.ownerKey })).json).toMatchObject({ drift_usd: '0' });
  });

  test('concurrent requests to enable it create one account', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => send('PUT', '', { enabled: true })));
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
    expect(await liveLimits(world, org.id)).toHaveLength(1);
  });
});

describe('topping up', () => {
  test('adds to the balance, whether it is enabled or not', async () => {
    const { status, json } = await topUp('10', { reference: 'invoice 7' });
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.stringMatching(/^top_/),
      amount_usd: '10',
      reference: 'invoice 7',
      created_at: world.clock.now().toISOString(),
    });
    await send('PUT', '', { enabled: true });
    await topUp('0.000000001');
    expect((await read()).topped_up_usd).toBe('10.000000001');
    expect(await liveLimits(world, org.id)).toMatchObject([{ capacity: 10_000_000_001n }]);
  });

  test('concurrent top-ups are all counted', async () => {
    await send('PUT', '', { enabled: true });
    const answers = await Promise.all(Array.from({ length: 20 }, () => topUp('1.1')));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    expect((await read()).topped_up_usd).toBe('22');
    expect(await liveLimits(world, org.id)).toMatchObject([{ capacity: 22_000_000_000n }]);
  });

  test('rejects a top-up whose sum would reach nine billion', async () => {
    await topUp('8999999999');
    expect(errorSummary(await topUp('1'))).toEqual(invalid('amount_usd out_of_range'));
    expect((await topUp('0.999999999')).status).toBe(201);
    expect(errorSummary(await topUp('0.000000001'))).toEqual(invalid('amount_usd out_of_range'));
    expect((await read()).topped_up_usd).toBe('8999999999.999999999');
  });

  test.each([...badAmounts, ['0', 'out_of_range'] as const])(
    'rejects the amount %j',
    async (amount_usd, code) => {
      expect(errorSummary(await send('POST', '/top-ups', { amount_usd }))).toEqual(
        invalid(`amount_usd ${code}`),
      );
    },
  );

  test('the list has pages and filters by reference', async () => {
    for (const reference of ['a', 'b', 'c']) {
      await topUp('1', { reference });
      world.clock.advanceSeconds(1);
    }
    const list = async (query: string) => {
      const { json } = await send('GET', `/top-ups${query}`);
      const shown = json.data.map((row: { reference: string }) => row.reference).join();
      return { shown, cursor: json.next_cursor };
    };
    expect((await list('?sort=created_at')).shown).toBe('a,b,c');
    const first = await list('?limit=2');
    expect(first.shown).toBe('c,b');
    expect(await list(`?limit=2&cursor=${first.cursor}`)).toEqual({ shown: 'a', cursor: null });
    expect((await list('?reference=b')).shown).toBe('b');
    expect(errorSummary(await send('GET', '/top-ups?sort=amount_usd'))).toEqual(
      invalid('sort invalid_value'),
    );
  });
});

test.each<[string, string, object, string[]]>([
  ['PUT', '', {}, ['enabled required']],
  ['PUT', '', { enabled: 'yes' }, ['enabled invalid_type']],
  ['PUT', '', { enabled: true, amount_usd: '1' }, ['amount_usd unknown_field']],
  ['POST', '/top-ups', {}, ['amount_usd required']],
  ['POST', '/top-ups', { amount_usd: '1', reference: '' }, ['reference empty']],
  ['POST', '/top-ups', { amount_usd: '1', note: 'x' }, ['note unknown_field']],
])('%s %s rejects %j', async (method, path, body, faults) => {
  expect(errorSummary(await send(method, path, body))).toEqual(invalid(...faults));
});

test('every change creates an audit entry and an event of the org', async () => {
  const before = await read();
  const after = (await send('PUT', '', { enabled: true })).json;
  world.clock.advanceSeconds(1);
  const added = (await topUp('1')).json;
  const { entries, events } = await recordedOf(world, org.id);
  expect(entries).toEqual([
    { action: 'orgs.prepaid.put', target_kind: 'prepaid', target_id: org.id, before, after },
    {
      action: 'orgs.prepaid.top_up',
      target_kind: 'prepaid_top_up',
      target_id: added.id,
      before: null,
      after: added,
    },
  ]);
  expect(events).toEqual([
    { type: 'prepaid.updated', data: after },
    { type: 'prepaid.topped_up', data: added },
  ]);
});

test('an unknown org is not found', async () => {
  const at = (method: string, path: string, body?: object) =>
    world.request(method, `/v1/admin/orgs/org_none/prepaid${path}`, {
      key: world.operatorKey,
      ...(body && { body }),
    });
  const answers = [
    await at('GET', ''),
    await at('PUT', '', { enabled: true }),
    await at('GET', '/top-ups'),
    await at('POST', '/top-ups', { amount_usd: '1' }),
  ];
  expect(answers.map(errorSummary)).toEqual(Array(4).fill([404, 'not_found']));
});

test('the org can read its balance but not change it', async () => {
  await topUp('3');
  const path = `/v1/orgs/${org.id}/prepaid`;
  const { secret } = await world.mintKey(org, 'viewer', ['budgets:read']);
  expect((await world.request('GET', path, { key: secret })).json).toEqual(await read());
  const denied = await world.request('POST', `/v1/admin/orgs/${org.id}/prepaid/top-ups`, {
    key: org.ownerKey,
    body: { amount_usd: '1' },
  });
  expect(errorSummary(denied)).toEqual([403, 'forbidden']);
  const { secret: unscoped } = await world.mintKey(org, 'owner', ['org:read']);
  expect((await world.request('GET', path, { key: unscoped })).json.error.code).toBe('missing_scope');
  const other = await world.createOrg();
  expect(errorSummary(await world.request('GET', path, { key: other.ownerKey }))).toEqual([404, 'not_found']);
});

test('runs are paid from the balance, and the amount spent is kept while it is disabled', async () => {
  await send('PUT', '', { enabled: true });
  expect(await chargeOf(world, org, '1')).toBe('quota_exhausted');
  await topUp('5');
  expect(await chargeOf(world, org, '2')).toBe(201);
  await send('PUT', '', { enabled: false });
  expect(await chargeOf(world, org, '10')).toBe(201);
  await send('PUT', '', { enabled: true });
  expect(await chargeOf(world, org, '3')).toBe(201);
  expect(await chargeOf(world, org, '0.000000001')).toBe('quota_exhausted');
  await topUp('0.000000001');
  expect(await chargeOf(world, org, '0.000000001')).toBe(201);
});
