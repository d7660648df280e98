/** Tools with a price of their own kind: a provider that keeps its bill, and what is held and charged for it. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, type GatewayWorld, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();
let usual: Pick<GatewayWorld, 'settings' | 'connections'>;

const units = {
  web_search: '0.01',
  'web_search:high': '0.03',
  'web_search:preview': '0.025',
  x_search: '0.005',
  file_search: '0.0025',
  code_interpreter: '0.03',
  shell: '0.03',
  code_execution: '0.004',
};

beforeAll(async () => {
  usual = { settings: gateway.settings, connections: gateway.connections };
  const price = { input_usd_per_million: '1', output_usd_per_million: '10', context_tokens: 1_000 };
  for (const [model, more] of [
    ['gpt-tools', { units }],
    ['gpt-sizes', { units: { ...units, 'code_interpreter:4g': '0.12' } }],
    ['claude-tools', { units }],
    ['sonar-pro', { units }],
    ['gpt-placed', { units: { web_search: '0.01' }, follows_updates: true }],
    ['azure/gpt-placed', { units: { web_search: '0.014' }, follows_updates: true }],
    [
      'gpt-image-1',
      { input_usd_per_million: '5', image_input_usd_per_million: '10', output_usd_per_million: '40' },
    ],
  ] as const) {
    const { status } = await gateway.world.request('PUT', `/v1/admin/models/${encodeURIComponent(model)}`, {
      key: gateway.world.operatorKey,
      body: { provider: 'test', ...price, ...more },
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

const paths = {
  chat: '/openai/v1/chat/completions',
  responses: '/openai/v1/responses',
  messages: '/anthropic/v1/messages',
};
const messages = [{ role: 'user', content: 'Say hello to the world' }];
const defaults = {
  chat: { model: 'sonar-pro', messages, max_tokens: 100 },
  responses: { model: 'gpt-tools', input: 'hello', max_output_tokens: 100, max_tool_calls: 4 },
  messages: { model: 'claude-tools', messages, max_tokens: 100 },
};
type Shape = keyof typeof paths;

const tokensUsd = 0.00101;
const usage = { input_tokens: 10, output_tokens: 100 };

function call(shape: Shape, body: object, path = paths[shape]): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...defaults[shape], ...body }),
  });
}

const answerWith = (body: object) => {
  gateway.provider.fault = () => ({ status: 200, body: JSON.stringify(body) });
};

/** Returns the cost besides the tokens, and checks that the hold has covered it. */
async function toolUsd(shape: Shape, body: object, path = paths[shape]): Promise<number> {
  const response = await call(shape, body, path);
  expect(response.status).toBe(200);
  await response.text();
  const run = await eventually(async () => {
    expect(await gateway.holds()).toBe(0);
    const [last] = await gateway.runs();
    return last;
  });
  expect(run?.marks ?? []).not.toContain('over_hold');
  expect(Number(response.headers.get('x-svc-held-usd'))).toBeGreaterThanOrEqual(Number(run?.cost_usd));
  return Number(run?.cost_usd) - tokensUsd;
}

const interpreterCall = (container_id?: string) => ({ type: 'code_interpreter_call', container_id });
const autoInterpreter = { type: 'code_interpreter', container: { type: 'auto' } };
const hostedShell = { type: 'shell', environment: { type: 'container_auto' } };

