/** Calls through `wrap` whose cost a provider states cost the same as through the gateway. */
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { connectionTo, useGatewayWorld } from '../../../test/support/gateway-world.ts';
import { createPurser, type Purser, type WrapOptions } from './node.ts';

const gateway = useGatewayWorld();
let purser: Purser;
let ways: Readonly<Record<'gateway' | 'wrap', OpenAI>>;

beforeAll(async () => {
  gateway.connections = [connectionTo(gateway.provider.url, 'openai_compatible', { name: 'router' })];
  const { secret: key } = await gateway.world.mintKey(gateway.org, 'member', ['edge:decide', 'runs:write']);
  purser = createPurser({ url: gateway.url, key, timeoutMs: 600_000, requestTimeoutMs: 600_000 });
  const direct = new OpenAI({ baseURL: `${gateway.provider.url}/v1`, apiKey: 'sk-own' });
  ways = {
    gateway: new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key }),
    wrap: purser.wrap(direct),
  };
  for (const model of ['listed', 'listed:free', 'own']) {
    await putPrice(`/v1/admin/models/${encodeURIComponent(model)}`, '1', { provider: 'router' });
  }
  await putPrice(`/v1/admin/orgs/${gateway.org.id}/prices/own`, '2', { units: { web_search: '0.01' } });
});
afterAll(() => {
  gateway.provider.usageMembers = {};
});

async function putPrice(path: string, input: string, more: object): Promise<void> {
  const body = { input_usd_per_million: input, output_usd_per_million: '10', ...more };
  const { status, json } = await gateway.world.request('PUT', path, { key: gateway.world.operatorKey, body });
  expect([status < 300, json]).toEqual([true, json]);
}

/** Returns what the run of a call has that depends on its cost. */
async function costOf(way: keyof typeof ways, model: string, usage: object, stream: boolean) {
  gateway.provider.usageMembers = usage;
  gateway.world.clock.advanceSeconds(1);
  const before = (await gateway.runs()).length;
  const request = {
    model,
    messages: [{ role: 'user' as const, content: 'Say hello to the world' }],
    max_tokens: 100,
  };
  if (stream) {
    for await (const _ of await ways[way].chat.completions.create({ ...request, stream })) {
      // Read to its end.
    }
  } else {
    await ways[way].chat.completions.create(request);
  }
  await purser.flush();
  return eventually(async () => {
    expect(await gateway.holds()).toBe(0);
    const runs = await gateway.runs();
    expect(runs).toHaveLength(before + 1);
    const { json } = await gateway.world.request('GET', `/v1/runs/${runs[0]?.id}`, {
      key: gateway.org.ownerKey,
    });
    const { cost_usd, metadata, price_source, units } = json;
    return { cost_usd, stated: metadata.stated_cost_usd, price_source, units };
  });
}

const searches = { server_tool_use: { web_search_requests: 2 } };

test.each([
  ['listed', { cost: 0.0125, is_byok: false }, 'the stated cost'],
  ['listed', { cost: 0.0125, is_byok: false, ...searches }, 'the stated cost'],
  ['listed', { cost_in_usd_ticks: 125_000_000 }, 'the stated cost'],
  ['listed', { cost: 0, is_byok: false }, 'its price'],
  ['listed:free', { cost: 0, is_byok: false }, 'the stated cost'],
  ['own', { cost: 0.0125, is_byok: false }, 'its price'],
  ['own', { cost: 0.0125, is_byok: false, ...searches }, 'its price'],
])(
  'a call of %s that states %j has through the client and the gateway: %s',
  async (model, usage, charged) => {
    for (const stream of [false, true]) {
      const run = await costOf('wrap', model, usage, stream);
      expect(run.price_source).toBe(charged === 'its price' ? 'price' : null);
      const { cost_usd, units } = await costOf('gateway', model, usage, stream);
      expect([run.cost_usd, run.units]).toEqual([cost_usd, units]);
    }
  },
);

test('a stated cost that the price of the organization replaces stays visible', async () => {
  const run = await costOf('wrap', 'own', { cost: 0.0125, is_byok: false }, false);
  expect(run.stated).toBe('0.0125');
});

const execution = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'bash_code_execution', input: {} };
const executionTool = { type: 'code_execution_20250825', name: 'code_execution' };
const freeSearch = { type: 'web_search_20260209', name: 'web_search' };
const upload = { role: 'user', content: [{ type: 'container_upload', file_id: 'file_1' }] };
const message = { type: 'message', model: 'tooled', usage: { input_tokens: 10, output_tokens: 5 } };
const interpreter = { type: 'code_interpreter', container: { type: 'auto' } };
const response = { object: 'response', model: 'tooled', usage: { input_tokens: 10, output_tokens: 5 } };
const run = (container_id: string) => ({ type: 'code_interpreter_call', container_id });

const usdOfUnits: Readonly<Record<string, string>> = {
  code_execution: '0.05',
  code_interpreter: '0.03',
  web_search: '0.01',
  'web_search:preview': '0.025',
};

