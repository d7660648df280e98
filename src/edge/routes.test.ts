/** The edge decision over HTTP: what it holds, what it refuses, and how it is settled. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorld, type TestOrg, type World } from '../../test/harness.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

async function ask(org: TestOrg, body: object, headers: Record<string, string> = {}) {
  return world.request('POST', '/v1/edge/decision', { key: org.ownerKey, body, headers });
}

async function capped(capUsd: string): Promise<TestOrg> {
  const org = await world.createOrg();
  await world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, {
    key: org.ownerKey,
    body: { cap_usd: capUsd },
  });
  return org;
}

describe('an edge decision', () => {
  test('holds what it may cost, up to the limit and not a nanodollar further', async () => {
    const org = await capped('1');
    const first = await ask(org, { model: 'm', estimated_cost_usd: '0.999999999' });
    expect(first.status).toBe(200);
    expect(first.json).toMatchObject({
      decision: 'allow',
      held_usd: '0.999999999',
      limits: [{ kind: 'spend_cap', remaining: '0.000000001' }],
      not_checked: [],
    });
    const second = await ask(org, { model: 'm', estimated_cost_usd: '0.000000002' });
    expect(second.status).toBe(402);
    expect(second.json.error).toMatchObject({
      code: 'spend_cap_exceeded',
      details: { cap_usd: '1', spent_usd: '0.999999999', held_usd: '0.999999999', reason: 'pre_flight' },
    });
    expect((await ask(org, { model: 'm', estimated_cost_usd: '0.000000001' })).status).toBe(200);
  });

  test('is settled by the run that names it, for what that really cost', async () => {
    const org = await capped('1');
    const { json } = await ask(org, { model: 'm', estimated_cost_usd: '0.6' });
    const run = await world.request('POST', '/v1/runs', {
      key: org.ownerKey,
      body: { model: 'm', cost_usd: '0.25', decision_id: json.decision_id },
    });
    expect(run.status).toBe(201);
    expect(run.json).toMatchObject({ cost_usd: '0.25', marks: [] });
    const next = await ask(org, { model: 'm', estimated_cost_usd: '0.75' });
    expect(next.json.limits[0].remaining).toBe('0');
  });
});