describe('containers of OpenAI', () => {
  test.each<[string, object[], object[], number]>([
    ['once for all calls in one container', [autoInterpreter], ['a', 'a', 'a'].map(interpreterCall), 0.03],
    ['each', [autoInterpreter], ['a', 'b', 'a'].map(interpreterCall), 0.06],
    ['by calls that name none', [autoInterpreter], [interpreterCall(), interpreterCall()], 0.06],
    ['also if nothing was run in it, since it was started', [autoInterpreter], [], 0.03],
    ['of a hosted shell', [hostedShell], [], 0.03],
    [
      'of a hosted shell that was used',
      [hostedShell],
      [
        { type: 'shell_call', environment: { type: 'container_reference', container_id: 'a' } },
        { type: 'shell_call', environment: { type: 'container_reference', container_id: 'a' } },
      ],
      0.03,
    ],
    ['of both tools', [autoInterpreter, hostedShell], [interpreterCall('a')], 0.06],
  ])('are charged %s', async (_, tools, output, expected) => {
    answerWith({ id: 'resp_1', output, usage });
    expect(await toolUsd('responses', { tools })).toBeCloseTo(expected, 9);
  });

  test('are held also if no calls are allowed', async () => {
    answerWith({ id: 'resp_1', output: [], usage });
    expect(await toolUsd('responses', { tools: [autoInterpreter], max_tool_calls: 0 })).toBeCloseTo(0.03, 9);
  });

  test.each([
    { type: 'code_interpreter', container: 'cntr_1' },
    { type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_1' } },
  ])('that a request names may be of any size, so they need a price of their own: %j', async (tool) => {
    const response = await call('responses', { tools: [tool] });
    const { error } = await response.json();
    expect([response.status, error.code, error.details?.unit ?? error.message]).toEqual([
      400,
      'tool_without_price',
      expect.stringContaining(`${tool.type}:existing`),
    ]);
    expect(gateway.provider.requests).toEqual([]);
  });

  test('with more memory are charged at the price of their size', async () => {
    const tool = { type: 'code_interpreter', container: { type: 'auto', memory_limit: '4g' } };
    answerWith({ id: 'resp_1', output: [interpreterCall('a')], usage });
    expect(await toolUsd('responses', { model: 'gpt-sizes', tools: [tool] })).toBeCloseTo(0.12, 9);
  });

  test('may be those of the conversation, so the largest with a price is charged', async () => {
    answerWith({ id: 'resp_1', output: [interpreterCall('a')], usage });
    const input = [{ type: 'code_interpreter_call', id: 'ci_1', container_id: 'a', code: '1' }, ...messages];
    expect(await toolUsd('responses', { model: 'gpt-sizes', tools: [autoInterpreter], input })).toBeCloseTo(
      0.12,
      9,
    );
  });
});

describe('file searches', () => {
  test('are charged for each call', async () => {
    const output = [{ type: 'file_search_call' }, { type: 'file_search_call' }];
    answerWith({ id: 'resp_1', output, usage });
    expect(await toolUsd('responses', { tools: [{ type: 'file_search' }] })).toBeCloseTo(0.005, 9);
  });

  test('beyond the maximum are charged in full', async () => {
    const output = Array.from({ length: 9 }, () => ({ type: 'file_search_call' }));
    answerWith({ id: 'resp_1', output, usage });
    const response = await call('responses', { tools: [{ type: 'file_search' }] });
    await response.text();
    const [run] = await eventually(async () => {
      expect(await gateway.holds()).toBe(0);
      return await gateway.runs();
    });
    expect(Number(run?.cost_usd)).toBeCloseTo(9 * 0.0025 + tokensUsd, 9);
  });

  test('of a stream that breaks off are charged at their bound', async () => {
    const item = { type: 'response.output_item.done', item: { type: 'file_search_call' } };
    gateway.provider.fault = () => ({ status: 200, body: `data: ${JSON.stringify(item)}\n\n` });
    const cost = await toolUsd('responses', { stream: true, tools: [{ type: 'file_search' }] });
    expect(cost).toBeGreaterThanOrEqual(4 * 0.0025);
  });
});

describe('generated images', () => {
  const tools = [{ type: 'image_generation', quality: 'low' }];
  const output = [{ type: 'image_generation_call', status: 'completed' }];
  const image_gen = { input_tokens: 100, output_tokens: 272 };

  test('are charged by the tokens of their model', async () => {
    answerWith({ id: 'resp_1', output, usage, tool_usage: { image_gen } });
    expect(await toolUsd('responses', { tools })).toBeCloseTo(100 * 5e-6 + 272 * 40e-6, 9);
  });

  test('are charged with the images that they are made from at the rate of image input', async () => {
    const edit = {
      ...image_gen,
      input_tokens: 371,
      input_tokens_details: { image_tokens: 323, text_tokens: 48 },
    };
    answerWith({ id: 'resp_1', output, usage, tool_usage: { image_gen: edit } });
    expect(await toolUsd('responses', { tools })).toBeCloseTo(48 * 5e-6 + 323 * 10e-6 + 272 * 40e-6, 9);
  });

  test('are charged at their bound if the provider reports no tokens', async () => {
    answerWith({ id: 'resp_1', output, usage });
    expect(await toolUsd('responses', { tools })).toBeGreaterThanOrEqual(1_000 * 40e-6);
  });

  test('of a stream are charged by their tokens', async () => {
    const events = [
      { type: 'response.output_item.done', item: output[0] },
      { type: 'response.completed', response: { id: 'resp_1', output, usage, tool_usage: { image_gen } } },
    ];
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    gateway.provider.fault = () => ({ status: 200, body });
    expect(await toolUsd('responses', { stream: true, tools })).toBeCloseTo(100 * 5e-6 + 272 * 40e-6, 9);
  });

  test('of a model without a price are refused', async () => {
    const response = await call('responses', { tools: [{ type: 'image_generation', model: 'unknown' }] });
    expect((await response.json()).error.code).toBe('tool_without_price');
  });

  test('of other providers are refused, since their model is not known', async () => {
    gateway.connections = [connectionTo(gateway.provider.url, 'openai_compatible', { name: 'compatible' })];
    const response = await call('responses', { tools }, '/compat/compatible/v1/responses');
    expect((await response.json()).error.code).toBe('tool_without_price');
  });
});

describe('searches', () => {
  test.each<[unknown, number]>([
    ['low', 0.01],
    ['high', 0.03],
    ['medium', 0.01],
    ['enormous', 0.03],
  ])('with the context size %s have the price of that size', async (search_context_size, expected) => {
    answerWith({ id: 'resp_1', output: [{ type: 'web_search_call' }], usage });
    expect(await toolUsd('responses', { tools: [{ type: 'web_search', search_context_size }] })).toBeCloseTo(
      expected,
      9,
    );
  });

  test.each<[object[], number]>([
    [[{ type: 'web_search_preview' }], 0.025],
    [[{ type: 'web_search_preview_2025_03_11', search_context_size: 'low' }], 0.025],
    [[{ type: 'web_search' }, { type: 'web_search_preview' }], 0.025],
    [[{ type: 'web_search' }], 0.01],
  ])('by the tools %j have the price of the tool', async (tools, expected) => {
    answerWith({ id: 'resp_1', output: [{ type: 'web_search_call' }], usage });
    expect(await toolUsd('responses', { tools })).toBeCloseTo(expected, 9);
  });

  test('by the earlier tool have the price of a search if it has none of its own', async () => {
    answerWith({ id: 'resp_1', output: [{ type: 'web_search_call' }], usage });
    const body = { model: 'gpt-placed', tools: [{ type: 'web_search_preview' }] };
    expect(await toolUsd('responses', body)).toBeCloseTo(0.01, 9);
  });

  test('are held at the highest price of the places that may serve them', async () => {
    gateway.connections = ['openai', 'azure_openai'].map((provider) =>
      connectionTo(gateway.provider.url, 'openai', {
        id: `con_${provider}`,
        calledAt: { provider, region: null },
      }),
    );
    answerWith({ id: 'resp_1', output: [{ type: 'web_search_call' }], usage });
    const body = { model: 'gpt-placed', tools: [{ type: 'web_search' }] };
    const response = await call('responses', body);
    expect(Number(response.headers.get('x-svc-held-usd'))).toBeGreaterThan(4 * 0.014);
    expect(await toolUsd('responses', body)).toBeCloseTo(0.01, 9);
  });

  test('reported beside the usage are charged also if none is shown', async () => {
    answerWith({ id: 'resp_1', output: [], usage, tool_usage: { web_search: { num_requests: 2 } } });
    expect(await toolUsd('responses', { tools: [{ type: 'web_search' }] })).toBeCloseTo(0.02, 9);
  });

  test.each<[object, number]>([
    [{}, 0.01],
    [{ web_search_options: { search_context_size: 'high' } }, 0.03],
  ])('of Perplexity are charged in every call: %j', async (body, expected) => {
    answerWith({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 100 } });
    gateway.connections = [connectionTo(gateway.provider.url, 'openai_compatible', { name: 'perplexity' })];
    expect(await toolUsd('chat', body, '/compat/perplexity/v1/chat/completions')).toBeCloseTo(expected, 9);
  });

  test.each([
    { server_side_tool_usage_details: { x_search_calls: 2, web_search_calls: 0, mcp_calls: 3 } },
    {},
  ])('of X are charged as reported or shown: %j', async (reported) => {
    const output = [
      { type: 'custom_tool_call', name: 'x_keyword_search' },
      { type: 'custom_tool_call', name: 'x_user_search' },
      { type: 'custom_tool_call', name: 'own' },
    ];
    answerWith({ id: 'resp_1', output, usage: { ...usage, ...reported } });
    gateway.connections = [connectionTo(gateway.provider.url, 'openai_compatible', { name: 'xai' })];
    const body = { tools: [{ type: 'x_search' }, { type: 'custom', name: 'own' }] };
    expect(await toolUsd('responses', body, '/compat/xai/v1/responses')).toBeCloseTo(0.01, 9);
  });

  test('of Google in extra_body need a price like any other', async () => {
    gateway.connections = [connectionTo(gateway.provider.url, 'openai_compatible', { name: 'google' })];
    const tools = [{ google_search: {}, type: 'google_search' }];
    const body = { model: 'gpt-test', extra_body: { google: { tools } } };
    const response = await call('chat', body, '/compat/google/v1/chat/completions');
    const { error } = await response.json();
    expect([error.code, error.message]).toEqual([
      'tool_without_price',
      expect.stringContaining('unit web_search'),
    ]);
  });
});

