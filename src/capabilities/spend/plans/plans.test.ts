import { describe, expect, test } from 'vitest';
import { createWorld, useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import {
  chargeOf,
  errorSummary,
  invalid,
  limitsVersion,
  liveLimits,
  recordedOf,
  sender,
} from '../../../../test/support/limits.ts';
import { platformTenant } from '../../../platform/http/routes/access.ts';

const world = useWorld();
const org = useOrgPerTest(world);
let plans = 0;

const send = sender(
  () => world,
  () => '/v1/admin/plans',
  () => world.operatorKey,
);
const assign = (plan_id: unknown) =>
  world.request('PUT', `/v1/admin/orgs/${org.id}/plan`, { key: world.operatorKey, body: { plan_id } });
const read = async () =>
  (await world.request('GET', `/v1/admin/orgs/${org.id}/plan`, { key: world.operatorKey })).json;
const planId = async (fields: object) =>
  (await send('POST', '', { name: `Plan ${++plans}`, overage_policy: 'block', ...fields })).json.id;
const none = { plan_id: null, plan: null, assigned_at: null };

describe('plans', () => {
  test('fields that are left out are not limited', async () => {
    const { status, json } = await send('POST', '', { name: 'Free', overage_policy: 'allow' });
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.stringMatching(/^pln_/),
      name: 'Free',
      monthly_runs: null,
      monthly_tokens: null,
      overage_policy: 'allow',
      created_at: world.clock.now().toISOString(),
    });
    expect((await send('GET', `/${json.id}`)).json).toEqual(json);
  });

  test('accepts counts from zero up to nine quadrillion', async () => {
    const counts = { monthly_runs: 0, monthly_tokens: 9_000_000_000_000_000 };
    const { json } = await send('POST', '', { name: 'Bounds', overage_policy: 'block', ...counts });
    expect(json).toMatchObject(counts);
    expect((await send('GET', `/${json.id}`)).json).toEqual(json);
  });

  test('names are unique, also for concurrent requests', async () => {
    const body = { name: 'Once', overage_policy: 'block' };
    const answers = await Promise.all(Array.from({ length: 5 }, () => send('POST', '', body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
    expect(errorSummary(await send('POST', '', body))).toEqual([409, 'conflict']);
  });

  test.each<[object, string[]]>([
    [{}, ['name required', 'overage_policy required']],
    [{ name: ' ', overage_policy: 'warn' }, ['name invalid_format', 'overage_policy invalid_value']],
    [{ name: 'a', overage_policy: 'block', monthly_runs: -1 }, ['monthly_runs out_of_range']],
    [{ name: 'a', overage_policy: 'block', monthly_runs: 1.5 }, ['monthly_runs invalid_type']],
    [{ name: 'a', overage_policy: 'block', monthly_tokens: '5' }, ['monthly_tokens invalid_type']],
    [
      { name: 'a', overage_policy: 'block', monthly_tokens: 9_000_000_000_000_001 },
      ['monthly_tokens out_of_range'],
    ],
    [{ name: 'a', overage_policy: 'block', price: 1 }, ['price unknown_field']],
  ])('refuses %j', async (body, faults) => {
    expect(errorSummary(await send('POST', '', body))).toEqual(invalid(...faults));
  });

  test('an unknown plan is not found', async () => {
    expect(errorSummary(await send('GET', '/pln_none'))).toEqual([404, 'not_found']);
  });

  test('keys of an org cannot use operator routes', async () => {
    const denied = await world.request('GET', '/v1/admin/plans', { key: org.ownerKey });
    expect(errorSummary(denied)).toEqual([403, 'forbidden']);
  });

  test('the list has pages, sorts and filters', async () => {
    const lister = await createWorld();
    try {
      for (const name of ['b', 'c', 'a']) {
        const body = { name, overage_policy: 'block' };
        await lister.request('POST', '/v1/admin/plans', { key: lister.operatorKey, body });
        lister.clock.advanceSeconds(1);
      }
      const list = async (query: string) => {
        const { json } = await lister.request('GET', `/v1/admin/plans${query}`, { key: lister.operatorKey });
        return {
          shown: json.data.map(({ name }: { name: string }) => name).join(),
          cursor: json.next_cursor,
        };
      };
      expect((await list('')).shown).toBe('a,c,b');
      expect((await list('?sort=name')).shown).toBe('a,b,c');
      expect((await list('?name=c')).shown).toBe('c');
      const first = await list('?sort=name&limit=2');
      expect(await list(`?sort=name&limit=2&cursor=${first.cursor}`)).toEqual({ shown: 'c', cursor: null });
    } finally {
      await lister.close();
    }
  });
});

describe('assigning', () => {
  test('an org has no plan until one is assigned', async () => {
    expect(await read()).toEqual(none);
    expect((await assign(null)).json).toEqual(none);
  });

  test('writes the limits that the ledger reads', async () => {
    const version = await limitsVersion(world, org.id);
    const id = await planId({ monthly_runs: 10, monthly_tokens: 1_000 });
    const { status, json } = await assign(id);
    expect(status).toBe(200);
    expect(json).toEqual({
      plan_id: id,
      plan: (await send('GET', `/${id}`)).json,
      assigned_at: world.clock.now().toISOString(),
    });
    expect(await read()).toEqual(json);
    const common = {
      id: expect.stringMatching(/^plm_/),
      match: {},
      period: 'month',
      window_seconds: null,
      timezone: null,
      burst: null,
      enforcement: 'block',
      alert_thresholds: [80, 100],
      expires_at: null,
    };
    expect(await liveLimits(world, org.id)).toEqual([
      { ...common, kind: 'plan_runs', unit: 'requests', capacity: 10n },
      { ...common, kind: 'plan_tokens', unit: 'tokens', capacity: 1_000n },
    ]);
    expect(await limitsVersion(world, org.id)).toBeGreaterThan(version);
  });

  test("a plan change keeps the limit ids, so that this month's usage counts", async () => {
    await assign(await planId({ monthly_runs: 10, monthly_tokens: 1_000 }));
    const [runs] = await liveLimits(world, org.id);
    await assign(await planId({ monthly_runs: 0, overage_policy: 'allow' }));
    expect(await liveLimits(world, org.id)).toEqual([{ ...runs, capacity: 0n, enforcement: 'alert' }]);
  });

  test('null removes the plan and its limits', async () => {
    await assign(await planId({ monthly_runs: 10 }));
    expect((await assign(null)).json).toEqual(none);
    expect(await liveLimits(world, org.id)).toEqual([]);
  });

  test('concurrent assignments leave one limit of each kind', async () => {
    const ids = [await planId({ monthly_runs: 1 }), await planId({ monthly_runs: 2 })];
    await Promise.all([...ids, ...ids, ...ids].map(assign));
    const { plan } = await read();
    expect(await liveLimits(world, org.id)).toMatchObject([{ capacity: BigInt(plan.monthly_runs) }]);
  });

  test.each<[unknown, string]>([
    ['pln_none', 'plan_id invalid_value'],
    ['', 'plan_id empty'],
    [5, 'plan_id invalid_type'],
    [undefined, 'plan_id required'],
  ])('rejects the plan %j', async (id, fault) => {
    expect(errorSummary(await assign(id))).toEqual(invalid(fault));
  });

  test('an unknown org is not found', async () => {
    const at = (method: string, body?: object) =>
      world.request(method, '/v1/admin/orgs/org_none/plan', {
        key: world.operatorKey,
        ...(body && { body }),
      });
    expect(errorSummary(await at('GET'))).toEqual([404, 'not_found']);
    expect(errorSummary(await at('PUT', { plan_id: null }))).toEqual([404, 'not_found']);
  });
});

test('the org can read its plan', async () => {
  await assign(await planId({ monthly_runs: 10 }));
  const path = `/v1/orgs/${org.id}/plan`;
  const { secret } = await world.mintKey(org, 'viewer', ['budgets:read']);
  expect((await world.request('GET', path, { key: secret })).json).toEqual(await read());
  const { secret: unscoped } = await world.mintKey(org, 'owner', ['org:read']);
  expect((await world.request('GET', path, { key: unscoped })).json.error.code).toBe('missing_scope');
  const other = await world.createOrg();
  expect(errorSummary(await world.request('GET', path, { key: other.ownerKey }))).toEqual([404, 'not_found']);
});

test('every change creates an audit entry, and assignments create an event of the org', async () => {
  const { json: plan } = await send('POST', '', { name: 'Recorded', overage_policy: 'block' });
  const { json: after } = await assign(plan.id);
  const platform = await recordedOf(world, platformTenant);
  expect(platform.entries.at(-1)).toEqual({
    action: 'plans.create',
    target_kind: 'plan',
    target_id: plan.id,
    before: null,
    after: plan,
  });
  expect(platform.events).toEqual([]);
  expect(await recordedOf(world, org.id)).toEqual({
    entries: [{ action: 'orgs.plan.put', target_kind: 'org_plan', target_id: org.id, before: none, after }],
    events: [{ type: 'plan.assigned', data: after }],
  });
});

test('usage of this month counts, also from before the plan and under another plan', async () => {
  const run = () => chargeOf(world, org, '0');
  expect(await run()).toBe(201);
  await assign(await planId({ monthly_runs: 2 }));
  expect([await run(), await run()]).toEqual([201, 'plan_limit_exceeded']);
  await assign(await planId({ monthly_runs: 3 }));
  expect([await run(), await run()]).toEqual([201, 'plan_limit_exceeded']);
  await assign(await planId({ monthly_runs: 0, overage_policy: 'allow' }));
  expect(await run()).toBe(201);
  await assign(null);
  expect(await run()).toBe(201);
});
