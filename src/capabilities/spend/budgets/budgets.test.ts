import { beforeAll, describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import {
  badAmounts,
  chargeOf,
  errorSummary,
  expectRecordedLife,
  invalid,
  limitsVersion,
  liveLimits,
  sender,
} from '../../../../test/support/limits.ts';

const world = useWorld();
const org = useOrg(world);

const send = sender(
  () => world,
  () => `/v1/orgs/${org.id}/budgets`,
  () => org.ownerKey,
);
const minimal = { name: 'All', scope_kind: 'org', period: 'month', limit_usd: '100' };

describe('creating', () => {
  test('applies defaults to fields that are left out', async () => {
    const { status, json } = await send('POST', '', minimal);
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.stringMatching(/^bud_/),
      name: 'All',
      scope_kind: 'org',
      scope_id: null,
      period: 'month',
      limit_usd: '100',
      enforcement: 'block',
      alert_thresholds: [50, 80, 100],
      timezone: null,
      owner: null,
      created_at: world.clock.now().toISOString(),
      updated_at: world.clock.now().toISOString(),
    });
    expect((await send('GET', `/${json.id}`)).json).toEqual(json);
  });

  test('writes the limit that the ledger reads, and increments the version of the limits', async () => {
    const own = await world.createOrg();
    const before = await limitsVersion(world, own.id);
    const { json } = await world.request('POST', `/v1/orgs/${own.id}/budgets`, {
      key: own.ownerKey,
      body: {
        ...minimal,
        scope_kind: 'workflow',
        scope_id: 'triage',
        limit_usd: '0.000000001',
        enforcement: 'alert',
        alert_thresholds: [1000, 1],
        timezone: 'Europe/Berlin',
      },
    });
    expect(json).toMatchObject({ scope_kind: 'workflow', scope_id: 'triage', limit_usd: '0.000000001' });
    expect(await liveLimits(world, own.id)).toEqual([
      {
        id: json.id,
        kind: 'budget',
        unit: 'usd',
        match: { workflow: 'triage' },
        period: 'month',
        window_seconds: null,
        timezone: 'Europe/Berlin',
        capacity: 1n,
        burst: null,
        enforcement: 'alert',
        alert_thresholds: [1000, 1],
        expires_at: null,
      },
    ]);
    expect(await limitsVersion(world, own.id)).toBe(before + 1n);
  });

  test.each(['0', '8999999999.999999999'])('accepts the amount %s', async (limit_usd) => {
    const { status, json } = await send('POST', '', { ...minimal, limit_usd });
    expect([status, json.limit_usd]).toEqual([201, limit_usd]);
  });

  test.each(badAmounts)('rejects the amount %j', async (limit_usd, code) => {
    expect(errorSummary(await send('POST', '', { ...minimal, limit_usd }))).toEqual(
      invalid(`limit_usd ${code}`),
    );
  });

  test.each<[string, object, string]>([
    ['a budget of the org with an id', { scope_id: 'a' }, 'scope_id invalid_value'],
    ['a budget of a workflow without one', { scope_kind: 'workflow' }, 'scope_id required'],
    ['an empty id', { scope_kind: 'workflow', scope_id: '' }, 'scope_id empty'],
    ['an unknown scope kind', { scope_kind: 'customer', scope_id: 'a' }, 'scope_kind invalid_value'],
    ['a tag without a name', { scope_kind: 'tag:', scope_id: 'a' }, 'scope_kind invalid_value'],
    [
      'a tag with a long name',
      { scope_kind: `tag:${'n'.repeat(65)}`, scope_id: 'a' },
      'scope_kind invalid_value',
    ],
    ['a scope kind that is no text', { scope_kind: 5, scope_id: 'a' }, 'scope_kind invalid_type'],
    ['a tag without a value', { scope_kind: 'tag:env' }, 'scope_id required'],
    ['an unknown period', { period: 'hour' }, 'period invalid_value'],
    ['an unknown enforcement', { enforcement: 'warn' }, 'enforcement invalid_value'],
    ['a blank name', { name: ' ' }, 'name invalid_format'],
    ['an unknown time zone', { timezone: 'Mars/Olympus' }, 'timezone invalid_value'],
    ['a threshold of zero', { alert_thresholds: [0] }, 'alert_thresholds[0] out_of_range'],
    ['a threshold above 1000', { alert_thresholds: [50, 1001] }, 'alert_thresholds[1] out_of_range'],
    ['a threshold that is not an integer', { alert_thresholds: [0.5] }, 'alert_thresholds[0] invalid_type'],
    ['a threshold twice', { alert_thresholds: [50, 50] }, 'alert_thresholds invalid_value'],
    [
      'too many thresholds',
      { alert_thresholds: Array.from({ length: 21 }, (_, i) => i + 1) },
      'alert_thresholds too_many',
    ],
    ['a blank owner', { owner: ' ' }, 'owner invalid_format'],
    ['a long owner', { owner: 'o'.repeat(201) }, 'owner out_of_range'],
    ['an unknown field', { colour: 'red' }, 'colour unknown_field'],
  ])('rejects %s', async (_, fields, fault) => {
    expect(errorSummary(await send('POST', '', { ...minimal, ...fields }))).toEqual(invalid(fault));
  });

  test('reports every missing field', async () => {
    expect(errorSummary(await send('POST', '', {}))).toEqual(
      invalid('name required', 'scope_kind required', 'period required', 'limit_usd required'),
    );
  });
});