describe('code executions of Anthropic', () => {
  const tool = { type: 'code_execution_20250825', name: 'code_execution' };
  const content = [
    { type: 'server_tool_use', name: 'bash_code_execution' },
    { type: 'server_tool_use', name: 'code_execution' },
  ];

  test.each<[string, object, object[], number]>([
    ['for each', { tools: [tool] }, content, 0.008],
    ['not for none', { tools: [tool] }, [], 0],
    [
      'for the container of preloaded files',
      {
        tools: [tool],
        messages: [{ role: 'user', content: [{ type: 'container_upload', file_id: 'file_1' }] }],
      },
      [],
      0.004,
    ],
    ['in a container of an earlier call', { tools: [tool], container: 'container_1' }, content, 0.008],
    [
      'not beside the web search that includes them',
      { tools: [tool, { type: 'web_search_20260209', name: 'web_search' }] },
      content,
      0,
    ],
    [
      'beside an older web search',
      { tools: [tool, { type: 'web_search_20250305', name: 'web_search' }] },
      content,
      0.008,
    ],
  ])('are charged %s', async (_, body, blocks, expected) => {
    answerWith({ type: 'message', content: blocks, usage });
    expect(await toolUsd('messages', body)).toBeCloseTo(expected, 9);
  });
});

test('tools of a failed attempt with usage are charged like those of a response', async () => {
  gateway.connections = ['first', 'second'].map((name) =>
    connectionTo(gateway.provider.url, 'openai', { id: `con_${name}`, name }),
  );
  gateway.provider.fault = () =>
    gateway.provider.requests.length === 1
      ? {
          status: 500,
          body: JSON.stringify({ id: 'resp_0', output: [{ type: 'file_search_call' }], usage }),
        }
      : { status: 200, body: JSON.stringify({ id: 'resp_1', output: [], usage }) };
  const response = await call('responses', { tools: [{ type: 'file_search' }] });
  await response.text();
  const [run] = await eventually(async () => {
    expect(await gateway.holds()).toBe(0);
    return await gateway.runs();
  });
  expect(Number(run?.cost_usd)).toBeCloseTo(0.0025 + 2 * tokensUsd, 9);
});
