import { describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
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
const org = useOrgPerTest(world);

const send = sender(
  () => world,
  () => `/v1/orgs/${org.id}/customer-limits`,
  () => org.ownerKey,
);
const minimal = { customer_id: 'acme', period: 'month', limit_usd: '10' };

describe('creating', () => {
  test('applies defaults to fields that are left out, and writes the limit that the ledger reads', async () => {
    const version = await limitsVersion(world, org.id);
    const { status, json } = await send('POST', '', minimal);
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.stringMatching(/^clm_/),
      customer_id: 'acme',
      period: 'month',
      limit_usd: '10',
      enforcement: 'block',
      alert_thresholds: [50, 80, 100],
      timezone: null,
      owner: null,
      created_at: world.clock.now().toISOString(),
      updated_at: world.clock.now().toISOString(),
    });
    expect((await send('GET', `/${json.id}`)).json).toEqual(json);
    expect(await liveLimits(world, org.id)).toMatchObject([
      {
        id: json.id,
        kind: 'customer',
        unit: 'usd',
        match: { customer_id: 'acme' },
        capacity: 10_000_000_000n,
      },
    ]);
    expect(await limitsVersion(world, org.id)).toBe(version + 1n);
  });

  test('accepts the wildcard and every field', async () => {
    const body = {
      customer_id: '*',
      period: 'day',
      limit_usd: '0',
      enforcement: 'alert',
      alert_thresholds: [90],
      timezone: 'Europe/Berlin',
    };
    expect((await send('POST', '', body)).json).toMatchObject(body);
  });

  test('a second limit for the same customer and period is a conflict, also for concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => send('POST', '', minimal)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
    expect(errorSummary(await send('POST', '', minimal))).toEqual([409, 'conflict']);
    expect((await send('POST', '', { ...minimal, period: 'day' })).status).toBe(201);
    expect((await send('POST', '', { ...minimal, customer_id: '*' })).status).toBe(201);
    expect((await send('POST', '', { ...minimal, customer_id: 'Acme' })).status).toBe(201);
  });

  test('the same customer id in another org is a different customer', async () => {
    await send('POST', '', minimal);
    const other = await world.createOrg();
    const path = `/v1/orgs/${other.id}/customer-limits`;
    expect((await world.request('POST', path, { key: other.ownerKey, body: minimal })).status).toBe(201);
  });

  test.each(badAmounts)('rejects the amount %j', async (limit_usd, code) => {
    expect(errorSummary(await send('POST', '', { ...minimal, limit_usd }))).toEqual(
      invalid(`limit_usd ${code}`),
    );
  });

  test.each<[object, string[]]>([
    [{}, ['customer_id required', 'limit_usd required', 'period required']],
    [{ ...minimal, customer_id: '' }, ['customer_id empty']],
    [{ ...minimal, customer_id: 7 }, ['customer_id invalid_type']],
    [{ ...minimal, customer_id: 'x'.repeat(201) }, ['customer_id out_of_range']],
    [{ ...minimal, period: 'hour' }, ['period invalid_value']],
    [{ ...minimal, timezone: 'Nowhere' }, ['timezone invalid_value']],
    [{ ...minimal, alert_thresholds: [0] }, ['alert_thresholds[0] out_of_range']],
    [{ ...minimal, name: 'x' }, ['name unknown_field']],
  ])('rejects %j', async (body, faults) => {
    expect(errorSummary(await send('POST', '', body))).toEqual(invalid(...faults));
  });
});

describe('changing', () => {
  test('PATCH keeps fields that are left out', async () => {
    const { json: limit } = await send('POST', '', minimal);
    world.clock.advanceSeconds(60);
    const patch = { limit_usd: '3', enforcement: 'alert', alert_thresholds: [1], timezone: 'Asia/Tokyo' };
    const { status, json } = await send('PATCH', `/${limit.id}`, patch);
    expect([status, json]).toEqual([
      200,
      { ...limit, ...patch, updated_at: world.clock.now().toISOString() },
    ]);
  });

  test('the period can be changed unless another limit has it', async () => {
    const { json: monthly } = await send('POST', '', minimal);
    const { json: daily } = await send('POST', '', { ...minimal, period: 'day' });
    expect(errorSummary(await send('PATCH', `/${daily.id}`, { period: 'month' }))).toEqual([409, 'conflict']);
    expect((await send('GET', `/${daily.id}`)).json).toEqual(daily);
    expect((await send('PATCH', `/${monthly.id}`, { period: 'year' })).json.period).toBe('year');
    expect((await send('PATCH', `/${daily.id}`, { period: 'month' })).status).toBe(200);
  });

  test('the customer cannot be changed', async () => {
    const { json: limit } = await send('POST', '', minimal);
    expect(errorSummary(await send('PATCH', `/${limit.id}`, { customer_id: 'b' }))).toEqual(
      invalid('customer_id unknown_field'),
    );
  });
});

