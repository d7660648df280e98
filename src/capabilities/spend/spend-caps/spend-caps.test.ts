import { expect, test } from 'vitest';
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
  () => `/v1/orgs/${org.id}/spend-cap`,
  () => org.ownerKey,
);

test('returns 404 until a cap is set', async () => {
  for (const method of ['GET', 'DELETE']) {
    expect(errorSummary(await send(method, ''))).toEqual([404, 'not_found']);
  }
});

test('PUT sets the cap, with defaults for fields that are left out', async () => {
  const { status, json } = await send('PUT', '', { cap_usd: '25.5' });
  expect(status).toBe(200);
  expect(json).toEqual({
    id: expect.stringMatching(/^cap_/),
    cap_usd: '25.5',
    timezone: null,
    alert_thresholds: [50, 80, 100],
    owner: null,
    created_at: world.clock.now().toISOString(),
    updated_at: world.clock.now().toISOString(),
  });
  expect((await send('GET', '')).json).toEqual(json);
  expect(await liveLimits(world, org.id)).toEqual([
    {
      id: json.id,
      kind: 'spend_cap',
      unit: 'usd',
      match: {},
      period: 'day',
      window_seconds: null,
      timezone: null,
      capacity: 25_500_000_000n,
      burst: null,
      enforcement: 'block',
      alert_thresholds: [50, 80, 100],
      expires_at: null,
    },
  ]);
});

test('PUT replaces the cap and keeps the id', async () => {
  const first = await send('PUT', '', {
    cap_usd: '1',
    timezone: 'Asia/Tokyo',
    alert_thresholds: [90],
    owner: '#ops',
  });
  expect(first.json).toMatchObject({ timezone: 'Asia/Tokyo', alert_thresholds: [90], owner: '#ops' });
  const version = await limitsVersion(world, org.id);
  world.clock.advanceSeconds(60);
  const second = await send('PUT', '', { cap_usd: '0' });
  expect(second.json).toEqual({
    ...first.json,
    cap_usd: '0',
    timezone: null,
    alert_thresholds: [50, 80, 100],
    owner: null,
    updated_at: world.clock.now().toISOString(),
  });
  expect(await limitsVersion(world, org.id)).toBe(version + 1n);
});

test('concurrent PUTs result in one cap', async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => send('PUT', '', { cap_usd: String(i) })),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
  expect(await liveLimits(world, org.id)).toHaveLength(1);
});

test('DELETE removes the cap; a later one gets a new id', async () => {
  const { json: first } = await send('PUT', '', { cap_usd: '1' });
  expect((await send('DELETE', '')).status).toBe(204);
  expect((await send('GET', '')).status).toBe(404);
  expect(await liveLimits(world, org.id)).toEqual([]);
  const { json: second } = await send('PUT', '', { cap_usd: '1' });
  expect(second.id).not.toBe(first.id);
});

test('every change creates an audit entry and an event', async () => {
  const first = (await send('PUT', '', { cap_usd: '1' })).json;
  world.clock.advanceSeconds(1);
  const second = (await send('PUT', '', { cap_usd: '2' })).json;
  world.clock.advanceSeconds(1);
  await send('DELETE', '');
  const deleted = { ...second, deleted_at: world.clock.now().toISOString() };

  const { entries, events } = await recordedOf(world, org.id);
  const target = { target_kind: 'spend_cap', target_id: first.id };
  expect(entries).toEqual([
    { action: 'spend_cap.put', ...target, before: null, after: first },
    { action: 'spend_cap.put', ...target, before: first, after: second },
    { action: 'spend_cap.delete', ...target, before: second, after: deleted },
  ]);
  expect(events).toEqual([
    { type: 'spend_cap.updated', data: first },
    { type: 'spend_cap.updated', data: second },
    { type: 'spend_cap.deleted', data: deleted },
  ]);
});

test.each(badAmounts)('rejects the amount %j', async (cap_usd, code) => {
  expect(errorSummary(await send('PUT', '', { cap_usd }))).toEqual(invalid(`cap_usd ${code}`));
});

test.each<[object, string]>([
  [{}, 'cap_usd required'],
  [{ cap_usd: '1', timezone: 'Nowhere' }, 'timezone invalid_value'],
  [{ cap_usd: '1', alert_thresholds: [0] }, 'alert_thresholds[0] out_of_range'],
  [{ cap_usd: '1', period: 'week' }, 'period unknown_field'],
])('rejects %j', async (body, fault) => {
  expect(errorSummary(await send('PUT', '', body))).toEqual(invalid(fault));
});

test('a viewer can read the cap but not change it; another org gets 404', async () => {
  await send('PUT', '', { cap_usd: '1' });
  const path = `/v1/orgs/${org.id}/spend-cap`;
  const { secret } = await world.mintKey(org, 'viewer', ['budgets:read', 'budgets:write']);
  expect((await world.request('GET', path, { key: secret })).status).toBe(200);
  const denied = await world.request('PUT', path, { key: secret, body: { cap_usd: '1' } });
  expect(errorSummary(denied)).toEqual([403, 'forbidden']);
  const { secret: unscoped } = await world.mintKey(org, 'admin', ['budgets:read']);
  expect((await world.request('DELETE', path, { key: unscoped })).json.error.code).toBe('missing_scope');
  const other = await world.createOrg();
  expect(errorSummary(await world.request('GET', path, { key: other.ownerKey }))).toEqual([404, 'not_found']);
});

test('a new cap applies at once and counts earlier spend of the day', async () => {
  expect(await chargeOf(world, org, '1')).toBe(201);
  await send('PUT', '', { cap_usd: '1.5' });
  expect(await chargeOf(world, org, '0.500000001')).toBe('spend_cap_exceeded');
  expect(await chargeOf(world, org, '0.5')).toBe(201);
  await send('PUT', '', { cap_usd: '0' });
  expect(await chargeOf(world, org, '0.000000001')).toBe('spend_cap_exceeded');
  await send('DELETE', '');
  expect(await chargeOf(world, org, '1')).toBe(201);
});
