/** Costs of runs by tier, region, input size, one-hour cache writes and units. */
import { beforeAll, describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
const org = useOrg(world);
beforeAll(async () => {
  await price('served', {
    input_usd_per_million: '3',
    cached_input_usd_per_million: '0.3',
    cache_write_usd_per_million: '3.75',
    output_usd_per_million: '15',
    modifiers: [
      { tier: 'batch', input_usd_per_million: '1.5', output_usd_per_million: '7.5' },
      { above_input_tokens: 200_000, input_usd_per_million: '6', output_usd_per_million: '22.5' },
      { cache_write_ttl: '1h', cache_write_usd_per_million: '6' },
      { region: 'us', multiplier: '1.1' },
    ],
    units: { web_search: '0.01' },
  });
  await price('by-second', { input_usd_per_million: '0', units: { second: '0.0001' } });
});

const price = (model: string, body: object) =>
  world.request('PUT', `/v1/admin/models/${model}`, { key: world.operatorKey, body });
const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  world.request(method, path, { key: org.ownerKey, headers, ...(body !== undefined && { body }) });
const faultsOf = ({ status, json }: Awaited<ReturnType<typeof send>>) => {
  expect(status).toBe(422);
  return json.error.details.fields.map(
    ({ field, code }: { field: string; code: string }) => `${field} ${code}`,
  );
};
const usage = { model: 'served', input_tokens: 1_000, output_tokens: 100 };

describe('a run', () => {
  test.each([
    [{}, '0.0045'],
    [{ service_tier: 'batch' }, '0.00225'],
    [{ service_tier: 'default' }, '0.0045'],
    [{ service_tier: 'never-heard-of', region: 'mars' }, '0.0045'],
    [{ region: 'us' }, '0.00495'],
    [{ service_tier: 'batch', region: 'us' }, '0.002475'],
    [{ input_tokens: 200_000 }, '0.6015'],
    [{ input_tokens: 200_001 }, '1.202256'],
    [{ input_tokens: 200_001, service_tier: 'batch' }, '1.202256'],
    [{ cache_write_tokens: 1_000 }, '0.00525'],
    [{ cache_write_1h_tokens: 1_000 }, '0.0075'],
    [{ cache_write_1h_tokens: 400, cache_write_tokens: 400, cached_input_tokens: 100 }, '0.00573'],
    [{ cache_write_1h_tokens: 1_000, region: 'us' }, '0.00825'],
    [{ units: { web_search: 3 } }, '0.0345'],
    [{ units: { web_search: 3 }, region: 'us' }, '0.03495'],
    [{ units: { web_search: 0 } }, '0.0045'],
  ])('a run with %j costs %s', async (more, cost_usd) => {
    const { json } = await send('POST', '/v1/runs', { ...usage, ...more });
    expect(json).toMatchObject({
      cost_usd,
      service_tier: null,
      region: null,
      cache_write_tokens: 0,
      cache_write_1h_tokens: 0,
      units: {},
      ...more,
    });
    expect((await send('GET', `/v1/runs/${json.id}`)).json).toEqual(json);
  });

  test('states units that have a price, or its cost', async () => {
    const unpriced = { ...usage, units: { web_search: 1, page: 2, 'tool:x': 1 } };
    expect(faultsOf(await send('POST', '/v1/runs', unpriced))).toEqual([
      'units.page invalid_value',
      'units.tool:x invalid_value',
    ]);
    const { json } = await send('POST', '/v1/runs', { ...unpriced, cost_usd: '1' });
    expect(json).toMatchObject({ cost_usd: '1', units: unpriced.units, price_version: null });
  });

  test.each([
    [{ service_tier: 'Batch' }, 'service_tier invalid_format'],
    [{ region: '' }, 'region invalid_format'],
    [{ units: { web_search: 0.5 } }, 'units.web_search invalid_type'],
    [{ units: { web_search: -1 } }, 'units.web_search out_of_range'],
    [{ units: [] }, 'units invalid_type'],
    [{ cache_write_1h_tokens: 600, cached_input_tokens: 500 }, 'cache_write_1h_tokens out_of_range'],
  ])('a run with %j is rejected', async (more, fault) => {
    expect(faultsOf(await send('POST', '/v1/runs', { ...usage, ...more }))).toContain(fault);
  });

  test('a run of a model that is charged by units alone needs units', async () => {
    expect(faultsOf(await send('POST', '/v1/runs', { model: 'by-second', input_tokens: 9 }))).toEqual([
      'units required',
    ]);
    const { json } = await send('POST', '/v1/runs', { model: 'by-second', units: { second: 90 } });
    expect(json.cost_usd).toBe('0.009');
    expect((await send('POST', '/v1/runs', { model: 'by-second', cost_usd: '2' })).json.cost_usd).toBe('2');
  });

  test('a run is the same run as another only with the same service', async () => {
    const body = { ...usage, external_id: 'once', service_tier: 'batch', units: { web_search: 1 } };
    const { json } = await send('POST', '/v1/runs', body);
    expect((await send('POST', '/v1/runs', body)).json.id).toBe(json.id);
    expect((await send('POST', '/v1/runs', { ...body, service_tier: 'flex' })).status).toBe(409);
    expect((await send('POST', '/v1/runs', { ...body, units: { web_search: 2 } })).status).toBe(409);
  });

  test('a run in bulk is charged like a single one, and names the index of a unit without a price', async () => {
    const runs = [
      { ...usage, service_tier: 'batch' },
      { ...usage, units: { page: 1 } },
    ];
    expect(faultsOf(await send('POST', '/v1/runs/bulk', { runs }))).toEqual([
      'runs[1].units.page invalid_value',
    ]);
    const { json } = await send('POST', '/v1/runs/bulk', { runs: runs.slice(0, 1) });
    const read = await send('GET', `/v1/runs/${json.runs[0].id}`);
    expect(read.json).toMatchObject({ cost_usd: '0.00225', service_tier: 'batch' });
  });

  test('a run counts one-hour writes as cache writes in usage', async () => {
    const before = (await send('GET', `/v1/orgs/${org.id}/usage`)).json.total.cache_write_tokens;
    await send('POST', '/v1/runs', { ...usage, cache_write_tokens: 100, cache_write_1h_tokens: 200 });
    const after = (await send('GET', `/v1/orgs/${org.id}/usage`)).json.total.cache_write_tokens;
    expect(after - before).toBe(300);
  });
});

describe('a run in progress', () => {
  const running = { model: 'served', status: 'running', input_tokens: 1_000, max_output_tokens: 100 };

  test('holds the worst case of its service, and keeps it unless its completion states another', async () => {
    const opened = await send('POST', '/v1/runs', {
      ...running,
      service_tier: 'batch',
      region: 'us',
      cache_write_1h_tokens: 500,
      units: { web_search: 2 },
    });
    // 500 × 4.125 + 500 × 6.6 + 100 × 8.25 millionths, and two searches
    expect(opened.json).toMatchObject({ held_usd: '0.0261875', cache_write_1h_tokens: 500 });
    const completed = await send('POST', `/v1/runs/${opened.json.id}/complete`, { output_tokens: 100 });
    // 500 × 1.65 + 500 × 6.6 + 100 × 8.25
    expect(completed.json).toMatchObject({
      cost_usd: '0.02495',
      service_tier: 'batch',
      region: 'us',
      cache_write_tokens: 0,
      cache_write_1h_tokens: 500,
      units: { web_search: 2 },
      marks: [],
    });
    const other = await send('POST', '/v1/runs', {
      ...running,
      service_tier: 'batch',
      units: { web_search: 2 },
    });
    const stated = { output_tokens: 100, service_tier: 'default', units: { web_search: 1 } };
    expect((await send('POST', `/v1/runs/${other.json.id}/complete`, stated)).json).toMatchObject({
      cost_usd: '0.0145',
      service_tier: 'default',
      units: { web_search: 1 },
    });
  });

  test('holds the higher rates if its input may exceed a threshold', async () => {
    const { json } = await send('POST', '/v1/runs', { ...running, input_tokens: 200_001 });
    // 200001 × 6 + 100 × 22.5 millionths
    expect(json.held_usd).toBe('1.202256');
  });

  test('a run in progress is posted as held if a unit has no price, and can be repriced once it has one', async () => {
    const { json: run } = await send('POST', '/v1/runs', running);
    const completed = await send('POST', `/v1/runs/${run.id}/complete`, {
      output_tokens: 10,
      units: { file: 2 },
    });
    expect(completed.json).toMatchObject({ cost_usd: run.held_usd, marks: ['unpriced'], units: { file: 2 } });
    expect(faultsOf(await send('POST', `/v1/runs/${run.id}/reprice`, {}))).toEqual([
      'units.file invalid_value',
    ]);
    const { json: listed } = await world.request('GET', '/v1/admin/models/served', {
      key: world.operatorKey,
    });
    const { modifiers, input_usd_per_million, output_usd_per_million } = listed;
    world.clock.advanceSeconds(1);
    await price('served', {
      input_usd_per_million,
      output_usd_per_million,
      cache_write_usd_per_million: listed.cache_write_usd_per_million,
      cached_input_usd_per_million: listed.cached_input_usd_per_million,
      modifiers,
      units: { ...listed.units, file: '0.5' },
    });
    const repriced = await send('POST', `/v1/runs/${run.id}/reprice`, {});
    expect(repriced.status).toBe(201);
    const { cost_usd, adjustment_usd } = repriced.json.run;
    expect(Number(cost_usd) + Number(adjustment_usd)).toBeCloseTo(1.00315, 9);
  });
});

test('a run with a unit without a price costs at least what its tokens and other units cost', async () => {
  const { json: run } = await send('POST', '/v1/runs', {
    model: 'served',
    status: 'running',
    input_tokens: 1_000,
    max_output_tokens: 100,
  });
  const { json } = await send('POST', `/v1/runs/${run.id}/complete`, {
    output_tokens: 1_000,
    units: { web_search: 1, page: 2 },
  });
  // 1000 × 3 + 1000 × 15 millionths, and a search
  expect(json).toMatchObject({ cost_usd: '0.028', marks: expect.arrayContaining(['unpriced']) });
});

describe('a decision', () => {
  const decide = (more: object) => send('POST', '/v1/edge/decision', { ...decided, ...more });
  const decided = { model: 'served', input_tokens: 1_000, max_output_tokens: 100 };
  const settle = async (decision_id: string, more: object = {}) =>
    (await send('POST', '/v1/runs', { ...usage, decision_id, ...more })).json;

  test('a decision is settled by its tier and region unless the run states others', async () => {
    const { json: one } = await decide({ service_tier: 'batch', region: 'us' });
    expect(one.held_usd).toBe('0.00495');
    expect(await settle(one.decision_id)).toMatchObject({
      cost_usd: '0.002475',
      service_tier: 'batch',
      region: 'us',
      marks: [],
    });
    const { json: other } = await decide({ service_tier: 'batch' });
    expect(await settle(other.decision_id, { service_tier: 'standard' })).toMatchObject({
      cost_usd: '0.0045',
      service_tier: 'standard',
    });
  });

  test('a decision is never rejected when it is settled, whatever its units', async () => {
    const { json } = await decide({});
    const run = await settle(json.decision_id, { units: { nothing: 1 } });
    expect(run).toMatchObject({ cost_usd: json.held_usd, marks: ['unpriced'] });
    const { json: timed } = await decide({ model: 'by-second', units: { second: 100 } });
    expect(timed.held_usd).toBe('0.01');
    const missing = await settle(timed.decision_id, { model: 'by-second' });
    expect(missing).toMatchObject({ cost_usd: '0.01', marks: ['usage_missing'] });
  });
});
