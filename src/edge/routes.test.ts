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

  test('holds what images cost, and clamps the output to what is left beside them', async () => {
    const org = await capped('1');
    await world.request('PUT', '/v1/admin/models/draws', {
      key: world.operatorKey,
      body: { input_usd_per_million: '0', output_usd_per_million: '1', image_usd: '0.04' },
    });
    const asked = { model: 'draws', images: 2 };
    const tokens = await ask(org, { ...asked, input_tokens: 10, max_output_tokens: 1_000 });
    expect(tokens.json).toMatchObject({ held_usd: '0.081', max_output_tokens: 1_000 });
    const given = await ask(org, { ...asked, estimated_cost_usd: '0.0801' });
    expect(given.json).toMatchObject({ held_usd: '0.0801', max_output_tokens: 100 });
  });

  test('of tokens that cost more than the books can hold is refused, as a run of them is', async () => {
    const org = await capped('1');
    await world.request('PUT', '/v1/admin/models/dearest', {
      key: world.operatorKey,
      body: { input_usd_per_million: '8999999999', output_usd_per_million: '1' },
    });
    const tokens = { model: 'dearest', input_tokens: 1_000_001 };
    const opened = await world.request('POST', '/v1/runs', {
      key: org.ownerKey,
      body: { status: 'running', model: 'dearest', estimated_cost_usd: '0.1' },
    });
    const asked: [path: string, body: object, field: string][] = [
      ['/v1/edge/decision', { ...tokens, max_output_tokens: 1 }, 'max_output_tokens'],
      ['/v1/runs', { ...tokens, status: 'running', max_output_tokens: 1 }, 'max_output_tokens'],
      ['/v1/runs', tokens, 'output_tokens'],
      [`/v1/runs/${opened.json.id}/complete`, { input_tokens: 1_000_001 }, 'output_tokens'],
    ];
    for (const [path, body, field] of asked) {
      const { status, json } = await world.request('POST', path, { key: org.ownerKey, body });
      expect({ path, status, fields: json.error?.details.fields }).toMatchObject({
        path,
        status: 422,
        fields: [{ field, code: 'out_of_range' }],
      });
    }
  });

  test('is not brought down by a body that nests, and says what is wrong with it', async () => {
    const org = await capped('1');
    await ask(org, { model: 'm', estimated_cost_usd: '0.1' });
    for (const depth of [60, 4_000, 8_000]) {
      const payload = `{"model":${'['.repeat(depth)}${']'.repeat(depth)}}`;
      const nested = await world.request('POST', '/v1/edge/decision', { key: org.ownerKey, raw: payload });
      expect(nested.json.error.code).toBe('validation_failed');
    }
    expect((await ask(org, { model: 'm', estimated_cost_usd: '0.1' })).status).toBe(200);
  });
});

describe('the fast path', () => {
  test('keeps to the limit of bodies', async () => {
    const small = await createWorld({ SVC_BODY_LIMIT_BYTES: '1024' });
    try {
      const org = await small.createOrg();
      const send = (workflow: string) =>
        small.request('POST', '/v1/edge/decision', {
          key: org.ownerKey,
          body: { model: 'm', estimated_cost_usd: '0.1', workflow },
        });
      expect((await send('w')).status).toBe(200);
      expect((await send('w'.repeat(1_100))).json.error.code).toBe('payload_too_large');
    } finally {
      await small.close();
    }
  });
});
