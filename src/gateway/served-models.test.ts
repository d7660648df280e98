/** A call is priced by the model that its response names, and counted as the model that was called. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, type GatewayWorld, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { formatUsd, parseUsd } from '../kernel/money.ts';

const gateway = useGatewayWorld();
let usual: GatewayWorld['connections'];

beforeAll(async () => {
  usual = gateway.connections;
  await price('served-big', '10', '100');
  gateway.provider.outputOf = () => 30;
});
beforeEach(() => gateway.world.clock.advanceSeconds(1));
afterEach(async () => {
  gateway.connections = usual;
  Object.assign(gateway.provider, {
    reportedModel: undefined,
    beforeAnswer: undefined,
    beforeChunk: undefined,
  });
  await eventually(async () => expect(await gateway.holds()).toBe(0));
});

async function price(model: string, input: string, output: string, more: object = {}): Promise<void> {
  const { status } = await gateway.world.request('PUT', `/v1/admin/models/${model}`, {
    key: gateway.world.operatorKey,
    body: { provider: 'openai', input_usd_per_million: input, output_usd_per_million: output, ...more },
  });
  expect(status).toBeLessThan(300);
}

const messages = [{ role: 'user', content: 'Say hello to the world' }];
const calls = {
  chat: ['/openai/v1/chat/completions', { model: 'gpt-test', messages, max_tokens: 100 }],
  response: ['/openai/v1/responses', { model: 'gpt-test', input: 'Say hello', max_output_tokens: 100 }],
  message: ['/anthropic/v1/messages', { model: 'claude-test', messages, max_tokens: 100 }],
  embedding: ['/openai/v1/embeddings', { model: 'embed-test', input: 'Say hello' }],
} as const;

async function call(kind: keyof typeof calls, more: object = {}) {
  const [path, body] = calls[kind];
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, ...more }),
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, text]);
  return { headers: response.headers, run: await lastRun() };
}

function lastRun() {
  return eventually(async () => {
    expect(await gateway.holds()).toBe(0);
    const [run] = await gateway.runs();
    return run;
  });
}

/** The bill of the last call, at dollars per million tokens. */
function billed(input: bigint, output: bigint): string {
  const { inputTokens, outputTokens } = gateway.provider.bill.at(-1) as NonNullable<
    (typeof gateway.provider.bill)[number]
  >;
  return formatUsd((BigInt(inputTokens) * input + BigInt(outputTokens) * output) * 1_000n);
}

describe('a call that another model has served', () => {
  test.each([
    ['chat', {}, 'gpt-test'],
    ['chat', { stream: true }, 'gpt-test'],
    ['response', {}, 'gpt-test'],
    ['response', { stream: true }, 'gpt-test'],
    ['message', {}, 'claude-test'],
    ['message', { stream: true }, 'claude-test'],
    ['embedding', {}, 'embed-test'],
  ] as const)(
    'a call that another model has served is charged at the price of that model: %s %j',
    async (kind, more, model) => {
      gateway.provider.reportedModel = 'served-big';
      const { run, headers } = await call(kind, more);
      const cost_usd = billed(10n, 100n);
      expect(run).toMatchObject({ status: 'succeeded', model, served_model: 'served-big', cost_usd });
      expect(run?.marks).not.toContain('unpriced');
      if (!('stream' in more)) {
        expect(headers.get('x-svc-cost-usd')).toBe(cost_usd);
      }
    },
  );

  test('a call that another model has served counts in the limits and the usage of the model that was called', async () => {
    const path = `/v1/orgs/${gateway.org.id}`;
    const send = (method: string, url: string, body?: object) =>
      gateway.world.request(method, url, { key: gateway.org.ownerKey, ...(body && { body }) });
    for (const model of ['gpt-test', 'served-big']) {
      const budget = {
        name: model,
        scope_kind: 'model',
        scope_id: model,
        period: 'month',
        limit_usd: '10',
      };
      expect((await send('POST', `${path}/budgets`, budget)).status).toBe(201);
    }
    const settled = async (): Promise<Record<string, string>> => {
      const { json } = await send('GET', `${path}/limits?kind=budget`);
      return Object.fromEntries(
        json.data.map((one: { name: string; standing: { settled: string } }) => [
          one.name,
          one.standing.settled,
        ]),
      );
    };
    const before = await settled();
    gateway.provider.reportedModel = 'served-big';
    const { run } = await call('chat');
    const after = await settled();
    const nanos = (usd: string | null | undefined) => parseUsd(usd ?? '') as bigint;
    expect(nanos(after['gpt-test']) - nanos(before['gpt-test'])).toBe(nanos(run?.cost_usd));
    expect(after['served-big']).toBe('0');
    const usage = await send('GET', `${path}/usage?group_by=model`);
    expect(usage.json.data.map((one: { model: string }) => one.model)).not.toContain('served-big');
  });

  test('a call that another model has served has the price of its hold if the name is a dated version of the model', async () => {
    gateway.provider.reportedModel = 'gpt-test-2026-08-06';
    gateway.provider.beforeAnswer = async () => {
      gateway.world.clock.advanceSeconds(1);
      await price('gpt-test', '5', '50');
    };
    const { run } = await call('chat');
    await price('gpt-test', '1', '10');
    expect(run).toMatchObject({
      model: 'gpt-test',
      served_model: 'gpt-test-2026-08-06',
      cost_usd: billed(1n, 10n),
      marks: [],
    });
  });

  test('a call that another model has served is charged as held and marked if that model has no price, and repriced once it has one', async () => {
    gateway.provider.reportedModel = 'served-unknown';
    const { run, headers } = await call('chat');
    expect(run).toMatchObject({
      served_model: 'served-unknown',
      cost_usd: headers.get('x-svc-held-usd'),
      marks: ['unpriced'],
    });
    await price('served-unknown', '20', '200');
    const repriced = await gateway.world.request('POST', `/v1/runs/${run?.id}/reprice`, {
      key: gateway.org.ownerKey,
      body: {},
    });
    expect(repriced.status).toBe(201);
    const amount = (parseUsd(billed(20n, 200n)) as bigint) - (parseUsd(run?.cost_usd ?? '') as bigint);
    expect(repriced.json.amount_usd).toBe(formatUsd(amount));
  });
});

test('a deployment of Azure is charged at the price of the model that answers', async () => {
  gateway.connections = [connectionTo(gateway.provider.url, 'azure_openai')];
  await price('team-chat', '1', '10');
  gateway.provider.reportedModel = 'served-big-2026-08-06';
  const { run } = await call('chat', { model: 'team-chat', stream: true });
  expect(run).toMatchObject({
    model: 'team-chat',
    served_model: 'served-big-2026-08-06',
    cost_usd: billed(10n, 100n),
  });
});

test.each([
  ['the same name', 'gpt-test'],
  ['no name', ''],
  ['a name that is too long', 'x'.repeat(201)],
  ['a name that cannot be stored', 'gpt\u0000test'],
])('a response with %s is charged as the model that was called', async (_, name) => {
  gateway.provider.reportedModel = name;
  const { run } = await call('chat');
  expect(run).toMatchObject({ served_model: null, cost_usd: billed(1n, 10n), marks: [] });
});

test('the first chunk of Azure, which names no model, is not taken for a name', async () => {
  gateway.provider.reportedModel = '';
  gateway.provider.beforeChunk = async () => {
    gateway.provider.reportedModel = 'served-big';
  };
  const { run } = await call('chat', { stream: true });
  expect(run).toMatchObject({ served_model: 'served-big', cost_usd: billed(10n, 100n) });
});
