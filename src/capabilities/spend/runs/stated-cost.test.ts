/** A cost that a provider has stated with a run: it wins over list prices, and the organization's own price wins over it. */
import { expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const send = (method: string, path: string, body?: unknown, key = org.ownerKey) =>
  world.request(method, path, { key, ...(body !== undefined && { body }) });
const putOwnPrice = (units = {}) => {
  const rates = { input_usd_per_million: '2', output_usd_per_million: '0', units };
  return send('PUT', `/v1/admin/orgs/${org.id}/prices/gpt-4o`, rates, world.operatorKey);
};

/** Costs $2.5 at the list price, $2 at the price of the organization. */
const million = { model: 'gpt-4o', input_tokens: 1_000_000, output_tokens: 0 };
const stated = { ...million, stated_cost_usd: '0.75' };
const kept = { stated_cost_usd: '0.75' };

type Body = Readonly<Record<string, unknown>>;

async function completed({ model, ...body }: Body) {
  const running = { model, status: 'running', estimated_cost_usd: '4', metadata: { kept: true } };
  const { json } = await send('POST', '/v1/runs', running);
  return send('POST', `/v1/runs/${json.id}/complete`, body);
}

/** The ways to charge a run with a body: created, with a decision, and completed. */
const ways: readonly [string, (body: Body) => ReturnType<typeof send>][] = [
  ['a new run', (body) => send('POST', '/v1/runs', body)],
  [
    'the run of a decision',
    async (body) => {
      const asked = { model: 'gpt-4o', estimated_cost_usd: '4' };
      const { json } = await send('POST', '/v1/edge/decision', asked);
      return send('POST', '/v1/runs', { ...body, decision_id: json.decision_id });
    },
  ],
  ['a completed run', completed],
];

test.each(ways)('%s has the stated cost instead of that of a list price', async (_, charge) => {
  const { json } = await charge(stated);
  expect(json).toMatchObject({ cost_usd: '0.75', price_source: null, priced_as: null });
  expect(json.metadata).not.toHaveProperty('stated_cost_usd');
});

test.each(ways)('%s has the price of the organization, and keeps the stated cost', async (_, charge) => {
  await putOwnPrice();
  const { json } = await charge(stated);
  expect(json).toMatchObject({ cost_usd: '2', price_source: 'price', metadata: kept });
  const others = await charge({ ...stated, metadata: { call: 7 } });
  expect(others.json.metadata).toEqual({ call: 7, ...kept });
});

test('a completion keeps the metadata of its run beside the stated cost', async () => {
  await putOwnPrice();
  const { json } = await completed(stated);
  expect(json.metadata).toEqual({ kept: true, ...kept });
});

test.each(ways)('%s has the given cost, whatever the provider states', async (_, charge) => {
  const { json } = await charge({ ...stated, cost_usd: '0.5' });
  expect(json).toMatchObject({ cost_usd: '0.5', metadata: kept });
});

test.each(ways)(
  '%s has the stated cost if the price of the organization has no price of a unit',
  async (_, charge) => {
    await putOwnPrice();
    const searched = { ...stated, units: { web_search: 2 } };
    expect((await charge(searched)).json).toMatchObject({ cost_usd: '0.75', marks: [] });
    await putOwnPrice({ web_search: '0.25' });
    expect((await charge(searched)).json).toMatchObject({ cost_usd: '2.5', metadata: kept });
  },
);

test('a model without a price has the stated cost, also of 0', async () => {
  const unlisted = { ...stated, model: 'unlisted-9' };
  expect((await send('POST', '/v1/runs', unlisted)).json).toMatchObject({ cost_usd: '0.75', marks: [] });
  const free = { ...unlisted, stated_cost_usd: '0' };
  expect((await send('POST', '/v1/runs', free)).json).toMatchObject({ cost_usd: '0', marks: [] });
});

test('a stated cost of 0 does not make a call free whose model has a price', async () => {
  const { json } = await send('POST', '/v1/runs', { ...stated, stated_cost_usd: '0' });
  expect(json).toMatchObject({ cost_usd: '2.5', price_source: 'price' });
});

test('a run in progress has no stated cost, and an amount must be one', async () => {
  const running = { ...stated, status: 'running', estimated_cost_usd: '4' };
  for (const body of [running, { ...million, stated_cost_usd: '-1' }, { ...million, stated_cost_usd: 1 }]) {
    const { status, json } = await send('POST', '/v1/runs', body);
    expect([status, json.error.details.fields]).toMatchObject([422, [{ field: 'stated_cost_usd' }]]);
  }
});

test('runs of a bulk request have their stated costs, and one that is sent again with another is a conflict', async () => {
  const runs = [{ ...stated, external_id: 'one' }];
  expect((await send('POST', '/v1/runs/bulk', { runs })).json).toMatchObject({ accepted: 1 });
  const again = (stated_cost_usd: string) =>
    send('POST', '/v1/runs', { ...stated, external_id: 'one', stated_cost_usd });
  expect((await again('0.750')).json).toMatchObject({ cost_usd: '0.75' });
  expect((await again('0.76')).status).toBe(409);
});
