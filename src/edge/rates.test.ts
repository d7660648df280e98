/** Edge decisions by tier, region, input size, one-hour cache writes and units. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createWorld, type TestOrg, type World } from '../../test/harness.ts';
import { errorSummary } from '../../test/support/limits.ts';

let world: World;
let org: TestOrg;
beforeAll(async () => {
  world = await createWorld();
  const put = (model: string, body: object) =>
    world.request('PUT', `/v1/admin/models/${model}`, { key: world.operatorKey, body });
  await put('served', {
    input_usd_per_million: '3',
    output_usd_per_million: '25',
    modifiers: [
      { tier: 'flex', input_usd_per_million: '1.5', output_usd_per_million: '12.5' },
      { above_input_tokens: 100_000, input_usd_per_million: '6', output_usd_per_million: '20' },
      { cache_write_ttl: '1h', cache_write_usd_per_million: '9' },
      { region: 'eu', multiplier: '1.1' },
    ],
    units: { web_search: '0.01' },
  });
  await put('by-page', { input_usd_per_million: '0', units: { page: '0.004' } });
});
afterAll(() => world.close());
beforeEach(async () => {
  org = await world.createOrg();
});

const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  world.request(method, path, { key: org.ownerKey, ...(body && { body }), headers });
const ask = (body: object, headers?: Record<string, string>) =>
  call(
    'POST',
    '/v1/edge/decision',
    { model: 'served', input_tokens: 1_000, max_output_tokens: 100, ...body },
    headers,
  );
const faultsOf = ({ status, json }: Awaited<ReturnType<typeof ask>>) => {
  expect(status).toBe(422);
  return json.error.details.fields.map(
    ({ field, code }: { field: string; code: string }) => `${field} ${code}`,
  );
};

describe('a decision', () => {
  test.each([
    [{}, '0.0055'],
    [{ service_tier: 'flex' }, '0.00275'],
    [{ service_tier: 'auto' }, '0.0055'],
    [{ region: 'eu' }, '0.00605'],
    [{ cache_write_1h_tokens: 500 }, '0.0085'],
    [{ units: { web_search: 2 } }, '0.0255'],
    // Output is cheaper above the threshold, and the input may turn out to be shorter.
    [{ input_tokens: 100_001 }, '0.602506'],
    [{ input_tokens: 100_000 }, '0.3025'],
    [{ model: 'by-page', units: { page: 10 } }, '0.04'],
  ])('a decision with %j holds %s, on every path', async (more, held) => {
    const fast = await ask(more);
    expect([fast.status, fast.json.held_usd, fast.json.max_output_tokens >= 100]).toEqual([200, held, true]);
    // An idempotency key takes the pipeline.
    const slow = await ask(more, { 'idempotency-key': `rates ${held}` });
    expect(slow.json).toEqual({ ...fast.json, decision_id: expect.any(String) });
  });

  test('clamps the output of a given cost by the rates of its service', async () => {
    const given = { estimated_cost_usd: '0.01', max_output_tokens: undefined };
    expect((await ask(given)).json.max_output_tokens).toBe(280);
    expect((await ask({ ...given, service_tier: 'flex' })).json.max_output_tokens).toBe(680);
    expect((await ask({ ...given, units: { web_search: 1, never: 1 } })).json.max_output_tokens).toBe(0);
  });

  test('a decision that fits counts the rates of its service, and its units', async () => {
    await call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: '1' });
    const most = async (more: object) =>
      (await ask({ fit: true, max_output_tokens: 100_000, ...more })).json.max_output_tokens;
    // 1 - 0.0015 - 0.02, divided by 0.0000125
    expect(await most({ service_tier: 'flex', units: { web_search: 2 } })).toBe(78_280);
  });

  test('a decision is increased by the rates of its service', async () => {
    const { json } = await ask({ service_tier: 'flex', region: 'eu' });
    const increased = await call('POST', `/v1/decisions/${json.decision_id}/increase`, {
      output_tokens: 1_000,
    });
    // 1000 × 13.75 millionths
    expect([json.held_usd, increased.json.held_usd]).toEqual(['0.003025', '0.016775']);
    const long = await ask({ input_tokens: 200_000 });
    const more = await call('POST', `/v1/decisions/${long.json.decision_id}/increase`, {
      output_tokens: 1_000,
    });
    // The input may turn out to be shorter, which costs 25 per million output tokens.
    expect(Number(more.json.held_usd) - Number(long.json.held_usd)).toBeCloseTo(0.025, 9);
  });

  test('keeps its service over a restart', async () => {
    const { json } = await ask({ service_tier: 'flex' });
    world = await world.restart('stop');
    const increased = await call('POST', `/v1/decisions/${json.decision_id}/increase`, {
      output_tokens: 1_000,
    });
    expect(increased.json.held_usd).toBe('0.01525');
    const run = { model: 'served', input_tokens: 1_000, output_tokens: 100, decision_id: json.decision_id };
    expect((await call('POST', '/v1/runs', run)).json).toMatchObject({
      service_tier: 'flex',
      cost_usd: '0.00275',
    });
  });

  test('names every unit without a price, and needs the units that are all that is charged', async () => {
    expect(faultsOf(await ask({ units: { page: 1, web_search: 1, second: 2 } }))).toEqual([
      'units.page invalid_value',
      'units.second invalid_value',
    ]);
    expect(faultsOf(await ask({ model: 'by-page' }))).toEqual(['units required']);
    expect(faultsOf(await ask({ cache_write_1h_tokens: 1_001 }))).toEqual([
      'cache_write_1h_tokens out_of_range',
    ]);
    expect(errorSummary(await ask({ units: { Page: 1 } }))).toEqual([
      422,
      'validation_failed',
      'units invalid_format',
    ]);
    expect((await ask({ units: { never: 1 }, estimated_cost_usd: '0.1' })).json.held_usd).toBe('0.1');
  });
});
