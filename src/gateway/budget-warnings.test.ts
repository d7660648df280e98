/** Responses say how much of the fullest limit is used before it denies a call. */
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();

afterEach(() => eventually(async () => expect(await gateway.holds()).toBe(0)));

const messages = [{ role: 'user', content: 'hello' }];
const codex = { 'user-agent': 'codex_cli_rs/0.166.0' };

async function headersOf(path: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  expect(response.status, await response.text()).toBe(200);
  return response.headers;
}

const chat = async () => {
  const headers = await headersOf('/openai/v1/chat/completions', {
    model: 'gpt-test',
    max_tokens: 50,
    messages,
  });
  return ['x-svc-budget-used-percent', 'x-svc-budget-warning'].map((name) => headers.get(name));
};

async function spend(usd: string): Promise<void> {
  const { org, world } = gateway;
  const body = { model: 'gpt-test', cost_usd: usd };
  expect((await world.request('POST', '/v1/runs', { key: org.ownerKey, body })).status).toBe(201);
}

test('responses say how much of a budget is used, and warn at 80 and at 95 percent', async () => {
  expect(await chat()).toEqual([null, null]);
  await gateway.capAbove(10);
  await spend('7.9');
  expect(await chat()).toEqual(['79', null]);
  await spend('0.1');
  expect(await chat()).toEqual(['80', '80']);
  await spend('1.5');
  expect(await chat()).toEqual(['95', '95']);
});

test('Codex gets the headers from which it warns, other clients of the same path do not', async () => {
  await gateway.capAbove(1);
  const send = (headers: Record<string, string>) =>
    headersOf('/openai/v1/responses', { model: 'gpt-test', input: 'hello', stream: true }, headers);
  const shown = await send(codex);
  expect(shown.get('x-codex-primary-used-percent')).toBe(shown.get('x-svc-budget-used-percent'));
  expect(shown.get('x-codex-primary-window-minutes')).toBe('1440');
  const resetsAt = Number(shown.get('x-codex-primary-reset-at')) * 1_000;
  expect(resetsAt - gateway.world.clock.now().getTime()).toBeGreaterThan(0);
  expect((await send({ 'user-agent': 'OpenAI/JS 6.0.0' })).get('x-codex-primary-used-percent')).toBeNull();
});