describe('changing', () => {
  test('PATCH keeps fields that are left out, and null resets the time zone to that of the org', async () => {
    const { json: budget } = await send('POST', '', { ...minimal, timezone: 'Asia/Tokyo' });
    world.clock.advanceSeconds(60);
    const patch = {
      name: 'Renamed',
      period: 'quarter',
      limit_usd: '12.5',
      enforcement: 'alert',
      alert_thresholds: [],
      owner: '#ai-spend',
    };
    const { status, json } = await send('PATCH', `/${budget.id}`, patch);
    expect(status).toBe(200);
    expect(json).toEqual({ ...budget, ...patch, updated_at: world.clock.now().toISOString() });
    expect((await send('PATCH', `/${budget.id}`, { timezone: null })).json.timezone).toBeNull();
    expect((await send('GET', `/${budget.id}`)).json).toEqual({ ...json, timezone: null });
  });

  test('the scope cannot be changed', async () => {
    const { json: budget } = await send('POST', '', minimal);
    expect(errorSummary(await send('PATCH', `/${budget.id}`, { scope_kind: 'org', scope_id: 'a' }))).toEqual(
      invalid('scope_id unknown_field', 'scope_kind unknown_field'),
    );
  });

  test.each<[object, string]>([
    [{ limit_usd: '-1' }, 'limit_usd out_of_range'],
    [{ limit_usd: null }, 'limit_usd invalid_type'],
    [{ timezone: '+01:00' }, 'timezone invalid_value'],
    [{ period: null }, 'period invalid_type'],
  ])('refuses %j', async (patch, fault) => {
    const { json: budget } = await send('POST', '', minimal);
    expect(errorSummary(await send('PATCH', `/${budget.id}`, patch))).toEqual(invalid(fault));
  });

  test('concurrent changes are all applied', async () => {
    const { json: budget } = await send('POST', '', minimal);
    const patches = [{ name: 'New' }, { limit_usd: '7' }, { period: 'day' }, { timezone: 'Asia/Tokyo' }];
    await Promise.all(patches.map((patch) => send('PATCH', `/${budget.id}`, patch)));
    expect((await send('GET', `/${budget.id}`)).json).toMatchObject(Object.assign({}, ...patches));
  });
});

test('a deleted budget is not found, and its limit has ended', async () => {
  const own = await world.createOrg();
  const at = (method: string, path = '') =>
    world.request(method, `/v1/orgs/${own.id}/budgets${path}`, { key: own.ownerKey });
  const { json } = await world.request('POST', `/v1/orgs/${own.id}/budgets`, {
    key: own.ownerKey,
    body: minimal,
  });
  expect((await at('DELETE', `/${json.id}`)).status).toBe(204);
  for (const method of ['GET', 'DELETE']) {
    expect((await at(method, `/${json.id}`)).status).toBe(404);
  }
  expect((await at('GET')).json.data).toEqual([]);
  expect(await liveLimits(world, own.id)).toEqual([]);
});

test('every change creates an audit entry and an event', async () => {
  const own = await world.createOrg();
  const at = sender(
    () => world,
    () => `/v1/orgs/${own.id}/budgets`,
    () => own.ownerKey,
  );
  await expectRecordedLife(world, own, at, {
    body: minimal,
    patch: { limit_usd: '1' },
    targetKind: 'budget',
    actions: ['budgets.create', 'budgets.change', 'budgets.delete'],
    events: ['budget.created', 'budget.updated', 'budget.deleted'],
    ended: (now) => ({ deleted_at: now }),
  });
});

test('a budget of another org, or another kind of limit, is not found', async () => {
  const other = await world.createOrg();
  const { json: theirs } = await world.request('POST', `/v1/orgs/${other.id}/budgets`, {
    key: other.ownerKey,
    body: minimal,
  });
  for (const method of ['GET', 'DELETE']) {
    expect(errorSummary(await send(method, `/${theirs.id}`))).toEqual([404, 'not_found']);
  }
  expect(errorSummary(await send('PATCH', `/${theirs.id}`, { name: 'Mine' }))).toEqual([404, 'not_found']);
});

