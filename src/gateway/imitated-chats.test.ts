/** Chat completions at providers that serve them for models of their own. */
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, expectBilled, useGatewayWorld } from '../../test/support/gateway-world.ts';
import type { ConnectionKind } from '../capabilities/integration/connections/index.ts';
import type { Fields } from '../kernel/providers/fields.ts';

const gateway = useGatewayWorld();
const messages = [{ role: 'user', content: 'Say hello' }];
const account = '/projects/test-project/locations/europe-west1';

beforeAll(async () => {
  for (const model of ['claude-cheap', 'gemini-cheap']) {
    const { status } = await gateway.world.request('PUT', `/v1/admin/models/${model}`, {
      key: gateway.world.operatorKey,
      body: { provider: 'any', input_usd_per_million: '0.1', output_usd_per_million: '1' },
    });
    expect(status).toBeLessThan(300);
  }
});
beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.requests.length = 0;
  gateway.provider.bill.length = 0;
  gateway.provider.usageMembers = {};
  gateway.provider.fault = undefined;
  await gateway.cap('1000');
});

function post(body: Fields, headers: Record<string, string> = {}) {
  return fetch(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ messages, ...body }),
  });
}

const received = () => JSON.parse(gateway.provider.requests[0]?.text ?? '') as Fields;

async function lastRuns() {
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  return (await gateway.runs()).slice(0, 1);
}

test.each<[ConnectionKind, string, string, string]>([
  ['anthropic', 'claude-test', 'claude-test', '/v1/chat/completions'],
  ['anthropic', 'anthropic/claude-test', 'claude-test', '/v1/chat/completions'],
  ['gemini', 'gemini-test', 'gemini-test', '/v1beta/openai/chat/completions'],
  ['gemini', 'google/gemini-test', 'gemini-test', '/v1beta/openai/chat/completions'],
  ['vertex', 'gemini-test', 'google/gemini-test', `/v1${account}/endpoints/openapi/chat/completions`],
  ['vertex', 'google/gemini-test', 'google/gemini-test', `/v1${account}/endpoints/openapi/chat/completions`],
])('a connection to %s serves a chat with %s as %s', async (kind, model, sent, url) => {
  gateway.connections = [connectionTo(gateway.provider.url, kind)];
  for (const stream of [undefined, true]) {
    gateway.provider.requests.length = 0;
    gateway.provider.bill.length = 0;
    gateway.world.clock.advanceSeconds(1);
    const response = await post({ model, stream, max_completion_tokens: 60 });
    expect(response.status).toBe(200);
    await response.text();
    expect(gateway.provider.requests.map((request) => request.url)).toEqual([url]);
    // The one name of the maximum that all of them document.
    expect(received()).toMatchObject({ model: sent, max_tokens: 60 });
    expect(received()).not.toHaveProperty('max_completion_tokens');
    expect(received().stream_options).toEqual(stream && { include_usage: true });
    const [run] = await lastRuns();
    expect(run).toMatchObject({ model, marks: [] });
    expect(run?.output_tokens).toBe(gateway.provider.bill[0]?.outputTokens);
  }
});

test('a chat without a maximum gets one under the documented name', async () => {
  gateway.connections = [connectionTo(gateway.provider.url, 'gemini')];
  expect((await post({ model: 'gemini-test' })).status).toBe(200);
  expect(received().max_tokens).toBe(1_000);
  expectBilled(gateway.provider, await lastRuns(), 'gemini-test');
});

test('thoughts that only the total counts are output', async () => {
  gateway.connections = [connectionTo(gateway.provider.url, 'gemini')];
  gateway.provider.usageMembers = { total_tokens: 500 };
  expect((await post({ model: 'gemini-test', max_tokens: 600 })).status).toBe(200);
  const [run] = await lastRuns();
  const inputTokens = gateway.provider.bill[0]?.inputTokens ?? 0;
  expect(run).toMatchObject({ input_tokens: inputTokens, output_tokens: 500 - inputTokens, marks: [] });
});

test.each<Fields>([
  { extra_body: { google: { cached_content: 'cachedContents/1' } } },
  { google: { cached_content: 'cachedContents/1' } },
])('searches that cached content may offer are held and charged: %j', async (more) => {
  gateway.connections = [connectionTo(gateway.provider.url, 'vertex')];
  const put = await gateway.world.request('PUT', '/v1/admin/models/gemini-search', {
    key: gateway.world.operatorKey,
    body: {
      provider: 'google',
      input_usd_per_million: '1',
      output_usd_per_million: '10',
      context_tokens: 10_000,
      units: { web_search: '0.014' },
    },
  });
  expect(put.status).toBeLessThan(300);
  const response = await post({ model: 'gemini-search', max_tokens: 60, ...more });
  expect(response.status).toBe(200);
  await response.text();
  const [run] = await lastRuns();
  // A chat does not show its searches.
  expect(Number(run?.cost_usd)).toBeGreaterThanOrEqual(0.14);
  expect(Number(response.headers.get('x-svc-held-usd'))).toBeGreaterThanOrEqual(Number(run?.cost_usd));
});

test('a fallback and `purser/auto` go from one provider to another', async () => {
  const { provider } = gateway;
  gateway.connections = [connectionTo(provider.url, 'anthropic'), connectionTo(provider.url, 'gemini')];
  const candidates = ['gemini-cheap', 'claude-test'];
  const policy = {
    candidates,
    suite: 'any',
    min_score: 0,
    max_age_days: 30,
    objective: 'cost',
    fallbacks: candidates,
  };
  const put = await gateway.world.request('PUT', `/v1/orgs/${gateway.org.id}/routing-policy`, {
    key: gateway.org.ownerKey,
    body: policy,
  });
  expect(put.status).toBe(200);
  const auto = await post({ model: 'purser/auto', max_tokens: 60 });
  expect([auto.status, auto.headers.get('x-svc-model')]).toEqual([200, 'gemini-cheap']);
  provider.requests.length = 0;
  gateway.world.clock.advanceSeconds(1);
  await gateway.capAbove(0.005);
  const fallback = await post({ model: 'claude-test', max_tokens: 1_000 }, { 'x-svc-on-limit': 'fallback' });
  expect([fallback.status, fallback.headers.get('x-svc-model')]).toEqual([200, 'gemini-cheap']);
});
