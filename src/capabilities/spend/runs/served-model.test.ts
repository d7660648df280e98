/** The model that served a run: recorded, priced, and counted in the limits of the model that was decided on. */
import { describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const send = (method: string, path: string, body?: unknown) =>
  world.request(method, path, { key: org.ownerKey, ...(body !== undefined && { body }) });
const post = async (path: string, body: object) => (await send('POST', path, body)).json;
const putPrice = (model: string, input_usd_per_million: string) =>
  world.request('PUT', `/v1/admin/models/${model}`, {
    key: world.operatorKey,
    body: { input_usd_per_million, output_usd_per_million: '0' },
  });
const decide = async (fields: object = {}) =>
  (await post('/v1/edge/decision', { model: 'gpt-4o-mini', estimated_cost_usd: '4', ...fields })).decision_id;

/** Costs $0.15 as `gpt-4o-mini`, $2.5 as `gpt-4o`. */
const million = { input_tokens: 1_000_000, output_tokens: 0 };
const asServed = {
  model: 'gpt-4o-mini',
  served_model: 'gpt-4o',
  priced_as: 'gpt-4o',
  price_source: 'price',
  cost_usd: '2.5',
  marks: [],
};
const unpricedAsHeld = {
  model: 'gpt-4o-mini',
  served_model: 'mystery-9',
  priced_as: null,
  price_version: null,
  price_source: 'none',
  cost_usd: '4',
  marks: ['unpriced'],
};

async function expectBalanced(cost_usd: string): Promise<void> {
  const { json } = await send('GET', `/v1/orgs/${org.id}/ledger/reconciliation`);
  expect(json).toMatchObject({ balanced: true, totals: { cost_usd: { entries: cost_usd, runs: cost_usd } } });
}

describe('another model than that of the decision', () => {
  test('another model than that of the decision is recorded and priced, named as `model` or as `served_model`', async () => {
    const decisions = [await decide(), await decide()];
    const named = await post('/v1/runs', { model: 'gpt-4o', decision_id: decisions[0], ...million });
    expect(named).toMatchObject(asServed);
    const stated = { model: 'gpt-4o-mini', served_model: 'gpt-4o', decision_id: decisions[1], ...million };
    expect(await post('/v1/runs', stated)).toMatchObject(asServed);
    expect((await send('GET', `/v1/runs/${named.id}`)).json).toEqual(named);
    expect((await send('GET', '/v1/runs')).json.data).toMatchObject([asServed, asServed]);
    await expectBalanced('5');
  });

  test('another model than that of the decision is recorded and priced for each run of a bulk request', async () => {
    const runs = [
      { model: 'gpt-4o', decision_id: await decide(), ...million },
      { model: 'gpt-4o-mini', served_model: 'gpt-4o', decision_id: await decide(), ...million },
    ];
    expect(await post('/v1/runs/bulk', { runs })).toMatchObject({ accepted: 2 });
    expect((await send('GET', '/v1/runs')).json.data).toMatchObject([asServed, asServed]);
  });

  test('another model than that of the decision is recorded and priced when a running run is completed', async () => {
    const running = { model: 'gpt-4o-mini', status: 'running', estimated_cost_usd: '4' };
    const own = await post('/v1/runs', running);
    expect(own.served_model).toBeNull();
    expect(await post(`/v1/runs/${own.id}/complete`, { served_model: 'gpt-4o', ...million })).toMatchObject(
      asServed,
    );
    const adopted = await post('/v1/runs', { ...running, model: 'gpt-4o', decision_id: await decide() });
    expect(adopted).toMatchObject({ model: 'gpt-4o-mini', served_model: 'gpt-4o' });
    expect(await post(`/v1/runs/${adopted.id}/complete`, million)).toMatchObject(asServed);
    await expectBalanced('5');
  });

  test('another model than that of the decision counts in the limits and the usage of the model that was decided on', async () => {
    const budget = (model: string) =>
      post(`/v1/orgs/${org.id}/budgets`, {
        name: model,
        scope_kind: 'model',
        scope_id: model,
        period: 'month',
        limit_usd: '10',
      });
    await budget('gpt-4o-mini');
    await budget('gpt-4o');
    await post('/v1/runs', { model: 'gpt-4o', decision_id: await decide(), ...million });
    const { json } = await send('GET', `/v1/orgs/${org.id}/usage?group_by=model`);
    expect(json.data).toMatchObject([{ model: 'gpt-4o-mini', cost_usd: '2.5' }]);
    const { json: limits } = await send('GET', `/v1/orgs/${org.id}/limits?kind=budget`);
    const settled = limits.data.map((limit: { name: string; standing: { settled: string } }) => [
      limit.name,
      limit.standing.settled,
    ]);
    expect(Object.fromEntries(settled)).toEqual({ 'gpt-4o-mini': '2.5', 'gpt-4o': '0' });
  });

  test('another model than that of the decision is priced in full above its hold, and late', async () => {
    const decision_id = await decide({ estimated_cost_usd: '1', expires_in_seconds: 60 });
    const late = await decide({ expires_in_seconds: 60 });
    expect(await post('/v1/runs', { model: 'gpt-4o', decision_id, ...million })).toMatchObject({
      ...asServed,
      marks: ['over_hold'],
    });
    world.clock.advanceSeconds(61);
    await world.runJob('expire-holds');
    expect(await post('/v1/runs', { model: 'gpt-4o', decision_id: late, ...million })).toMatchObject({
      ...asServed,
      marks: ['late'],
    });
    await expectBalanced('5');
  });

  test('another model than that of the decision is recorded and priced if the held amount was posted before', async () => {
    await send('PATCH', `/v1/orgs/${org.id}`, { on_unsettled: 'post_held' });
    const decision_id = await decide({ expires_in_seconds: 60 });
    world.clock.advanceSeconds(61);
    await world.runJob('expire-holds');
    expect((await send('GET', '/v1/runs')).json.data).toMatchObject([{ cost_usd: '4', served_model: null }]);
    expect(await post('/v1/runs', { model: 'gpt-4o', decision_id, ...million })).toMatchObject({
      ...asServed,
      marks: ['late'],
    });
    await expectBalanced('2.5');
  });

  test('leaves a given cost as it is', async () => {
    const given = { model: 'gpt-4o', decision_id: await decide(), cost_usd: '0.25', ...million };
    expect(await post('/v1/runs', given)).toMatchObject({
      ...asServed,
      cost_usd: '0.25',
      priced_as: null,
      price_source: null,
    });
  });
});

describe('another name of the decided model', () => {
  test('another name of the decided model is recorded, and has the price of the hold even if that has changed since', async () => {
    const model = `tuned-${org.id.slice(4)}`;
    await putPrice(model, '1');
    const decision_id = await decide({ model });
    const served_model = `${model}-2026-08-06`;
    await putPrice(model, '3');
    const run = await post('/v1/runs', { model: served_model, decision_id, ...million });
    expect(run).toMatchObject({ model, served_model, priced_as: model, cost_usd: '1', marks: [] });
  });
});

describe('a served model without a price', () => {
  test('a served model without a price is charged as held and marked, and repriced by its own price', async () => {
    const served_model = `mystery-${org.id.slice(4)}`;
    await send('POST', `/v1/orgs/${org.id}/webhooks`, {
      url: 'https://hooks.example.com/purser',
      events: ['price.missing'],
    });
    const body = { model: 'gpt-4o-mini', served_model, decision_id: await decide(), ...million };
    const run = await post('/v1/runs', body);
    expect(run).toMatchObject({ ...unpricedAsHeld, served_model });
    const [event] = await world.db.query<{ data: object }>(
      `SELECT data FROM outbox WHERE tenant_id = $1 AND type = 'price.missing'`,
      [org.id],
    );
    expect(event?.data).toMatchObject({ run_id: run.id, model: served_model, posted_usd: '4' });
    const { json: unpriced } = await send('GET', `/v1/orgs/${org.id}/unpriced-models`);
    expect(unpriced.data).toMatchObject([{ model: served_model, runs: 1, repriced_runs: 0 }]);
    const reprice = () => send('POST', `/v1/runs/${run.id}/reprice`);
    expect((await reprice()).json.error.details.fields).toMatchObject([{ field: 'model' }]);
    await putPrice(served_model, '3');
    expect((await reprice()).json).toMatchObject({ amount_usd: '-1', run: { priced_as: served_model } });
    const { json: repriced } = await send('GET', `/v1/orgs/${org.id}/unpriced-models`);
    expect(repriced.data).toMatchObject([{ model: served_model, repriced_runs: 1 }]);
    await expectBalanced('3');
  });

  test('a served model without a price is charged at the price of the decision if that is more than the hold', async () => {
    const decision_id = await decide({ estimated_cost_usd: '0.1' });
    expect(await post('/v1/runs', { model: 'mystery-9', decision_id, ...million })).toMatchObject({
      ...unpricedAsHeld,
      cost_usd: '0.15',
      marks: ['unpriced', 'over_hold'],
    });
  });

  test('a served model without a price is charged at the default rates of the org, if it has any', async () => {
    await send('PUT', `/v1/orgs/${org.id}/unpriced-policy`, {
      on_unpriced: 'hold_default',
      input_usd_per_million: '3',
      output_usd_per_million: '3',
    });
    expect(
      await post('/v1/runs', { model: 'mystery-9', decision_id: await decide(), ...million }),
    ).toMatchObject({ served_model: 'mystery-9', price_source: 'default_rates', cost_usd: '3' });
  });

  test('costs nothing if the run failed without usage', async () => {
    const failed = { model: 'mystery-9', decision_id: await decide(), status: 'failed' };
    expect(await post('/v1/runs', failed)).toMatchObject({ cost_usd: '0', marks: [] });
  });

  test('a served model without a price is rejected in a run without a decision, under the name of its field', async () => {
    const { status, json } = await send('POST', '/v1/runs', {
      model: 'gpt-4o',
      served_model: 'mystery-9',
      ...million,
    });
    expect(status).toBe(422);
    expect(json.error.details.fields).toMatchObject([{ field: 'served_model', code: 'invalid_value' }]);
  });
});

test('a run without a decision is priced as the model that served it', async () => {
  const run = await post('/v1/runs', { model: 'gpt-4o-mini', served_model: 'gpt-4o', ...million });
  expect(run).toMatchObject(asServed);
});

test('a run in progress cannot state the model that serves it', async () => {
  const body = { model: 'gpt-4o', served_model: 'gpt-4o', status: 'running', estimated_cost_usd: '1' };
  const { json } = await send('POST', '/v1/runs', body);
  expect(json.error.details.fields).toMatchObject([{ field: 'served_model', code: 'invalid_value' }]);
});

test('a repeated run has the same served model, and another one is a conflict', async () => {
  const body = { model: 'gpt-4o-mini', served_model: 'gpt-4o', external_id: 'once', ...million };
  const first = await post('/v1/runs', body);
  expect(await post('/v1/runs', body)).toEqual(first);
  const { json } = await send('POST', '/v1/runs', { ...body, served_model: 'gpt-4o-mini' });
  expect(json.error.code).toBe('conflict');
  await expectBalanced('2.5');
});