test('a deleted limit is not found, and its period can be used again', async () => {
  const { json: limit } = await send('POST', '', minimal);
  expect((await send('DELETE', `/${limit.id}`)).status).toBe(204);
  for (const method of ['GET', 'DELETE']) {
    expect(errorSummary(await send(method, `/${limit.id}`))).toEqual([404, 'not_found']);
  }
  expect((await send('POST', '', minimal)).status).toBe(201);
});

test('every change creates an audit entry and an event', async () => {
  await expectRecordedLife(world, org, send, {
    body: minimal,
    patch: { limit_usd: '1' },
    targetKind: 'customer_limit',
    actions: ['customer_limits.create', 'customer_limits.change', 'customer_limits.delete'],
    events: ['customer_limit.created', 'customer_limit.updated', 'customer_limit.deleted'],
    ended: (now) => ({ deleted_at: now }),
  });
});

test('the list has pages and filters by customer and period', async () => {
  for (const [customer_id, period] of [
    ['a', 'day'],
    ['a', 'month'],
    ['b', 'day'],
  ]) {
    await send('POST', '', { ...minimal, customer_id, period });
    world.clock.advanceSeconds(1);
  }
  const list = async (query: string) => {
    const { json } = await send('GET', query);
    const shown = json.data.map(
      (l: { customer_id: string; period: string }) => `${l.customer_id} ${l.period}`,
    );
    return { shown, cursor: json.next_cursor };
  };
  expect((await list('')).shown).toEqual(['b day', 'a month', 'a day']);
  expect((await list('?customer_id=a&sort=created_at')).shown).toEqual(['a day', 'a month']);
  expect((await list('?period=day')).shown).toEqual(['b day', 'a day']);
  const first = await list('?limit=2');
  expect(first.shown).toEqual(['b day', 'a month']);
  expect(await list(`?limit=2&cursor=${first.cursor}`)).toEqual({ shown: ['a day'], cursor: null });
  expect(errorSummary(await send('GET', '?sort=name'))).toEqual(invalid('sort invalid_value'));
});

test('requires the scope and the role', async () => {
  const { json: limit } = await send('POST', '', minimal);
  const path = `/v1/orgs/${org.id}/customer-limits`;
  const { secret } = await world.mintKey(org, 'viewer', ['customers:read', 'customers:write']);
  expect((await world.request('GET', path, { key: secret })).status).toBe(200);
  expect(errorSummary(await world.request('POST', path, { key: secret, body: minimal }))).toEqual([
    403,
    'forbidden',
  ]);
  const { secret: unscoped } = await world.mintKey(org, 'admin', ['budgets:write', 'budgets:read']);
  const denied = await world.request('DELETE', `${path}/${limit.id}`, { key: unscoped });
  expect(denied.json.error.details).toEqual({ required: 'customers:write' });
  const other = await world.createOrg();
  const theirs = `/v1/orgs/${other.id}/customer-limits/${limit.id}`;
  for (const method of ['GET', 'DELETE']) {
    expect(errorSummary(await world.request(method, theirs, { key: other.ownerKey }))).toEqual([
      404,
      'not_found',
    ]);
  }
});

test('the wildcard limits each customer separately, except customers with a limit of their own', async () => {
  const run = (cost: string, customer_id: string) => chargeOf(world, org, cost, { customer_id });
  await send('POST', '', { ...minimal, customer_id: '*', limit_usd: '1' });
  const { json: own } = await send('POST', '', { ...minimal, customer_id: 'acme', limit_usd: '2' });
  expect([await run('1', 'a'), await run('1', 'b'), await run('0.1', 'b')]).toEqual([
    201,
    201,
    'budget_exceeded',
  ]);
  expect([await run('2', 'acme'), await run('0.1', 'acme')]).toEqual([201, 'budget_exceeded']);
  await send('PATCH', `/${own.id}`, { limit_usd: '2.1' });
  expect(await run('0.1', 'acme')).toBe(201);
  await send('DELETE', `/${own.id}`);
  expect(await run('0.1', 'acme')).toBe('budget_exceeded');
});
