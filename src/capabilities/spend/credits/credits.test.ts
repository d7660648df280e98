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
  () => `/v1/orgs/${org.id}/credit-packs`,
  () => org.ownerKey,
);
const minimal = { customer_id: 'acme', amount_usd: '10' };
const inSeconds = (seconds: number) => new Date(world.clock.now().getTime() + seconds * 1_000).toISOString();

describe('creating', () => {
  test('applies defaults to fields that are left out, and writes the limit that the ledger reads', async () => {
    const version = await limitsVersion(world, org.id);
    const { status, json } = await send('POST', '', minimal);
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.stringMatching(/^crp_/),
      customer_id: 'acme',
      name: null,
      amount_usd: '10',
      expires_at: null,
      status: 'live',
      created_at: world.clock.now().toISOString(),
      updated_at: world.clock.now().toISOString(),
    });
    expect((await send('GET', `/${json.id}`)).json).toEqual(json);
    expect(await liveLimits(world, org.id)).toEqual([
      {
        id: json.id,
        kind: 'credits',
        unit: 'usd',
        match: { customer_id: 'acme' },
        period: null,
        window_seconds: null,
        timezone: null,
        capacity: 10_000_000_000n,
        burst: null,
        enforcement: 'block',
        alert_thresholds: [50, 80, 100],
        expires_at: null,
      },
    ]);
    expect(await limitsVersion(world, org.id)).toBe(version + 1n);
  });

  test('a customer can have several packs, with a name and an expiry', async () => {
    const body = { ...minimal, name: 'Welcome', expires_at: inSeconds(60) };
    expect((await send('POST', '', body)).json).toMatchObject({ ...body, status: 'live' });
    expect((await send('POST', '', body)).status).toBe(201);
  });

  test.each(badAmounts)('rejects the amount %j', async (amount_usd, code) => {
    expect(errorSummary(await send('POST', '', { ...minimal, amount_usd }))).toEqual(
      invalid(`amount_usd ${code}`),
    );
  });

  test.each<[object, string[]]>([
    [{}, ['amount_usd required', 'customer_id required']],
    [{ ...minimal, amount_usd: '0' }, ['amount_usd out_of_range']],
    [{ ...minimal, amount_usd: '0.000000000' }, ['amount_usd out_of_range']],
    [{ ...minimal, customer_id: '*' }, ['customer_id invalid_value']],
    [{ ...minimal, customer_id: '' }, ['customer_id empty']],
    [{ ...minimal, name: ' ' }, ['name invalid_format']],
    [{ ...minimal, expires_at: 'tomorrow' }, ['expires_at invalid_format']],
    [{ ...minimal, expires_at: '2026-11-15T11:59:59Z' }, ['expires_at out_of_range']],
    [{ ...minimal, period: 'day' }, ['period unknown_field']],
  ])('rejects %j', async (body, faults) => {
    expect(errorSummary(await send('POST', '', body))).toEqual(invalid(...faults));
  });

  test('rejects an expiry that is not in the future', async () => {
    expect(errorSummary(await send('POST', '', { ...minimal, expires_at: inSeconds(0) }))).toEqual(
      invalid('expires_at out_of_range'),
    );
  });
});

test('a pack expires at its instant, and is shown as expired from then on', async () => {
  const { json: pack } = await send('POST', '', { ...minimal, expires_at: inSeconds(10) });
  const status = async () => (await send('GET', `/${pack.id}`)).json.status;
  world.clock.advanceSeconds(9);
  expect(await status()).toBe('live');
  world.clock.advanceSeconds(1);
  expect(await status()).toBe('expired');
});

describe('changing', () => {
  test('sets name and expiry; null removes them', async () => {
    const { json: pack } = await send('POST', '', minimal);
    world.clock.advanceSeconds(60);
    const patch = { name: 'Renamed', expires_at: inSeconds(60) };
    const { status, json } = await send('PATCH', `/${pack.id}`, patch);
    expect([status, json]).toEqual([200, { ...pack, ...patch, updated_at: world.clock.now().toISOString() }]);
    const cleared = await send('PATCH', `/${pack.id}`, { name: null, expires_at: null });
    expect(cleared.json).toMatchObject({ name: null, expires_at: null, status: 'live' });
  });

  test('an expired pack keeps its expiry; its name can still be changed', async () => {
    const { json: pack } = await send('POST', '', { ...minimal, expires_at: inSeconds(10) });
    world.clock.advanceSeconds(10);
    for (const expires_at of [inSeconds(60), null]) {
      expect(errorSummary(await send('PATCH', `/${pack.id}`, { expires_at }))).toEqual([409, 'conflict']);
    }
    expect((await send('PATCH', `/${pack.id}`, { name: 'Late' })).json).toMatchObject({
      name: 'Late',
      status: 'expired',
    });
  });

  test.each<[object, string]>([
    [{ expires_at: '2026-11-15T12:00:00Z' }, 'expires_at out_of_range'],
    [{ amount_usd: '11' }, 'amount_usd unknown_field'],
    [{ customer_id: 'b' }, 'customer_id unknown_field'],
    [{ name: 5 }, 'name invalid_type'],
  ])('rejects %j', async (patch, fault) => {
    const { json: pack } = await send('POST', '', minimal);
    expect(errorSummary(await send('PATCH', `/${pack.id}`, patch))).toEqual(invalid(fault));
  });
});

