/** The hold and the cost of a call depend on its service: tier, region, cache and searches, as requested and as reported. */
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, type GatewayWorld, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();
let usual: Pick<GatewayWorld, 'connections' | 'settings'>;

const served = {
  input_usd_per_million: '1',
  output_usd_per_million: '10',
  modifiers: [
    { tier: 'flex', multiplier: '0.5' },
    { tier: 'priority', multiplier: '2' },
    { tier: 'fast', multiplier: '3' },
    { region: 'us', multiplier: '1.1' },
    { cache_write_ttl: '1h', cache_write_usd_per_million: '2' },
  ],
  units: { web_search: '0.025' },
};

beforeAll(async () => {
  usual = { connections: gateway.connections, settings: gateway.settings };
  for (const [model, provider] of [
    ['served', 'openai'],
    ['gpt-4o-search-preview', 'openai'],
    ['claude-served', 'anthropic'],
  ]) {
    const { status } = await gateway.world.request('PUT', `/v1/admin/models/${model}`, {
      key: gateway.world.operatorKey,
      body: { provider, ...served },
    });
    expect(status).toBeLessThan(300);
  }
});
beforeEach(() => {
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.requests.length = 0;
});
afterEach(async () => {
  Object.assign(gateway, usual);
  gateway.provider.fault = undefined;
  await eventually(async () => expect(await gateway.holds()).toBe(0));
});

const messages = [{ role: 'user', content: 'Say hello to the world' }];

async function post(path: string, body: object): Promise<Response> {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages, max_tokens: 100, ...body }),
  });
  expect(response.status).toBe(200);
  return response;
}

/** The provider answers with this body. Returns what was held and what was charged. */
async function call(path: string, body: object, answer: object): Promise<{ held: number; cost: number }> {
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.fault = () => ({ status: 200, body: JSON.stringify(answer) });
  const response = await post(path, body);
  const [run] = await gateway.runs();
  return { held: Number(response.headers.get('x-svc-held-usd')), cost: Number(run?.cost_usd) };
}

const chat = '/openai/v1/chat/completions';
const answered = { usage: { prompt_tokens: 10, completion_tokens: 100 } };
const flat = 0.00101;

test('a cheaper tier is held at the usual rates, and charged only if the response reports it', async () => {
  const { held: usualHeld } = await call(chat, { model: 'served', service_tier: 'scale' }, answered);
  const flex = { model: 'served', service_tier: 'flex' };
  const reported = await call(chat, flex, { ...answered, service_tier: 'flex' });
  expect(reported).toEqual({ held: usualHeld, cost: flat / 2 });
  expect((await call(chat, flex, { ...answered, service_tier: 'default' })).cost).toBe(flat);
  expect((await call(chat, flex, answered)).cost).toBe(flat);
});

test('a more expensive tier is held, and charged unless the response reports another one', async () => {
  const { held: usualHeld } = await call(chat, { model: 'served', service_tier: 'scale' }, answered);
  const priority = { model: 'served', service_tier: 'priority' };
  expect(await call(chat, priority, answered)).toEqual({ held: usualHeld * 2, cost: flat * 2 });
  expect((await call(chat, priority, { ...answered, service_tier: 'default' })).cost).toBe(flat);
});

test.each([
  ['auto', 1],
  ['turbo', 1.5],
])('the tier %s is held as the most expensive one, and charged as reported', async (tier, factor) => {
  const { held } = await call(chat, { model: 'served', service_tier: 'priority' }, answered);
  const body = { model: 'served', service_tier: tier };
  const chosen = await call(chat, body, { ...answered, service_tier: 'default' });
  expect(chosen.cost).toBe(flat);
  expect(chosen.held).toBeCloseTo(held * factor, 4);
  expect((await call(chat, body, { ...answered, service_tier: 'priority' })).cost).toBe(flat * 2);
});

const claude = '/anthropic/v1/messages';
const reply = { usage: { input_tokens: 10, output_tokens: 100 } };

test('each attempt of a call is priced by the length of its own input', async () => {
  await gateway.world.request('PUT', '/v1/admin/models/long-served', {
    key: gateway.world.operatorKey,
    body: {
      provider: 'openai',
      ...served,
      modifiers: [{ above_input_tokens: 150, input_usd_per_million: '2', output_usd_per_million: '20' }],
    },
  });
  gateway.world.clock.advanceSeconds(1);
  const body = JSON.stringify({ usage: { prompt_tokens: 100, completion_tokens: 10 } });
  const statuses = [500, 200];
  gateway.provider.fault = () => ({ status: statuses.shift() ?? 200, body });
  await post(chat, { model: 'long-served' });
  const [run] = await gateway.runs();
  expect(run).toMatchObject({ input_tokens: 200, output_tokens: 20, cost_usd: '0.0004' });
});

