/** Tools that the provider runs: refused without a price, or held and charged by their calls. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, type GatewayWorld, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();
let usual: Pick<GatewayWorld, 'settings' | 'connections'>;

beforeAll(async () => {
  usual = { settings: gateway.settings, connections: gateway.connections };
  const price = { input_usd_per_million: '1', output_usd_per_million: '10', context_tokens: 1_000 };
  for (const [model, more] of [
    ['gpt-tools', { units: { web_search: '0.01', code_interpreter: '0.03' } }],
    ['claude-tools', { units: { web_search: '0.01' } }],
    ['claude-plain', {}],
    ['claude-wise', { input_usd_per_million: '5', output_usd_per_million: '50' }],
  ] as const) {
    const { status } = await gateway.world.request('PUT', `/v1/admin/models/${model}`, {
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
  chat: { model: 'gpt-test', messages, max_tokens: 100 },
  responses: { model: 'gpt-test', input: 'hello', max_output_tokens: 100 },
  messages: { model: 'claude-test', messages, max_tokens: 100 },
};
type Shape = keyof typeof paths;

function call(shape: Shape, body: object, path = paths[shape]): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...defaults[shape], ...body }),
  });
}

async function lastRun() {
  return eventually(async () => {
    expect(await gateway.holds()).toBe(0);
    const [run] = await gateway.runs();
    return run;
  });
}

const answerWith = (body: object) => {
  gateway.provider.fault = () => ({ status: 200, body: JSON.stringify(body) });
};

const addition = (definition: object) => ({
  type: 'tool_addition',
  tool: { type: 'tool_definition', definition },
});
const withInline = (definition: object) => [{ role: 'user', content: [addition(definition)] }];
const compacted = (definition: object) => [
  {
    role: 'assistant',
    content: [{ type: 'compaction', content: 'a', tool_changes: [addition(definition)] }],
  },
  ...messages,
];

describe('a tool that the provider runs is refused if it has no price', () => {
  test.each<[Shape, object]>([
    ['responses', { tools: [{ type: 'video_generation' }] }],
    ['responses', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }],
    ['responses', { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }],
    ['responses', { tools: [{ type: 'web_search_preview' }] }],
    ['responses', { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] }],
    ['responses', { tools: [{ type: 'shell' }] }],
    ['responses', { tools: [{ type: 'namespace', name: 'x', tools: [{ type: 'video_generation' }] }] }],
    ['responses', { tools: [{ type: 'something_new' }] }],
    ['responses', { tools: [{ name: 'no_type' }] }],
    ['responses', { tools: { type: 'function' } }],
    ['responses', { tool_choice: { type: 'video_generation' } }],
    ['responses', { tool_choice: { type: 'allowed_tools', tools: [{ type: 'file_search' }] } }],
    ['responses', { prompt: { id: 'pmpt_1' } }],
    ['messages', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['messages', { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }],
    ['messages', { tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'unknown' }] }],
    ['messages', { tools: [{ type: 'bash_20250124x', name: 'bash' }] }],
    ['messages', { container: { skills: [] } }],
    [
      'responses',
      { input: [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'web_search' }] }] },
    ],
    ['responses', { input: [{ type: 'tool_search_output', tools: [{ type: 'video_generation' }] }] }],
    ['responses', { input: [{ type: 'additional_tools', tools: { type: 'video_generation' } }] }],
    ['messages', { messages: withInline({ type: 'web_search_20260318', name: 'web_search' }) }],
    ['messages', { messages: compacted({ type: 'code_execution_20260521', name: 'code_execution' }) }],
    ['chat', { tools: [{ type: 'web_search' }] }],
    ['chat', { web_search_options: {} }],
    ['chat', { plugins: [{ id: 'web' }] }],
    ['chat', { search_parameters: { mode: 'on' } }],
  ])('%s: %j', async (shape, body) => {
    const response = await call(shape, body);
    expect([response.status, (await response.json()).error.code]).toEqual([400, 'tool_without_price']);
    expect(gateway.provider.requests).toEqual([]);
  });

  test('the error names the tool and what to set, in the format of the provider', async () => {
    const response = await call('messages', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] });
    const { type, error } = await response.json();
    expect([type, error.type]).toEqual(['error', 'invalid_request_error']);
    expect(error.message).toMatch(
      /web_search_20250305.*unit web_search.*claude-test.*unpriced_tool_call_usd/,
    );
    expect(error.details).toEqual({ tool: 'web_search_20250305', unit: 'web_search', model: 'claude-test' });
  });

  test('a tool of which only official providers charge the tokens alone is refused at other providers', async () => {
    const body = { tools: [{ type: 'mcp', server_label: 'x', server_url: 'http://127.0.0.1' }] };
    expect((await call('responses', body)).status).toBe(200);
    gateway.connections = [connectionTo(gateway.provider.url, 'openai_compatible', { name: 'compatible' })];
    const compatible = await call('responses', body, '/compat/compatible/v1/responses');
    expect((await compatible.json()).error.code).toBe('tool_without_price');
  });
});

test.each<[Shape, object]>([
  ['responses', { tools: [{ type: 'function', name: 'x', parameters: {} }] }],
  ['responses', { tools: [{ type: 'custom', name: 'x' }, { type: 'local_shell' }, { type: 'apply_patch' }] }],
  ['responses', { tools: [{ type: 'shell', environment: { type: 'local' } }] }],
  ['responses', { tools: [{ type: 'computer_use_preview' }, { type: 'tool_search', execution: 'client' }] }],
  ['responses', { tools: [{ type: 'namespace', name: 'x', tools: [{ type: 'function', name: 'y' }] }] }],
  ['responses', { tool_choice: { type: 'function', name: 'x' } }],
  [
    'responses',
    { input: [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'x' }] }] },
  ],
  [
    'responses',
    { input: [{ type: 'mcp_list_tools', server_label: 'x', tools: [{ name: 'y', input_schema: {} }] }] },
  ],
  ['messages', { messages: withInline({ name: 'x', input_schema: {} }) }],
  [
    'messages',
    {
      tools: [
        { name: 'x', input_schema: {} },
        { type: 'custom', name: 'y', input_schema: {} },
      ],
    },
  ],
  [
    'messages',
    {
      tools: [
        { type: 'bash_20250124', name: 'bash' },
        { type: 'memory_20250818', name: 'memory' },
      ],
    },
  ],
  ['messages', { tools: [{ type: 'text_editor_20250728', name: 'e' }], tool_choice: { type: 'any' } }],
  ['chat', { tools: [{ type: 'function', function: { name: 'x' } }], tool_choice: 'auto' }],
  ['chat', { functions: [{ name: 'x' }], function_call: 'auto' }],
])('a tool that the client runs is passed on without a price: %s, %j', async (shape, body) => {
  expect((await call(shape, body)).status).toBe(200);
});

/** The input of one pass costs $0.001 at most, and the output $0.001: a context of 1,000 tokens, and 100 tokens. */
const passUsd = 0.001;
const outputUsd = 0.001;

