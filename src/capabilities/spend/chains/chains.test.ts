import { expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import {
  badAmounts,
  chargeOf,
  errorSummary,
  invalid,
  liveLimits,
  recordedOf,
  sender,
} from '../../../../test/support/limits.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const send = sender(
  () => world,
  () => `/v1/orgs/${org.id}/chain-budget`,
  () => org.ownerKey,
);
const none = { max_cost_usd: null, max_depth: null, max_tokens: null };
const idOf = async (kind: string) =>
  (await liveLimits(world, org.id)).find((limit) => limit.kind === kind)?.id;

test('chains are not limited until a budget is set', async () => {
  const { status, json } = await send('GET', '');
  expect([status, json]).toEqual([200, none]);
});

test('PUT writes a limit for each value', async () => {
  const body = { max_cost_usd: '2.5', max_depth: 4, max_tokens: 9_000_000_000_000_000 };
  const { status, json } = await send('PUT', '', body);
  expect([status, json]).toEqual([200, body]);
  expect((await send('GET', '')).json).toEqual(body);
  const common = {
    id: expect.stringMatching(/^chn_/),
    match: { chain_id: '*' },
    period: null,
    window_seconds: null,
    timezone: null,
    burst: null,
    enforcement: 'block',
    alert_thresholds: [],
    expires_at: null,
  };
  expect(await liveLimits(world, org.id)).toEqual([
    { ...common, kind: 'chain_cost', unit: 'usd', capacity: 2_500_000_000n },
    { ...common, kind: 'chain_depth', unit: 'requests', capacity: 4n },
    { ...common, kind: 'chain_tokens', unit: 'tokens', capacity: 9_000_000_000_000_000n },
  ]);
});

test('PUT replaces the budget: values left out or null are not limited, and changed limits keep their ids', async () => {
  await send('PUT', '', { max_cost_usd: '1', max_depth: 3, max_tokens: 10 });
  const cost = await idOf('chain_cost');
  const { json } = await send('PUT', '', { max_cost_usd: '0', max_depth: null });
  expect(json).toEqual({ ...none, max_cost_usd: '0' });
  expect((await liveLimits(world, org.id)).map(({ id, capacity }) => [id, capacity])).toEqual([[cost, 0n]]);
  expect((await send('PUT', '', {})).json).toEqual(none);
  expect(await liveLimits(world, org.id)).toEqual([]);
});

test('concurrent PUTs leave one limit of each kind', async () => {
  const bodies = [1, 2, 3, 4, 5, 6].map((n) => ({ max_cost_usd: String(n), max_depth: n, max_tokens: n }));
  const answers = await Promise.all(bodies.map((body) => send('PUT', '', body)));
  expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200));
  expect(await liveLimits(world, org.id)).toHaveLength(3);
  expect(bodies).toContainEqual((await send('GET', '')).json);
});

test('a change creates an audit entry and an event', async () => {
  const after = { ...none, max_depth: 2 };
  await send('PUT', '', after);
  const { entries, events } = await recordedOf(world, org.id);
  expect(entries).toEqual([
    { action: 'chain_budget.put', target_kind: 'chain_budget', target_id: org.id, before: none, after },
  ]);
  expect(events).toEqual([{ type: 'chain_budget.updated', data: after }]);
});

test.each(badAmounts)('rejects the cost %j', async (max_cost_usd, code) => {
  expect(errorSummary(await send('PUT', '', { max_cost_usd }))).toEqual(invalid(`max_cost_usd ${code}`));
});

test.each<[object, string]>([
  [{ max_depth: 0 }, 'max_depth out_of_range'],
  [{ max_depth: 1.5 }, 'max_depth invalid_type'],
  [{ max_depth: '2' }, 'max_depth invalid_type'],
  [{ max_depth: 1_000_001 }, 'max_depth out_of_range'],
  [{ max_tokens: 0 }, 'max_tokens out_of_range'],
  [{ max_tokens: 9_000_000_000_000_001 }, 'max_tokens out_of_range'],
  [{ max_runs: 1 }, 'max_runs unknown_field'],
])('rejects %j', async (body, fault) => {
  expect(errorSummary(await send('PUT', '', body))).toEqual(invalid(fault));
});

test('a viewer can read the budget but not change it; another org gets 404', async () => {
  const path = `/v1/orgs/${org.id}/chain-budget`;
  const { secret } = await world.mintKey(org, 'viewer', ['budgets:read', 'budgets:write']);
  expect((await world.request('GET', path, { key: secret })).status).toBe(200);
  expect(errorSummary(await world.request('PUT', path, { key: secret, body: {} }))).toEqual([
    403,
    'forbidden',
  ]);
  const other = await world.createOrg();
  expect(errorSummary(await world.request('GET', path, { key: other.ownerKey }))).toEqual([404, 'not_found']);
});

test('each chain is counted separately, and keeps its usage when the budget changes', async () => {
  const run = (cost: string, chain_id: string) => chargeOf(world, org, cost, { chain_id });
  await send('PUT', '', { max_cost_usd: '1' });
  expect([await run('1', 'a'), await run('1', 'b'), await run('0.1', 'b')]).toEqual([
    201,
    201,
    'chain_budget_exceeded',
  ]);
  await send('PUT', '', { max_cost_usd: '1.1' });
  expect([await run('0.1', 'b'), await run('0.1', 'b')]).toEqual([201, 'chain_budget_exceeded']);
});

test('DELETE removes all limits of chains, with an audit entry and an event if there were any', async () => {
  const body = { max_cost_usd: '2', max_depth: 4, max_tokens: null };
  await send('PUT', '', body);
  for (const isFirst of [true, false]) {
    world.clock.advanceSeconds(1);
    const { status, text } = await send('DELETE', '');
    expect([isFirst, status, text]).toEqual([isFirst, 204, '']);
    expect((await send('GET', '')).json).toEqual(none);
    expect(await liveLimits(world, org.id)).toEqual([]);
  }
  const { entries, events } = await recordedOf(world, org.id);
  expect(entries.slice(1)).toMatchObject([{ action: 'chain_budget.delete', before: body, after: none }]);
  expect(events.slice(1)).toMatchObject([{ type: 'chain_budget.updated', data: none }]);
});