test('the fast mode and the place of inference of Claude are held as requested and charged as reported', async () => {
  // All names and texts of a body count, so that it has as many.
  const usual = { model: 'claude-served', speed: 'slow', inference_geo: 'eu' };
  const { held: usualHeld } = await call(claude, usual, reply);
  const requested = { model: 'claude-served', speed: 'fast', inference_geo: 'us' };
  const usage = { ...reply.usage, speed: 'fast', inference_geo: 'us', service_tier: 'standard' };
  const fast = await call(claude, requested, { usage });
  expect(fast.held).toBeCloseTo(usualHeld * 3.3, 9);
  expect(fast.cost).toBeCloseTo(flat * 3.3, 9);
});

test('a cache for an hour is held at its rate', async () => {
  const system = [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral', ttl: '1h' } }];
  const once = { type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral', ttl: '5m' } };
  const short = await call(claude, { model: 'claude-served', system: [once] }, reply);
  const long = await call(claude, { model: 'claude-served', system }, reply);
  // All of the input may be written to the cache, at twice its rate.
  expect(long.held - 0.001).toBeCloseTo((short.held - 0.001) * 2, 9);
  expect(long.cost).toBe(flat);
});

test.each(['1h', '5m'])(
  'input that a cache for %s may have is charged so if its usage is unknown',
  async (ttl) => {
    const system = [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral', ttl } }];
    const { held, cost } = await call(claude, { model: 'claude-served', system }, {});
    expect(cost).toBeCloseTo(held, 9);
  },
);

test('a cache for an hour is held at its rate, however its name is written', async () => {
  const system = [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral', ttl: '1h' } }];
  const { held } = await call(claude, { model: 'claude-served', system }, reply);
  const body = JSON.stringify({ messages, max_tokens: 100, model: 'claude-served', system });
  for (const ttl of ['\\u0031h', '1\\u0068', '\\u0031\\u0068']) {
    const response = await fetch(gateway.url + claude, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: body.replace('"1h"', `"${ttl}"`),
    });
    expect(Number(response.headers.get('x-svc-held-usd'))).toBeGreaterThanOrEqual(held);
  }
});

test('a call of a model without a price is charged at the policy of its admission', async () => {
  const setPolicy = (body: object) =>
    gateway.world.request('PUT', `/v1/orgs/${gateway.org.id}/unpriced-policy`, {
      key: gateway.org.ownerKey,
      body,
    });
  const rates = { input_usd_per_million: '10', output_usd_per_million: '30' };
  expect((await setPolicy({ on_unpriced: 'hold_default', ...rates })).status).toBe(200);
  gateway.provider.fault = () => ({ status: 200, body: JSON.stringify(answered) });
  let change: Promise<unknown> | undefined;
  gateway.provider.beforeAnswer = async () => {
    change = setPolicy({ on_unpriced: 'record' });
    await change;
  };
  await post(chat, { model: 'model-without-price' });
  gateway.provider.beforeAnswer = undefined;
  expect(change).toBeDefined();
  const [run] = await gateway.runs();
  expect(Number(run?.cost_usd)).toBeCloseTo(10 * 0.00001 + 100 * 0.00003, 9);
});

test('the search of a model that searches once for each call is held and charged', async () => {
  const model = 'gpt-4o-search-preview';
  const { held, cost } = await call(chat, { model }, { model, ...answered });
  expect(held).toBeGreaterThan(0.026);
  expect(cost).toBeCloseTo(0.025 + flat, 9);
});

test('hold: expected and fit lower the maximum of a stream that hides its reasoning', async () => {
  gateway.settings = { ...usual.settings, hold: 'expected', onLimit: 'fit' };
  await gateway.capAbove(0.05);
  const thinking = { type: 'enabled', budget_tokens: 1_024 };
  const response = await post(claude, { model: 'claude-test', max_tokens: 32_000, stream: true, thinking });
  await response.text();
  const sent = JSON.parse(gateway.provider.requests[0]?.text ?? '{}');
  expect(sent.max_tokens).toBeLessThan(5_000);
  expect(response.headers.get('x-svc-fitted-max-tokens')).toBe(String(sent.max_tokens));
  await gateway.cap('100');
});

test('a redirect of the provider costs nothing', async () => {
  gateway.provider.fault = () => ({ status: 301, body: '' });
  gateway.connections = [connectionTo(gateway.provider.url)];
  await fetch(gateway.url + chat, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages, max_tokens: 100, model: 'served' }),
  });
  const [run] = await gateway.runs();
  expect([run?.status, run?.cost_usd]).toEqual(['failed', '0']);
});