describe('a tool with a price', () => {
  const answer = {
    id: 'resp_1',
    output: [
      { type: 'web_search_call', status: 'completed', action: { type: 'search' } },
      { type: 'web_search_call', status: 'completed', action: { type: 'open_page' } },
      { type: 'code_interpreter_call', status: 'completed' },
      { type: 'code_interpreter_call', status: 'completed' },
      { type: 'function_call', name: 'x' },
    ],
    usage: { input_tokens: 1_500, output_tokens: 100 },
  };
  const tools = [{ type: 'web_search' }, { type: 'code_interpreter' }];

  test('a tool with a price of Responses is held up to max_tool_calls and charged as it was called', async () => {
    answerWith(answer);
    const response = await call('responses', { model: 'gpt-tools', tools, max_tool_calls: 4 });
    expect(response.status).toBe(200);
    // Each call may be one of the most expensive tool, and has the provider read the whole input again.
    expect(Number(response.headers.get('x-svc-held-usd'))).toBeCloseTo(4 * 0.03 + 5 * passUsd + outputUsd, 6);
    const run = await lastRun();
    expect(run).toMatchObject({ units: { web_search: 1, code_interpreter: 2 }, marks: [] });
    expect(Number(run?.cost_usd)).toBeCloseTo(0.01 + 2 * 0.03 + 0.0015 + 0.001, 9);
  });

  test('a tool with a price of Responses is held up to max_tool_calls also if the settings allow fewer', async () => {
    answerWith(answer);
    const response = await call('responses', { model: 'gpt-tools', tools, max_tool_calls: 25 });
    expect(Number(response.headers.get('x-svc-held-usd'))).toBeCloseTo(
      25 * 0.03 + 26 * passUsd + outputUsd,
      6,
    );
    await lastRun();
  });

  test('a tool with a price of Responses without a maximum gets that of the settings', async () => {
    gateway.settings = { ...gateway.settings, maxToolCalls: 3 };
    answerWith(answer);
    const response = await call('responses', { model: 'gpt-tools', tools });
    expect(JSON.parse(gateway.provider.requests[0]?.text ?? '').max_tool_calls).toBe(3);
    expect(Number(response.headers.get('x-svc-held-usd'))).toBeCloseTo(3 * 0.03 + 4 * passUsd + outputUsd, 6);
  });

  test('a tool with a price of Responses is charged at its bound if the usage is unknown', async () => {
    answerWith({ id: 'resp_1', output: [] });
    const response = await call('responses', { model: 'gpt-tools', tools, max_tool_calls: 4 });
    const run = await lastRun();
    expect(Number(run?.cost_usd)).toBeCloseTo(Number(response.headers.get('x-svc-held-usd')), 6);
    expect(run).toMatchObject({ units: { code_interpreter: 4 }, marks: ['usage_estimated'] });
  });

  test('a tool with a price of messages is held up to max_uses and charged as reported', async () => {
    answerWith({
      content: [{ type: 'server_tool_use', name: 'web_search' }],
      usage: { input_tokens: 10, output_tokens: 100, server_tool_use: { web_search_requests: 2 } },
    });
    const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 5 };
    const response = await call('messages', { model: 'claude-tools', tools: [search] });
    expect(Number(response.headers.get('x-svc-held-usd'))).toBeCloseTo(5 * 0.01 + 6 * passUsd + outputUsd, 6);
    const run = await lastRun();
    expect(run).toMatchObject({ units: { web_search: 2 } });
    expect(Number(run?.cost_usd)).toBeCloseTo(2 * 0.01 + 0.00101, 9);
  });

  test('a tool with a price of chats, whose calls are not shown, is charged as held', async () => {
    answerWith({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 100 } });
    gateway.settings = { ...gateway.settings, maxToolCalls: 2 };
    await call('chat', { model: 'gpt-tools', web_search_options: {} });
    const run = await lastRun();
    expect(run).toMatchObject({ units: { web_search: 2 } });
    expect(Number(run?.cost_usd)).toBeCloseTo(2 * 0.01 + 0.00101, 9);
  });
});

