import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createWorld, type TestOrg, type World } from '../../../test/harness.ts';
import {
  badAmounts,
  invalid,
  limitsVersion,
  liveLimits,
  recordedOf,
  refusalOf,
  sender,
} from '../../../test/support/limits.ts';

let world: World;
let org: TestOrg;
beforeAll(async () => {
  world = await createWorld();
});
beforeEach(async () => {
  org = await world.createOrg();
});
afterAll(() => world.close());

const send = sender(
  () => world,
  () => `/v1/orgs/${org.id}/customer-limits`,
  () => org.ownerKey,
);
const minimal = { customer_id: 'acme', period: 'month', limit_usd: '10' };

describe('creating', () => {
  test('fills in what was left out, and writes the row that the ledger reads', async () => {
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

  test('takes the wildcard, and every field', async () => {
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

  test('a second limit for the same customer and period is a conflict, whoever asks first', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => send('POST', '', minimal)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
    expect(refusalOf(await send('POST', '', minimal))).toEqual([409, 'conflict']);
    expect((await send('POST', '', { ...minimal, period: 'day' })).status).toBe(201);
    expect((await send('POST', '', { ...minimal, customer_id: '*' })).status).toBe(201);
    expect((await send('POST', '', { ...minimal, customer_id: 'Acme' })).status).toBe(201);
  });

  test('the same customer of another org is another customer', async () => {
    await send('POST', '', minimal);
    const other = await world.createOrg();
    const path = `/v1/orgs/${other.id}/customer-limits`;
    expect((await world.request('POST', path, { key: other.ownerKey, body: minimal })).status).toBe(201);
  });

  test.each(badAmounts)('refuses the amount %j', async (limit_usd, code) => {
    expect(refusalOf(await send('POST', '', { ...minimal, limit_usd }))).toEqual(
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
  ])('refuses %j', async (body, faults) => {
    expect(refusalOf(await send('POST', '', body))).toEqual(invalid(...faults));
  });
});

describe('changing', () => {
  test('PATCH merges', async () => {
    const { json: limit } = await send('POST', '', minimal);
    world.clock.advanceSeconds(60);
    const patch = { limit_usd: '3', enforcement: 'alert', alert_thresholds: [1], timezone: 'Asia/Tokyo' };
    const { status, json } = await send('PATCH', `/${limit.id}`, patch);
    expect([status, json]).toEqual([
      200,
      { ...limit, ...patch, updated_at: world.clock.now().toISOString() },
    ]);
  });

  test('the period may change unless it is taken', async () => {
    const { json: monthly } = await send('POST', '', minimal);
    const { json: daily } = await send('POST', '', { ...minimal, period: 'day' });
    expect(refusalOf(await send('PATCH', `/${daily.id}`, { period: 'month' }))).toEqual([409, 'conflict']);
    expect((await send('GET', `/${daily.id}`)).json).toEqual(daily);
    expect((await send('PATCH', `/${monthly.id}`, { period: 'year' })).json.period).toBe('year');
    expect((await send('PATCH', `/${daily.id}`, { period: 'month' })).status).toBe(200);
  });

  test('whose limit it is stays', async () => {
    const { json: limit } = await send('POST', '', minimal);
    expect(refusalOf(await send('PATCH', `/${limit.id}`, { customer_id: 'b' }))).toEqual(
      invalid('customer_id unknown_field'),
    );
  });
});

test('a deleted limit is gone and leaves its period to another', async () => {
  const { json: limit } = await send('POST', '', minimal);
  expect((await send('DELETE', `/${limit.id}`)).status).toBe(204);
  for (const method of ['GET', 'DELETE']) {
    expect(refusalOf(await send(method, `/${limit.id}`))).toEqual([404, 'not_found']);
  }
  expect((await send('POST', '', minimal)).status).toBe(201);
});

test('every change leaves an audit entry and an event', async () => {
  const created = (await send('POST', '', minimal)).json;
  world.clock.advanceSeconds(1);
  const changed = (await send('PATCH', `/${created.id}`, { limit_usd: '1' })).json;
  world.clock.advanceSeconds(1);
  await send('DELETE', `/${created.id}`);
  const deleted = { ...changed, deleted_at: world.clock.now().toISOString() };

  const { entries, events } = await recordedOf(world, org.id);
  const target = { target_kind: 'customer_limit', target_id: created.id };
  expect(entries).toEqual([
    { action: 'customer_limits.create', ...target, before: null, after: created },
    { action: 'customer_limits.change', ...target, before: created, after: changed },
    { action: 'customer_limits.delete', ...target, before: changed, after: deleted },
  ]);
  expect(events).toEqual([
    { type: 'customer_limit.created', data: created },
    { type: 'customer_limit.updated', data: changed },
    { type: 'customer_limit.deleted', data: deleted },
  ]);
});

test('the list pages, and filters by customer and period', async () => {
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
  expect(refusalOf(await send('GET', '?sort=name'))).toEqual(invalid('sort invalid_value'));
});

test('only those who may', async () => {
  const { json: limit } = await send('POST', '', minimal);
  const path = `/v1/orgs/${org.id}/customer-limits`;
  const { secret } = await world.mintKey(org, 'viewer', ['customers:read', 'customers:write']);
  expect((await world.request('GET', path, { key: secret })).status).toBe(200);
  expect(refusalOf(await world.request('POST', path, { key: secret, body: minimal }))).toEqual([
    403,
    'forbidden',
  ]);
  const { secret: unscoped } = await world.mintKey(org, 'admin', ['budgets:write', 'budgets:read']);
  const refused = await world.request('DELETE', `${path}/${limit.id}`, { key: unscoped });
  expect(refused.json.error.details).toEqual({ required: 'customers:write' });
  const other = await world.createOrg();
  const theirs = `/v1/orgs/${other.id}/customer-limits/${limit.id}`;
  for (const method of ['GET', 'DELETE']) {
    expect(refusalOf(await world.request(method, theirs, { key: other.ownerKey }))).toEqual([
      404,
      'not_found',
    ]);
  }
});
