import { setTimeout } from 'node:timers/promises';
import OpenAI from 'openai';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();
let openai: OpenAI;

beforeAll(async () => {
  openai = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key, maxRetries: 0 });
  await gateway.world.request('PUT', '/v1/admin/models/gpt-cheap', {
    key: gateway.world.operatorKey,
    body: { provider: 'openai', input_usd_per_million: '0.1', output_usd_per_million: '1' },
  });
  const put = await gateway.world.request('PUT', `/v1/orgs/${gateway.org.id}/routing-policy`, {
    key: gateway.org.ownerKey,
    body: {
      candidates: ['gpt-test', 'gpt-cheap'],
      suite: 'any',
      min_score: 0,
      max_age_days: 30,
      objective: 'cost',
      fallbacks: ['gpt-cheap', 'gpt-test'],
    },
  });
  expect([put.status, put.text]).toEqual([200, put.text]);
});
beforeEach(() => {
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.requests.length = 0;
  gateway.provider.outputOf = () => 5;
});

const messages = [{ role: 'user' as const, content: 'Say hello to the world' }];

async function lastRun() {
  const [run] = await gateway.runs();
  return run;
}

test('purser/auto is replaced by the model that the routing policy chooses', async () => {
  const { response } = await openai.chat.completions
    .create({ model: 'purser/auto', messages })
    .withResponse();
  expect(response.headers.get('x-svc-model')).toBe('gpt-cheap');
  expect(JSON.parse(gateway.provider.requests[0]?.text ?? '')).toMatchObject({
    model: 'gpt-cheap',
    messages,
  });
  expect(await lastRun()).toMatchObject({ model: 'gpt-cheap', output_tokens: 5 });
});

test('fallback takes the next cheaper model that fits, and refuses if none does', async () => {
  await gateway.cap('0.005');
  const call = () =>
    openai.chat.completions
      .create({ model: 'gpt-test', messages }, { headers: { 'x-svc-on-limit': 'fallback' } })
      .withResponse();
  const { response } = await call();
  expect(response.headers.get('x-svc-model')).toBe('gpt-cheap');
  expect(await lastRun()).toMatchObject({ model: 'gpt-cheap' });
  await gateway.cap('0.00001');
  await expect(call()).rejects.toMatchObject({ status: 402, code: 'spend_cap_exceeded' });
  await gateway.cap('1000');
});

async function stream(): Promise<{ text: string; held: string | null }> {
  const response = await fetch(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-test', stream: true, max_tokens: 8_000, messages }),
  });
  return { text: await response.text(), held: response.headers.get('x-svc-held-usd') };
}

test('hold: expected holds the usual output, increases while it streams, and ends the stream if that is denied', async () => {
  gateway.settings = { ...gateway.settings, hold: 'expected' };
  for (let call = 0; call < 20; call += 1) {
    await stream();
  }
  const usual = await stream();
  expect(Number(usual.held)).toBeLessThan(0.01);
  // Longer than expected: the hold grows to the actual output, and the run is exact.
  gateway.provider.outputOf = () => 2_000;
  gateway.world.clock.advanceSeconds(1);
  const long = await stream();
  expect(long.text).toContain('[DONE]');
  expect(await lastRun()).toMatchObject({ output_tokens: 2_000, status: 'succeeded', marks: [] });
  // A cap that allows little more than the first hold.
  await gateway.capAbove(0.02);
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.bill.length = 0;
  // Sent as it is generated, because all that a provider has sent is charged.
  gateway.provider.beforeChunk = () => setTimeout(1);
  const cut = await stream();
  gateway.provider.beforeChunk = undefined;
  expect(cut.text).toContain('"finish_reason":"length"');
  expect(cut.text.endsWith('data: [DONE]\n\n')).toBe(true);
  const run = await lastRun();
  expect(run?.marks).toContain('truncated');
  expect(run?.output_tokens).toBeLessThan(2_000);
  expect(run?.output_tokens).toBeGreaterThanOrEqual(gateway.provider.bill[0]?.outputTokens as number);
});

test('hold: paced falls back to a cheaper model whose hold fits and follows its own call', async () => {
  const before = gateway.settings;
  gateway.settings = { ...before, hold: 'paced' };
  // Less than the first hold of the requested model, and more than that of the cheaper one with what running calls need next.
  await gateway.capAbove(0.025);
  const allowed = (await gateway.spentNanos()) + 25_000_000n;
  const response = await fetch(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.key}`,
      'content-type': 'application/json',
      'x-svc-on-limit': 'fallback',
    },
    body: JSON.stringify({ model: 'gpt-test', stream: true, max_tokens: 100_000, messages }),
  });
  expect([response.status, response.headers.get('x-svc-model')]).toEqual([200, 'gpt-cheap']);
  expect(await response.text()).toContain('[DONE]');
  expect(await lastRun()).toMatchObject({ model: 'gpt-cheap', output_tokens: 5, marks: [] });
  expect(await gateway.spentNanos()).toBeLessThanOrEqual(allowed);
  gateway.settings = before;
});

test('x-svc-max-cost-usd falls back to a cheaper model, and is a denial if none is cheap enough', async () => {
  await gateway.cap('100');
  const call = (model: string, maxCost: string, onLimit: string) =>
    openai.chat.completions
      .create(
        { model, messages, max_tokens: 100 },
        { headers: { 'x-svc-max-cost-usd': maxCost, 'x-svc-on-limit': onLimit } },
      )
      .withResponse();
  const { response } = await call('gpt-test', '0.0005', 'fallback');
  expect(response.headers.get('x-svc-model')).toBe('gpt-cheap');
  for (const [model, onLimit] of [
    ['gpt-test', 'fallback'],
    ['purser/auto', 'refuse'],
  ] as const) {
    await expect(call(model, '0.00001', onLimit)).rejects.toMatchObject({
      status: 402,
      code: 'max_cost_exceeded',
    });
  }
});

test('x-svc-fitted-max-tokens names the maximum that x-svc-max-cost-usd allows', async () => {
  const { response } = await openai.chat.completions
    .create(
      { model: 'gpt-test', messages, max_tokens: 1_000 },
      { headers: { 'x-svc-max-cost-usd': '0.005', 'x-svc-on-limit': 'fit' } },
    )
    .withResponse();
  const sent = JSON.parse(gateway.provider.requests[0]?.text ?? '{}');
  expect(sent.max_tokens).toBeLessThan(1_000);
  expect(response.headers.get('x-svc-fitted-max-tokens')).toBe(String(sent.max_tokens));
});