describe('a tool without a price, with unpriced_tool_call_usd', () => {
  beforeEach(() => {
    gateway.settings = { ...gateway.settings, unpricedToolCallNanos: 200_000_000n, maxToolCalls: 2 };
  });

  test('a tool without a price, with unpriced_tool_call_usd is held at that, and charged for each call', async () => {
    const output = [{ type: 'video_generation_call', status: 'completed' }];
    answerWith({ id: 'resp_1', output, usage: { input_tokens: 10, output_tokens: 100 } });
    const response = await call('responses', { model: 'gpt-tools', tools: [{ type: 'video_generation' }] });
    expect(Number(response.headers.get('x-svc-held-usd'))).toBeCloseTo(2 * 0.2 + 3 * passUsd + outputUsd, 6);
    const run = await lastRun();
    expect(Number(run?.cost_usd)).toBeCloseTo(0.2 + 0.00101, 9);
    expect(run).toMatchObject({ marks: [] });
    expect(response.headers.get('x-svc-cost-usd')).toBe(run?.cost_usd);
  });

  test('a tool without a price, with unpriced_tool_call_usd is charged beside a more expensive one, also if the client could have run it', async () => {
    const output = [{ type: 'shell_call', status: 'completed' }];
    answerWith({ id: 'resp_1', output, usage: { input_tokens: 10, output_tokens: 100 } });
    const tools = [{ type: 'video_generation' }, { type: 'shell', environment: { type: 'container_auto' } }];
    await call('responses', { model: 'gpt-tools', tools });
    expect(Number((await lastRun())?.cost_usd)).toBeCloseTo(0.2 + 0.00101, 9);
  });

  // The last ones are names of members that every object has.
  test.each(['something_new', 'constructor', '__proto__'])(
    'a tool without a price, with unpriced_tool_call_usd is charged for each call of a stream: %s',
    async (type) => {
      const events = [
        { type: 'response.output_item.done', item: { type: `${type}_call` } },
        { type: 'response.output_item.done', item: { type: `${type}_call` } },
        {
          type: 'response.completed',
          response: { id: 'resp_1', usage: { input_tokens: 10, output_tokens: 100 } },
        },
      ];
      const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
      gateway.provider.fault = () => ({ status: 200, body });
      await call('responses', { model: 'gpt-tools', stream: true, tools: [{ type }] });
      expect(Number((await lastRun())?.cost_usd)).toBeCloseTo(2 * 0.2 + 0.00101, 9);
    },
  );

  test.each(['something_new', 'constructor', '__proto__'])(
    'a tool without a price, with unpriced_tool_call_usd is charged at its bound by a stream that shows no calls: %s',
    async (type) => {
      const response = await call('chat', { model: 'gpt-tools', stream: true, tools: [{ type }] });
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('[DONE]');
      expect(Number((await lastRun())?.cost_usd)).toBeGreaterThan(2 * 0.2);
    },
  );

  test('a tool without a price, with unpriced_tool_call_usd is charged at its bound if the usage is unknown, and not at all if the call was rejected', async () => {
    const body = { model: 'gpt-tools', tools: [{ type: 'video_generation' }] };
    answerWith({});
    await call('responses', body);
    expect(Number((await lastRun())?.cost_usd)).toBeGreaterThan(0.4);
    gateway.world.clock.advanceSeconds(1);
    gateway.provider.fault = () => ({ status: 400 });
    await call('responses', body);
    expect(await lastRun()).toMatchObject({ status: 'failed', cost_usd: '0' });
  });

  test('a tool without a price, with unpriced_tool_call_usd is not allowed by a limit that does not cover it', async () => {
    await gateway.cap('0.3');
    const response = await call('responses', { model: 'gpt-tools', tools: [{ type: 'video_generation' }] });
    expect(response.status).toBe(402);
    await gateway.cap('1000');
  });
});

