import { beforeAll, describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { createPrices } from './index.ts';

const world = useWorld();
const org = useOrg(world);
beforeAll(async () => {
  await put('acme-large', { input_usd_per_million: '2', output_usd_per_million: '4' });
  await put('acme-small', { input_usd_per_million: '1', output_usd_per_million: '1' });
});

const admin = (method: string, path: string, body: unknown) =>
  world.request(method, `/v1/admin${path}`, { key: world.operatorKey, body });
const put = (model: string, body: object) =>
  admin('PUT', `/models/${encodeURIComponent(model)}`, { input_usd_per_million: '2', ...body });
const resolve = (model: string, key = org.ownerKey) =>
  world.request('GET', `/v1/models/resolve?model=${encodeURIComponent(model)}`, { key });
const pricedAs = async (model: string, key = org.ownerKey) => (await resolve(model, key)).json.priced_as;
const post = (path: string, body: unknown) => world.request('POST', path, { key: org.ownerKey, body });

describe('a requested name', () => {
  test.each([
    'acme-large',
    'openai/acme-large',
    'us.anthropic.acme-large-v1:0',
    'models/acme-large',
    'acme-large-2024-08-06',
    'acme-large@20241022',
    'acme-large-001',
    'acme-large-latest',
    'vertex_ai/acme-large@20241022',
    'openrouter/anthropic/acme-large-20241022',
  ])('%s is resolved to the model that has a price', async (name) => {
    expect(await pricedAs(name)).toBe('acme-large');
  });

  test('a requested name without a price says which steps were tried', async () => {
    const { status, json } = await resolve('openai/unheard-of-2024-08-06');
    expect(status).toBe(200);
    expect(json).toMatchObject({ priced_as: null, price_version: null, source: null, provider: null });
    expect(json.input_usd_per_million).toBeNull();
    const step = (name: string, tried: string, model: string | null) => ({
      step: name,
      name: tried,
      model,
      matched: false,
    });
    const whole = 'openai/unheard-of-2024-08-06';
    expect(json.steps).toEqual([
      step('org_price', whole, null),
      step('exact', whole, whole),
      step('alias', whole, null),
      step('pattern', whole, null),
      step('without_prefix', 'unheard-of-2024-08-06', 'unheard-of-2024-08-06'),
      step('without_date', 'openai/unheard-of', 'openai/unheard-of'),
      step('without_date', 'unheard-of', 'unheard-of'),
    ]);
  });

  test('prefers its own price to an alias, an alias to a pattern, and both to a shorter name', async () => {
    const name = 'openai/order-2024-08-06';
    await put('order', {});
    expect(await pricedAs(name)).toBe('order');
    await put('order-2024-08-06', {});
    expect(await pricedAs(name)).toBe('order-2024-08-06');
    await put('by-pattern', { patterns: ['openai/order-*', '*order-2024-08-06'] });
    expect(await pricedAs(name)).toBe('by-pattern');
    await put('by-longer-pattern', { patterns: ['openai/order-2024-*'] });
    expect(await pricedAs(name)).toBe('by-longer-pattern');
    await put('by-alias', { aliases: [name] });
    expect(await pricedAs(name)).toBe('by-alias');
    await put(name, {});
    expect(await pricedAs(name)).toBe(name);
    const own = { input_usd_per_million: '9' };
    await admin('PUT', `/orgs/${org.id}/prices/${encodeURIComponent(name)}`, own);
    const { json } = await resolve(name);
    expect(json).toMatchObject({ priced_as: name, source: 'org', ...own });
    expect(json.steps).toEqual([{ step: 'org_price', name, model: name, matched: true }]);
  });

  test('gets the discount of the org on the model that it means, and no price of another org', async () => {
    const other = await world.createOrg();
    await admin('PUT', `/orgs/${org.id}/prices/acme-small`, { discount_percent: '50' });
    await admin('PUT', `/orgs/${org.id}/prices/only-ours`, { input_usd_per_million: '1' });
    expect((await resolve('openai/acme-small')).json).toMatchObject({
      source: 'discount',
      discount_percent: '50',
      input_usd_per_million: '0.5',
    });
    expect((await resolve('openai/acme-small', other.ownerKey)).json.source).toBe('model');
    expect(await pricedAs('openai/only-ours')).toBe('only-ours');
    expect(await pricedAs('openai/only-ours', other.ownerKey)).toBeNull();
  });

  test('skips a model whose price is not in force yet', async () => {
    const later = new Date(world.clock.now().getTime() + 60_000).toISOString();
    await put('soon-2024-08-06', { effective_from: later });
    await put('soon', {});
    expect(await pricedAs('soon-2024-08-06')).toBe('soon');
  });

  test('a requested name is resolved the same way while the cache is bypassed', async () => {
    await put('bypassed', { aliases: ['other-name'] });
    const prices = createPrices({ ...world.db, notificationsHealthy: () => false });
    const atMs = world.clock.now().getTime();
    expect((await prices.find(org.id, 'other-name', atMs))?.model).toBe('bypassed');
    expect((await prices.find(org.id, 'openai/bypassed-latest', atMs))?.model).toBe('bypassed');
    expect(await prices.find(org.id, 'openai/unheard-of', atMs)).toBeUndefined();
  });

  test.each(['', 'm'.repeat(201)])('a requested name that is %j is invalid', async (name) => {
    const { status, json } = await resolve(name);
    expect(status).toBe(422);
    expect(json.error.details.fields[0].field).toBe('model');
  });
});

describe('a model with prices of hosts', () => {
  const listed = { follows_updates: true };
  const prices = {
    'gpt-hosted': '1',
    'azure/gpt-hosted': '2',
    'azure/eu/gpt-hosted': '3',
    'groq/openai/oss-hosted': '4',
    'together_ai/openai/oss-hosted': '5',
  };
  beforeAll(async () => {
    for (const [model, input_usd_per_million] of Object.entries(prices)) {
      expect((await put(model, { input_usd_per_million, ...listed })).status).toBe(200);
    }
  });
  const cost = async (body: object) =>
    (await post('/v1/runs', { input_tokens: 1_000_000, output_tokens: 0, ...body })).json.cost_usd;

  test.each([
    [{ model: 'gpt-hosted' }, '1'],
    [{ model: 'gpt-hosted', provider: 'openai', region: 'eu' }, '1'],
    [{ model: 'gpt-hosted', provider: 'azure_openai' }, '2'],
    [{ model: 'gpt-hosted-2026-08-06', provider: 'azure.ai.openai', region: 'eu' }, '3'],
    [{ model: 'azure/us/gpt-hosted' }, '3'],
    [{ model: 'oss-hosted' }, '5'],
    [{ model: 'openai/oss-hosted', provider: 'groq' }, '4'],
  ])(
    'a model with prices of hosts is priced by where a run says that it was called: %j',
    async (body, usd) => {
      expect(await cost(body)).toBe(usd);
    },
  );

  test('holds a decision at the price of the host, and settles it at that price', async () => {
    const request = { model: 'gpt-hosted', provider: 'azure_openai', input_tokens: 1_000_000 };
    const decision = await post('/v1/edge/decision', { ...request, max_output_tokens: 0 });
    expect(decision.json.held_usd).toBe('2');
    expect(await cost({ model: 'gpt-hosted-2026-08-06', decision_id: decision.json.decision_id })).toBe('2');
  });

  test('a model with prices of hosts has the price that an operator or an organization has set for the name at every host', async () => {
    await put('azure/gpt-set', { input_usd_per_million: '2', ...listed });
    await put('gpt-set', { input_usd_per_million: '1', ...listed });
    const call = { model: 'gpt-set', provider: 'azure' };
    expect(await cost(call)).toBe('2');
    await admin('PUT', `/orgs/${org.id}/prices/gpt-set`, { input_usd_per_million: '0.5' });
    expect(await cost(call)).toBe('0.5');
    const other = await world.createOrg();
    const run = { ...call, input_tokens: 1_000_000, output_tokens: 0 };
    const costOfOther = async () =>
      (await world.request('POST', '/v1/runs', { key: other.ownerKey, body: run })).json.cost_usd;
    expect(await costOfOther()).toBe('2');
    await put('gpt-set', { input_usd_per_million: '0.7' });
    expect(await costOfOther()).toBe('0.7');
  });

  test('explains the steps with the provider, and without the cache takes the same', async () => {
    const key = org.ownerKey;
    const path = '/v1/models/resolve?model=gpt-hosted-latest&provider=azure&region=us';
    const { json } = await world.request('GET', path, { key });
    expect(json).toMatchObject({ priced_as: 'azure/gpt-hosted', input_usd_per_million: '2' });
    expect(json.steps.at(-1)).toEqual({
      step: 'at_host',
      name: 'azure/gpt-hosted',
      model: 'azure/gpt-hosted',
      matched: true,
    });
    expect((await resolve('azure/ca/gpt-hosted')).json.steps.at(-1)).toEqual({
      step: 'any_host',
      name: 'gpt-hosted',
      model: 'azure/eu/gpt-hosted',
      matched: true,
    });
    const bypassed = createPrices({ ...world.db, notificationsHealthy: () => false });
    const atMs = world.clock.now().getTime();
    const at = { provider: 'azure' };
    expect((await bypassed.find(org.id, 'gpt-hosted', atMs, at))?.model).toBe('azure/gpt-hosted');
    expect((await bypassed.find(org.id, 'oss-hosted', atMs))?.model).toBe('together_ai/openai/oss-hosted');
  });
});

describe('aliases and patterns', () => {
  test('aliases and patterns are returned, kept if left out, and removed by an empty list or null', async () => {
    const names = { aliases: ['a-1', 'a-2'], patterns: ['a-*'] };
    expect((await put('named', { aliases: ['a-2', 'a-1', 'a-2'], patterns: ['a-*'] })).json).toMatchObject(
      names,
    );
    expect((await put('named', {})).json).toMatchObject(names);
    const read = await world.request('GET', '/v1/admin/models/named', { key: world.operatorKey });
    expect(read.json).toMatchObject(names);
    const list = await world.request('GET', '/v1/models?model=named', { key: org.ownerKey });
    expect(list.json.data[0]).toMatchObject(names);
    expect((await put('named', { aliases: [], patterns: null })).json).toMatchObject({
      aliases: [],
      patterns: [],
    });
    expect(await pricedAs('a-1')).toBeNull();
  });

  test('belong to one model, also if two are put at once', async () => {
    const answers = await Promise.all([
      put('first', { aliases: ['shared'] }),
      put('second', { aliases: ['shared'] }),
      put('third', { aliases: ['shared'] }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const winner = await pricedAs('shared');
    const again = await put('fourth', { aliases: ['shared'] });
    expect(again.json.error).toMatchObject({
      code: 'conflict',
      message: `\`shared\` is already a name of the model \`${winner}\`.`,
    });
    expect(await pricedAs('fourth')).toBeNull();
  });

  test.each([
    [{ aliases: ['invalid'] }, 'aliases[0]'],
    [{ aliases: ['ok', ' blank'] }, 'aliases[1]'],
    [{ patterns: ['no-star'] }, 'patterns[0]'],
    [{ patterns: ['**'] }, 'patterns[0]'],
    [{ aliases: Array.from({ length: 101 }, (_, i) => `n${i}`) }, 'aliases'],
    [{ aliases: 'name' }, 'aliases'],
    [{ aliases: ['x'.repeat(201)] }, 'aliases[0]'],
  ])('aliases and patterns that are invalid are rejected with their field', async (body, field) => {
    const { status, json } = await put('invalid', body);
    expect(status).toBe(422);
    expect(json.error.details.fields.map((one: { field: string }) => one.field)).toContain(field);
  });
});

describe('a run', () => {
  const usage = { input_tokens: 1_000_000, output_tokens: 0 };

  test('keeps its name and says as what it was priced', async () => {
    const run = await post('/v1/runs', { model: 'openai/acme-large-2024-08-06', ...usage });
    expect(run.json).toMatchObject({
      model: 'openai/acme-large-2024-08-06',
      priced_as: 'acme-large',
      cost_usd: '2',
    });
    expect((await post('/v1/runs', { model: 'acme-large', ...usage })).json.priced_as).toBe('acme-large');
    const given = await post('/v1/runs', { model: 'acme-large', cost_usd: '1' });
    expect(given.json).toMatchObject({ priced_as: null, price_version: null });
    const read = await world.request('GET', `/v1/runs/${run.json.id}`, { key: org.ownerKey });
    expect(read.json.priced_as).toBe('acme-large');
  });

  test('a run in bulk is resolved like a single one', async () => {
    const bulk = await post('/v1/runs/bulk', {
      runs: [
        { model: 'models/acme-large', ...usage },
        { model: 'acme-large-001', ...usage },
      ],
    });
    expect(bulk.status).toBeLessThan(300);
    const list = await world.request('GET', '/v1/runs?model=models%2Facme-large', { key: org.ownerKey });
    expect(list.json.data[0]).toMatchObject({ cost_usd: '2', priced_as: 'acme-large' });
  });

  test('a run that settles a decision by another name of the model keeps the price of the decision', async () => {
    await put('held', { input_usd_per_million: '1', output_usd_per_million: '1' });
    const request = { model: 'openai/held', input_tokens: 1_000_000, max_output_tokens: 1 };
    const decision = await post('/v1/edge/decision', request);
    expect(decision.json.held_usd).toBe('1.000001');
    // A later version with an earlier start does not change what was decided.
    const earlier = new Date(world.clock.now().getTime() - 1_000).toISOString();
    await put('held', { input_usd_per_million: '5', effective_from: earlier });
    const { decision_id } = decision.json;
    const run = await post('/v1/runs', { model: 'held-2024-08-06', decision_id, ...usage });
    expect(run.json).toMatchObject({ priced_as: 'held', cost_usd: '1', marks: [] });
  });

  test('a run by a name with its own price is priced by that, not by the price of its decision', async () => {
    await put('dated', { input_usd_per_million: '1', output_usd_per_million: '1' });
    await put('dated-2024-05-13', { input_usd_per_million: '3' });
    const request = { model: 'dated', input_tokens: 1_000_000, max_output_tokens: 1 };
    const { json } = await post('/v1/edge/decision', request);
    const run = await post('/v1/runs', {
      model: 'dated-2024-05-13',
      decision_id: json.decision_id,
      ...usage,
    });
    expect(run.json).toMatchObject({ priced_as: 'dated-2024-05-13', cost_usd: '3' });
  });

  test('a run of a name that no rule resolves is still posted at the held amount, and repriced by an alias', async () => {
    const { json } = await post('/v1/edge/decision', { model: 'riddle', estimated_cost_usd: '0.5' });
    const run = await post('/v1/runs', { model: 'riddle', decision_id: json.decision_id, ...usage });
    expect(run.json).toMatchObject({ cost_usd: '0.5', marks: ['unpriced'], priced_as: null });
    await put('answer', { input_usd_per_million: '2', aliases: ['riddle'] });
    const repriced = await post(`/v1/runs/${run.json.id}/reprice`, {});
    expect(repriced.json).toMatchObject({ amount_usd: '1.5', run: { priced_as: 'answer', model: 'riddle' } });
  });

  test('a run that is completed by another name of its model is priced as that model', async () => {
    const running = await post('/v1/runs', {
      model: 'models/acme-large',
      status: 'running',
      input_tokens: 1_000_000,
      max_output_tokens: 1_000_000,
    });
    expect(running.json).toMatchObject({ held_usd: '6', priced_as: 'acme-large' });
    const completed = await post(`/v1/runs/${running.json.id}/complete`, { output_tokens: 500_000 });
    expect(completed.json).toMatchObject({
      cost_usd: '4',
      priced_as: 'acme-large',
      model: 'models/acme-large',
    });
  });
});