test('a viewer can read budgets but not change them', async () => {
  const { secret } = await world.mintKey(org, 'viewer', ['budgets:read', 'budgets:write']);
  const path = `/v1/orgs/${org.id}/budgets`;
  expect((await world.request('GET', path, { key: secret })).status).toBe(200);
  expect(errorSummary(await world.request('POST', path, { key: secret, body: minimal }))).toEqual([
    403,
    'forbidden',
  ]);
  const { secret: reader } = await world.mintKey(org, 'admin', ['budgets:read']);
  const denied = await world.request('POST', path, { key: reader, body: minimal });
  expect(denied.json.error).toMatchObject({ code: 'missing_scope', details: { required: 'budgets:write' } });
});

describe('listing', () => {
  const lister = useOrg(world);
  const list = async (query: string) => {
    const { json } = await world.request('GET', `/v1/orgs/${lister.id}/budgets${query}`, {
      key: lister.ownerKey,
    });
    return { names: json.data?.map(({ name }: { name: string }) => name), json };
  };
  beforeAll(async () => {
    const budgets = [
      { ...minimal, name: 'd' },
      { ...minimal, name: 'c', scope_kind: 'workflow', scope_id: 'x' },
      { ...minimal, name: 'b', scope_kind: 'deployment', scope_id: 'x', period: 'day' },
      { ...minimal, name: 'a', scope_kind: 'department', scope_id: 'y' },
    ];
    for (const body of budgets) {
      await world.request('POST', `/v1/orgs/${lister.id}/budgets`, { key: lister.ownerKey, body });
      world.clock.advanceSeconds(1);
    }
  });

  test.each<[string, string[]]>([
    ['', ['a', 'b', 'c', 'd']],
    ['?sort=created_at', ['d', 'c', 'b', 'a']],
    ['?sort=-name', ['d', 'c', 'b', 'a']],
    ['?scope_kind=org', ['d']],
    ['?scope_kind=workflow', ['c']],
    ['?scope_id=x', ['b', 'c']],
    ['?scope_kind=deployment&scope_id=x', ['b']],
    ['?scope_kind=org&scope_id=x', []],
    ['?period=day', ['b']],
  ])('%s', async (query, names) => {
    expect((await list(query)).names).toEqual(names);
  });

  test('pages contain every budget once', async () => {
    const first = await list('?limit=3&sort=name');
    const second = await list(`?limit=3&sort=name&cursor=${first.json.next_cursor}`);
    expect([first.names, second.names, second.json.next_cursor]).toEqual([['a', 'b', 'c'], ['d'], null]);
  });

  test.each([
    ['?sort=limit_usd', 'sort invalid_value'],
    ['?scope_kind=customer', 'scope_kind invalid_value'],
    ['?period=hour', 'period invalid_value'],
    ['?colour=red', 'colour unknown_field'],
  ])('rejects %s', async (query, fault) => {
    const { json } = await list(query);
    expect(
      json.error.details.fields.map((f: { field: string; code: string }) => `${f.field} ${f.code}`),
    ).toEqual([fault]);
  });
});

test('a new budget applies at once and counts earlier spend of its window', async () => {
  const own = await world.createOrg();
  const budget = { ...minimal, scope_kind: 'workflow', scope_id: 'w', limit_usd: '2' };
  const run = (cost: string, workflow: string) => chargeOf(world, own, cost, { workflow });
  expect(await run('1.5', 'w')).toBe(201);
  const { json } = await world.request('POST', `/v1/orgs/${own.id}/budgets`, {
    key: own.ownerKey,
    body: budget,
  });
  expect([await run('0.6', 'w'), await run('9', 'other'), await run('0.5', 'w')]).toEqual([
    'budget_exceeded',
    201,
    201,
  ]);
  await world.request('PATCH', `/v1/orgs/${own.id}/budgets/${json.id}`, {
    key: own.ownerKey,
    body: { enforcement: 'alert' },
  });
  expect(await run('5', 'w')).toBe(201);
});

test('a longer period counts all spend of the new window', async () => {
  const own = await world.createOrg();
  const at = sender(
    () => world,
    () => `/v1/orgs/${own.id}/budgets`,
    () => own.ownerKey,
  );
  const sinceMonday = (world.clock.now().getTime() / 86_400_000 + 3) % 7;
  world.clock.advanceSeconds((7 - sinceMonday) * 86_400 + 3_600);
  const { json: budget } = await at('POST', '', { ...minimal, period: 'day', limit_usd: '6' });
  expect(await chargeOf(world, own, '0.9')).toBe(201);
  world.clock.advanceSeconds(86_400);
  expect(await chargeOf(world, own, '5')).toBe(201);
  await at('PATCH', `/${budget.id}`, { period: 'week' });
  expect(await chargeOf(world, own, '0.2')).toBe('budget_exceeded');
  expect(await chargeOf(world, own, '0.1')).toBe(201);
});