describe('an advisor', () => {
  const advisor = { type: 'advisor_20260301', name: 'advisor', model: 'claude-wise', max_uses: 1 };
  const advice = { type: 'advisor_message', model: 'claude-wise', input_tokens: 1_000, output_tokens: 1_000 };

  test('an advisor is held at the price of its model, and charged at it', async () => {
    answerWith({
      content: [{ type: 'server_tool_use', name: 'advisor' }],
      usage: {
        input_tokens: 10,
        output_tokens: 100,
        iterations: [{ type: 'message', input_tokens: 10, output_tokens: 100 }, advice],
      },
    });
    const response = await call('messages', { model: 'claude-plain', tools: [advisor] });
    expect(Number(response.headers.get('x-svc-held-usd'))).toBeGreaterThan(0.005 + 0.05);
    const run = await lastRun();
    expect(run).toMatchObject({ input_tokens: 1_010, output_tokens: 1_100 });
    expect(Number(run?.cost_usd)).toBeCloseTo(0.00101 + 0.005 + 0.05, 9);
  });

  const own = { input_tokens: 10, output_tokens: 20 };
  const start = {
    type: 'message_start',
    message: { type: 'message', model: 'claude-plain', usage: { input_tokens: 10, output_tokens: 1 } },
  };
  const called = { type: 'content_block_start', content_block: { type: 'server_tool_use', name: 'advisor' } };
  const reported = {
    type: 'message_delta',
    usage: { ...own, iterations: [{ type: 'message', ...own }, advice] },
  };
  const more = { type: 'content_block_delta', delta: { type: 'text_delta', text: ' the'.repeat(90) } };

  const declined = {
    type: 'message_delta',
    usage: {
      ...own,
      iterations: [
        { ...advice, type: 'message' },
        { type: 'fallback_message', model: 'claude-plain', ...own },
      ],
    },
  };

  /** The other model costs $0.055. Ten tokens of input and twenty of output cost $0.00021, the output that follows at least $0.0009. */
  test.each<[string, object[], { isEstimated: boolean; leastUsd: number; mostUsd: number }]>([
    [
      'after its report',
      [start, called, reported],
      { isEstimated: false, leastUsd: 0.05521, mostUsd: 0.05521 },
    ],
    ['before its report', [start, called], { isEstimated: true, leastUsd: 0.055, mostUsd: 1 }],
    [
      'in output after it',
      [start, called, reported, more],
      { isEstimated: true, leastUsd: 0.0559, mostUsd: 1 },
    ],
    [
      'after the report of a fallback',
      [start, declined],
      { isEstimated: false, leastUsd: 0.05521, mostUsd: 0.05521 },
    ],
    [
      'in output after that of a fallback',
      [start, declined, more],
      { isEstimated: true, leastUsd: 0.0559, mostUsd: 0.062 },
    ],
  ])('another model is charged if a stream breaks off %s', async (_, events, bounds) => {
    const { isEstimated, leastUsd, mostUsd } = bounds;
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    gateway.provider.fault = () => ({
      status: 200,
      body: text,
      contentType: 'text/event-stream',
    });
    await (
      await call('messages', {
        model: 'claude-plain',
        ...(events.includes(called) && { tools: [advisor] }),
        stream: true,
      })
    ).text();
    const run = await lastRun();
    expect(run?.marks.includes('usage_estimated')).toBe(isEstimated);
    expect(Number(run?.cost_usd)).toBeGreaterThanOrEqual(leastUsd - 1e-9);
    expect(Number(run?.cost_usd)).toBeLessThanOrEqual(mostUsd + 1e-9);
  });
});