test('a voided pack is not found', async () => {
  const { json: pack } = await send('POST', '', minimal);
  expect((await send('DELETE', `/${pack.id}`)).status).toBe(204);
  for (const method of ['GET', 'DELETE']) {
    expect(errorSummary(await send(method, `/${pack.id}`))).toEqual([404, 'not_found']);
  }
  expect((await send('GET', '')).json.data).toEqual([]);
  expect(await liveLimits(world, org.id)).toEqual([]);
});

test('every change creates an audit entry and an event', async () => {
  await expectRecordedLife(world, org, send, {
    body: minimal,
    patch: { name: 'New' },
    targetKind: 'credit_pack',
    actions: ['credit_packs.create', 'credit_packs.change', 'credit_packs.void'],
    events: ['credit_pack.created', 'credit_pack.updated', 'credit_pack.voided'],
    ended: (now) => ({ status: 'voided', updated_at: now }),
  });
});

test('the list has pages, includes expired packs, and filters by customer and status', async () => {
  for (const [name, customer_id, expires_at] of [
    ['1', 'a', inSeconds(2)],
    ['2', 'a', null],
    ['3', 'b', inSeconds(600)],
  ]) {
    await send('POST', '', { ...minimal, name, customer_id, expires_at });
    world.clock.advanceSeconds(1);
  }
  const list = async (query: string) => {
    const { json } = await send('GET', query);
    return { shown: json.data.map(({ name }: { name: string }) => name).join(), cursor: json.next_cursor };
  };
  expect((await list('')).shown).toBe('3,2,1');
  expect((await list('?customer_id=a&sort=created_at')).shown).toBe('1,2');
  expect((await list('?status=live')).shown).toBe('3,2');
  expect((await list('?status=expired')).shown).toBe('1');
  const first = await list('?limit=2');
  expect(await list(`?limit=2&cursor=${first.cursor}`)).toEqual({ shown: '1', cursor: null });
  expect(errorSummary(await send('GET', '?status=voided'))).toEqual(invalid('status invalid_value'));
  expect(errorSummary(await send('GET', '?sort=expires_at'))).toEqual(invalid('sort invalid_value'));
});

test('a customer with a pack is listed among the customers', async () => {
  await send('POST', '', minimal);
  const { json } = await world.request('GET', `/v1/orgs/${org.id}/customers`, { key: org.ownerKey });
  expect(json.data).toEqual([{ customer_id: 'acme', cost_usd: '0', runs: 0, limits: [], credits_usd: '10' }]);
});

test('requires the scope and the role', async () => {
  const { json: pack } = await send('POST', '', minimal);
  const path = `/v1/orgs/${org.id}/credit-packs`;
  const { secret } = await world.mintKey(org, 'viewer', ['credits:read', 'credits:write']);
  expect((await world.request('GET', path, { key: secret })).status).toBe(200);
  expect(errorSummary(await world.request('POST', path, { key: secret, body: minimal }))).toEqual([
    403,
    'forbidden',
  ]);
  const { secret: unscoped } = await world.mintKey(org, 'admin', ['credits:read']);
  const denied = await world.request('DELETE', `${path}/${pack.id}`, { key: unscoped });
  expect(denied.json.error.details).toEqual({ required: 'credits:write' });
  const other = await world.createOrg();
  const theirs = `/v1/orgs/${other.id}/credit-packs/${pack.id}`;
  expect(errorSummary(await world.request('GET', theirs, { key: other.ownerKey }))).toEqual([
    404,
    'not_found',
  ]);
  const patched = await world.request('PATCH', theirs, { key: other.ownerKey, body: { name: 'Mine' } });
  expect(errorSummary(patched)).toEqual([404, 'not_found']);
  expect(errorSummary(await world.request('DELETE', theirs, { key: other.ownerKey }))).toEqual([
    404,
    'not_found',
  ]);
});

test('a live pack pays for runs, an empty pack denies them, a voided pack does neither', async () => {
  const { json: pack } = await send('POST', '', { ...minimal, amount_usd: '1' });
  const run = (cost: string, customer_id = 'acme') => chargeOf(world, org, cost, { customer_id });
  expect([await run('1'), await run('0.000000001')]).toEqual([201, 'credits_exhausted']);
  expect(await run('5', 'someone else')).toBe(201);
  await send('DELETE', `/${pack.id}`);
  expect(await run('1')).toBe(201);
});