test.each<[string, object, object, Record<string, number>, string?]>([
  [
    'code executions',
    { tools: [executionTool] },
    { ...message, content: [execution, execution] },
    { code_execution: 2 },
  ],
  [
    'no executions beside a web tool',
    { tools: [executionTool, freeSearch] },
    { ...message, content: [execution] },
    {},
  ],
  [
    'a container with files',
    { tools: [executionTool], messages: [upload] },
    { ...message, content: [] },
    { code_execution: 1 },
  ],
  [
    'an unused container',
    { input: 'Hi', tools: [interpreter] },
    { ...response, output: [] },
    { code_interpreter: 1 },
  ],
  [
    'no unused container of a provider that charges for none',
    { input: 'Hi', tools: [interpreter] },
    { ...response, output: [] },
    {},
    'localhost',
  ],
  [
    'searches of a tool with a price of its own',
    { input: 'Hi', tools: [{ type: 'web_search_preview' }] },
    { ...response, output: [{ type: 'web_search_call' }] },
    { 'web_search:preview': 1 },
  ],
  [
    'searches of a size without a price of its own',
    { input: 'Hi', tools: [{ type: 'web_search', search_context_size: 'low' }] },
    { ...response, output: [{ type: 'web_search_call' }] },
    { 'web_search:low': 1 },
  ],
  [
    'each container once',
    { input: 'Hi', tools: [interpreter] },
    { ...response, output: [run('a'), run('a'), run('b')] },
    { code_interpreter: 2 },
  ],
])('the tools of a call are charged: %s', async (_, request, answer, units, host = undefined) => {
  await putPrice(`/v1/admin/models/tooled`, '1', { units: usdOfUnits });
  const path = 'input' in request ? 'responses' : 'messages';
  const sdk = {
    fetch: async () => Response.json(answer),
    withOptions: (options: { readonly fetch: typeof fetch }) => options,
  };
  gateway.world.clock.advanceSeconds(1);
  const body = { model: 'tooled', max_tokens: 100, messages: [], ...request };
  await (purser.wrap(sdk) as unknown as { fetch: typeof fetch }).fetch(
    `https://${host ?? (path === 'responses' ? 'api.openai.com' : 'api.anthropic.com')}/v1/${path}`,
    {
      method: 'POST',
      body: JSON.stringify(body),
    },
  );
  await purser.flush();
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  const [latest] = await gateway.runs();
  const { json } = await gateway.world.request('GET', `/v1/runs/${latest?.id}`, {
    key: gateway.org.ownerKey,
  });
  const priceOf = (unit: string) => Number(usdOfUnits[unit] ?? usdOfUnits.web_search);
  const nanos = Object.entries(units).map(([unit, count]) => Math.round(priceOf(unit) * 1e9) * count);
  const usd = (nanos.reduce((sum, one) => sum + one, 0) + 60_000) / 1e9;
  expect([json.units, Number(json.cost_usd), json.marks.includes('unpriced')]).toEqual([units, usd, false]);
});

const searching = { model: 'tooled', input: 'Hi', tools: [{ type: 'web_search' }] };

/** Sends a call through `wrap` to a provider that answers with a search, and returns its bodies, its response and the amount held. */
async function search(body: object, options: WrapOptions = {}) {
  const sent: Record<string, unknown>[] = [];
  let heldUsd = 0;
  const provider = async (_: unknown, init?: RequestInit) => {
    sent.push(JSON.parse(String(init?.body)));
    const path = `/v1/orgs/${gateway.org.id}/holds`;
    const { json } = await gateway.world.request('GET', path, { key: gateway.org.ownerKey });
    heldUsd = Number(json.data[0].held_usd);
    return Response.json({ ...response, output: [{ type: 'web_search_call' }] });
  };
  const sdk = { fetch: provider, withOptions: (given: { readonly fetch: typeof fetch }) => given };
  const wrapped = purser.wrap(sdk, options) as unknown as { fetch: typeof fetch };
  gateway.world.clock.advanceSeconds(1);
  const answered = await wrapped.fetch('https://api.openai.com/v1/responses', {
    method: 'POST',
    body: JSON.stringify(body),
  });
  const { status } = answered;
  const json = await answered.json();
  await purser.flush();
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  return { status, json, sent, heldUsd };
}

test('the calls of a tool that the provider runs are held, with the input that it reads again, and bounded in the body', async () => {
  await putPrice('/v1/admin/models/tooled', '1', { units: { web_search: '0.01' } });
  const { tools: _, ...plain } = searching;
  const { heldUsd: withoutTools } = await search(plain);
  const usual = await search(searching);
  expect(usual.sent).toMatchObject([{ max_tool_calls: 10 }]);
  expect(usual.heldUsd - withoutTools).toBeGreaterThan(0.1);
  const fewer = await search({ ...searching, max_tool_calls: 2 });
  expect(fewer.sent).toMatchObject([{ max_tool_calls: 2 }]);
  expect(fewer.heldUsd - withoutTools).toBeGreaterThan(0.02);
  expect(fewer.heldUsd).toBeLessThan(usual.heldUsd - 0.08);
  const { sent } = await search(searching, { maxToolCalls: 3 });
  expect(sent).toMatchObject([{ max_tool_calls: 3 }]);
});

test('a call with a tool without a price is refused before it is sent, or sent without a hold for the tool on request', async () => {
  await putPrice('/v1/admin/models/tooled', '1', { units: { page: '0.01' } });
  const refused = await search(searching);
  expect([refused.status, refused.sent]).toEqual([400, []]);
  expect(refused.json.error).toMatchObject({
    code: 'tool_without_price',
    message: expect.stringContaining('web_search'),
  });
  const allowed = await search(searching, { unpricedTools: 'allow' });
  expect([allowed.status, allowed.sent.length]).toEqual([200, 1]);
  const [latest] = await gateway.runs();
  expect(latest?.marks).toContain('unpriced');
});