test.each([
  { type: 'code_interpreter', container: { type: 'auto', memory_limit: '64g' } },
  { type: 'shell', environment: { type: 'container_auto', memory_limit: '4g' } },
])('a container that costs more than the price of its unit is refused: %j', async (tool) => {
  gateway.settings = { ...gateway.settings, unpricedToolCallNanos: 1n };
  const response = await call('responses', { model: 'gpt-tools', tools: [tool] });
  expect([response.status, (await response.json()).error.message]).toEqual([
    400,
    expect.stringContaining('memory_limit'),
  ]);
  expect(gateway.provider.requests).toEqual([]);
});

test.each<[Shape, object]>([
  ['messages', { model: 'claude-plain', compaction: { type: 'summarize' } }],
  [
    'responses',
    { model: 'gpt-tools', input: [{ role: 'user', content: 'hello' }, { type: 'compaction_trigger' }] },
  ],
])('the compaction of a context is held: its summary, and the input again: %s', async (shape, body) => {
  const held = async (more: object) =>
    Number((await call(shape, { ...body, ...more })).headers.get('x-svc-held-usd'));
  const usual = await held({ compaction: null, ...(shape === 'responses' && { input: 'hello' }) });
  const compacted = await held({});
  // The summary may have all of the context of 1,000 tokens, at $10 per million.
  expect(compacted - usual).toBeGreaterThan(0.01);
});
