/** The provider of a call is that of the connection that served it, and its price is that of the model there. */
import OpenAI from 'openai';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { useFixture } from '../../test/support/fixtures.ts';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { startMockProvider } from '../../test/support/mock-provider.ts';
import { calledAtOf } from '../capabilities/integration/connections/index.ts';
import { formatUsd, parseUsd } from '../kernel/money.ts';

const second = useFixture(startMockProvider);
const gateway = useGatewayWorld();
let openai: OpenAI;

beforeAll(async () => {
  openai = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key, maxRetries: 0 });
  await listed('gpt-hosted', '1', '10');
  await listed('azure/gpt-hosted', '2', '20');
  await listed('groq/oss-hosted', '3', '30');
});
beforeEach(() => {
  for (const provider of [gateway.provider, second]) {
    provider.fault = undefined;
    provider.requests.length = 0;
    provider.bill.length = 0;
  }
});
afterEach(() => eventually(async () => expect(await gateway.holds()).toBe(0)));

async function listed(model: string, input: string, output: string): Promise<void> {
  const { status } = await gateway.world.request('PUT', `/v1/admin/models/${encodeURIComponent(model)}`, {
    key: gateway.world.operatorKey,
    body: {
      provider: 'in-the-list',
      input_usd_per_million: input,
      output_usd_per_million: output,
      follows_updates: true,
    },
  });
  expect(status).toBe(200);
}

const place = (url: string) => ({ calledAt: calledAtOf({ kind: 'openai_compatible', baseUrl: url }) });
const azure = (url: string, more: object = {}) =>
  connectionTo(url, 'azure_openai', { baseUrl: `${url}/openai/v1`, ...more });

async function call(model: string) {
  // The last run is the newest.
  gateway.world.clock.advanceSeconds(1);
  const messages = [{ role: 'user' as const, content: 'Say hello' }];
  const { response } = await openai.chat.completions.create({ model, messages }).withResponse();
  const run = await eventually(async () => {
    expect(await gateway.holds()).toBe(0);
    return (await gateway.runs())[0];
  });
  return { run, held: response.headers.get('x-svc-held-usd') };
}

/** The bill of the last call, at dollars per million tokens. */
function billed(input: bigint, output: bigint, { bill } = gateway.provider): string {
  const { inputTokens, outputTokens } = bill.at(-1) as (typeof bill)[number];
  return formatUsd((BigInt(inputTokens) * input + BigInt(outputTokens) * output) * 1_000n);
}

describe('a call', () => {
  test.each([
    ['openai', 'gpt-hosted', 'openai', [1n, 10n]],
    ['azure_openai', 'gpt-hosted', 'azure_openai', [2n, 20n]],
    ['azure_openai', 'gpt-test', 'azure_openai', [1n, 10n]],
  ] as const)('through a connection of the kind %s has its provider and price', async (...given) => {
    const [kind, model, provider, [input, output]] = given;
    const { url } = gateway.provider;
    gateway.connections = [kind === 'openai' ? connectionTo(url) : azure(url)];
    const { run } = await call(model);
    expect(run).toMatchObject({ provider, cost_usd: billed(input, output), marks: [] });
  });

  test('through a compatible connection has the provider of its host', async () => {
    const at = place('https://api.groq.com/openai/v1');
    gateway.connections = [connectionTo(gateway.provider.url, 'openai_compatible', at)];
    const { run } = await call('oss-hosted');
    expect(run).toMatchObject({
      provider: 'groq',
      priced_as: 'groq/oss-hosted',
      cost_usd: billed(3n, 30n),
    });
  });

  test('through a host that is not known has the provider of the list, or else the name of the connection', async () => {
    const at = { ...place('https://models.example.com/v1'), name: 'in-house' };
    gateway.connections = [connectionTo(gateway.provider.url, 'openai_compatible', at)];
    expect((await call('gpt-hosted')).run).toMatchObject({ provider: 'in-the-list' });
    await gateway.world.request('PUT', `/v1/admin/models/own-model`, {
      key: gateway.world.operatorKey,
      body: { provider: null, input_usd_per_million: '1' },
    });
    expect((await call('own-model')).run).toMatchObject({ provider: 'in-house' });
  });

  test('a call that another provider may serve is held at the most expensive price, and charged where it was served', async () => {
    gateway.connections = [
      azure(gateway.provider.url, { id: 'con_azure' }),
      connectionTo(second.url, 'openai', { id: 'con_openai' }),
    ];
    const first = await call('gpt-hosted');
    expect(first.run).toMatchObject({ provider: 'azure_openai', cost_usd: billed(2n, 20n) });
    gateway.connections = [...gateway.connections].reverse();
    const cheap = await call('gpt-hosted');
    expect(cheap.held).toBe(first.held);
    expect(cheap.run).toMatchObject({ provider: 'openai', cost_usd: billed(1n, 10n, second) });
  });

  test('a call that fails over has the provider that answered, also in the budgets of providers', async () => {
    const path = `/v1/orgs/${gateway.org.id}`;
    const send = (method: string, url: string, body?: object) =>
      gateway.world.request(method, path + url, { key: gateway.org.ownerKey, ...(body && { body }) });
    for (const provider of ['azure_openai', 'openai']) {
      const budget = {
        name: provider,
        scope_kind: 'provider',
        scope_id: provider,
        period: 'month',
        limit_usd: '10',
      };
      expect((await send('POST', '/budgets', budget)).status).toBe(201);
    }
    const spent = async () => {
      const { json } = await send('GET', '/limits?kind=budget');
      return Object.fromEntries(
        json.data.map((one: { name: string; standing: { settled: string; held: string } }) => {
          expect(one.standing.held).toBe('0');
          return [one.name, parseUsd(one.standing.settled)];
        }),
      );
    };
    gateway.connections = [
      azure(gateway.provider.url, { id: 'con_azure' }),
      connectionTo(second.url, 'openai', { id: 'con_openai' }),
    ];
    gateway.provider.fault = () => ({ status: 503 });
    const before = await spent();
    const { run } = await call('gpt-hosted');
    expect(run).toMatchObject({ provider: 'openai', cost_usd: billed(1n, 10n, second) });
    const after = await spent();
    expect(after.azure_openai).toEqual(before.azure_openai);
    expect(after.openai - before.openai).toBe(parseUsd(run?.cost_usd ?? ''));
    expect(run?.cost_usd).not.toBe('0');
  });
});
