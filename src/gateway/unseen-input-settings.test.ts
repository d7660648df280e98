/** Input that cannot be counted: held, with the reason in the message of a denial, or refused. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { type GatewayWorld, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();
let usual: GatewayWorld['settings'];

beforeAll(async () => {
  usual = gateway.settings;
  for (const [model, more] of [
    ['gpt-seen', { units: { web_search: '0.01', file_search: '0.01', code_interpreter: '0.01' } }],
    ['claude-seen', { units: { web_search: '0.01' } }],
    ['embed-seen', {}],
  ] as const) {
    const body = {
      provider: 'test',
      input_usd_per_million: '1',
      output_usd_per_million: '10',
      context_tokens: 100_000,
      ...more,
    };
    const path = `/v1/admin/models/${model}`;
    const { status } = await gateway.world.request('PUT', path, { key: gateway.world.operatorKey, body });
    expect(status).toBeLessThan(300);
  }
});
beforeEach(() => {
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.requests.length = 0;
  gateway.settings = usual;
});
afterEach(() => eventually(async () => expect(await gateway.holds()).toBe(0)));

const paths = {
  chat: '/openai/v1/chat/completions',
  responses: '/openai/v1/responses',
  messages: '/anthropic/v1/messages',
  embeddings: '/openai/v1/embeddings',
};
const messages = [{ role: 'user', content: 'Say hello to the world' }];
const defaults = {
  chat: { model: 'gpt-seen', messages, max_tokens: 100 },
  responses: { model: 'gpt-seen', input: 'hello', max_output_tokens: 100 },
  messages: { model: 'claude-seen', messages, max_tokens: 100 },
  embeddings: { model: 'embed-seen', input: 'hello' },
};
type Shape = keyof typeof paths;

function call(shape: Shape, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(gateway.url + paths[shape], {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...defaults[shape], ...body }),
  });
}

const ofOrg = (method: string, path: string, body?: object) =>
  gateway.world.request(method, `/v1/orgs/${gateway.org.id}${path}`, {
    key: gateway.org.ownerKey,
    ...(body !== undefined && { body }),
  });

const user = (...content: unknown[]) => [{ role: 'user', content }];
const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } };

/** The path of what cannot be counted, and the reason that messages give. */
const unseen: readonly (readonly [Shape, object, string, RegExp])[] = [
  [
    'chat',
    { messages: user({ type: 'text', text: 'a' }, audio) },
    'messages[0].content[1]',
    /tokens of .* cannot be counted\. Send text or images/,
  ],
  [
    'chat',
    { attachments: [{ id: 'file_1' }] },
    'attachments',
    /does not know what `attachments` carries\. Leave it out/,
  ],
  ['responses', { input: [{ id: 'msg_1' }] }, 'input[0]', /does not know what `input\[0\]` carries/],
  [
    'responses',
    { input: user({ type: 'input_text', text: 'a' }, { type: 'input_image', file_id: 'file_1' }) },
    'input[0].content[1].file_id',
    /content of .* is not in the request\. Send the content/,
  ],
  [
    'responses',
    { prompt: { id: 'pmpt_1' }, tools: [{ type: 'web_search' }] },
    'prompt',
    /content of `prompt` is not in the request/,
  ],
  ['messages', { messages: user(pdf) }, 'messages[0].content[0]', /tokens of .* cannot be counted/],
  ['messages', { thread: { type: 'continue' } }, 'thread', /content of `thread` is not in the request/],
  ['embeddings', { input: [{ image: 'https://a' }] }, 'input[0]', /does not know/],
];

const typesOfError = { chat: undefined, responses: undefined, embeddings: undefined, messages: 'error' };

describe('refuse', () => {
  beforeEach(() => {
    gateway.settings = { ...usual, unseenInput: 'refuse' };
  });

  test.each(unseen)('%s %j is refused, and names %s', async (shape, body, field, reason) => {
    const before = (await gateway.runs()).length;
    const response = await call(shape, body);
    const { type, error } = await response.json();
    expect([response.status, type, error.type, error.code, error.details]).toEqual([
      400,
      typesOfError[shape],
      'invalid_request_error',
      'unseen_input',
      { field },
    ]);
    expect(error.message).toMatch(reason);
    expect(error.message).toContain(`\`${field}\``);
    expect(error.message).toContain('set `unseen_input` to `hold`');
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect(gateway.provider.requests).toEqual([]);
    expect([await gateway.holds(), (await gateway.runs()).length]).toEqual([0, before]);
  });

  test.each<[Shape, object]>([
    ['chat', {}],
    ['responses', {}],
    ['messages', {}],
    ['embeddings', {}],
    ['chat', { messages: user({ type: 'image_url', image_url: { url: 'https://a/b.png' } }) }],
    [
      'messages',
      { messages: user({ ...pdf, source: { type: 'text', media_type: 'text/plain', data: 'a' } }) },
    ],
    ['chat', { new_switch: true, new_number: 7, new_nothing: null }],
  ])('%s %j can be counted and is sent', async (shape, body) => {
    expect((await call(shape, body)).status).toBe(200);
    expect(gateway.provider.requests).toHaveLength(1);
  });

  test.each<[Shape, object]>([
    ['responses', { tools: [{ type: 'web_search' }] }],
    ['responses', { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }],
    [
      'responses',
      { tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['file_1'] } }] },
    ],
    [
      'responses',
      {
        tools: [{ type: 'web_search' }],
        input: [
          ...messages,
          {
            type: 'web_search_call',
            id: 'ws_1',
            status: 'completed',
            action: { type: 'search', query: 'a' },
          },
          { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA' },
        ],
      },
    ],
    ['chat', { web_search_options: {} }],
    ['messages', { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }] }],
    [
      'messages',
      {
        tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }],
        messages: [
          ...messages,
          {
            role: 'assistant',
            content: [
              { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'a' } },
              {
                type: 'web_search_tool_result',
                tool_use_id: 'srvtoolu_1',
                content: [
                  { type: 'web_search_result', url: 'https://a', title: 'a', encrypted_content: 'AAAA' },
                ],
              },
            ],
          },
          ...messages,
        ],
      },
    ],
  ])(
    'tools of the provider, and their results of earlier calls, are held and not refused: %s %j',
    async (shape, body) => {
      const response = await call(shape, body);
      expect([response.status, response.status === 200 ? '' : await response.text()]).toEqual([200, '']);
      // Two passes at least, each with the context of the model at $1 per million tokens.
      expect(Number(response.headers.get('x-svc-held-usd'))).toBeGreaterThan(0.1);
    },
  );

  test('a file beside a tool of the provider is refused', async () => {
    const input = user({ type: 'input_file', file_id: 'file_1' });
    const response = await call('responses', { tools: [{ type: 'web_search' }], input });
    expect((await response.json()).error).toMatchObject({
      code: 'unseen_input',
      details: { field: 'input[0].content[0]' },
    });
  });

  test('a message with the type of a result is refused, because a provider may read its content', async () => {
    const input = [{ ...user({ type: 'input_file', file_id: 'file_1' })[0], type: 'web_search_call' }];
    const response = await call('responses', { input });
    expect((await response.json()).error).toMatchObject({
      code: 'unseen_input',
      details: { field: 'input[0]' },
    });
  });

  test('unseen input is refused also if the routing policy chooses the model', async () => {
    const policy = {
      candidates: ['gpt-seen'],
      suite: 'any',
      min_score: 0,
      max_age_days: 30,
      objective: 'cost',
    };
    await ofOrg('PUT', '/routing-policy', { ...policy, fallbacks: ['gpt-seen'] });
    expect((await call('chat', { model: 'purser/auto' })).status).toBe(200);
    const response = await call('chat', { model: 'purser/auto', attachments: [{ id: 'file_1' }] });
    expect([response.status, (await response.json()).error.code]).toEqual([400, 'unseen_input']);
  });
});

describe('hold', () => {
  test.each(unseen)('%s %j is sent, and held at the context', async (shape, body) => {
    // A stored prompt may have tools, which need a price.
    gateway.settings = { ...usual, unpricedToolCallNanos: 0n };
    const response = await call(shape, body);
    expect(response.status).toBe(200);
    expect(Number(response.headers.get('x-svc-held-usd'))).toBeGreaterThanOrEqual(0.1);
    expect(gateway.provider.requests).toHaveLength(1);
  });

  const withTool = { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] };
  const denials: readonly (readonly [Shape, object, RegExp])[] = [
    ...unseen
      .filter(([, body]) => !('prompt' in body))
      .map(([shape, body, , reason]) => [shape, body, reason] as const),
    [
      'messages',
      withTool,
      /held at 100,000 tokens \(4 times, .*because the provider runs `tools\[0\]`.*\. Leave the tool out/,
    ],
  ];

  describe.each(['budget', 'x-svc-max-cost-usd'])('a denial by %s', (limit) => {
    const headers: Record<string, string> = limit === 'budget' ? {} : { 'x-svc-max-cost-usd': '0.05' };
    let budget: string;
    beforeAll(async () => {
      if (limit === 'budget') {
        const body = { name: 'Small', scope_kind: 'org', period: 'day', limit_usd: '0.05' };
        budget = (await ofOrg('POST', '/budgets', body)).json.id;
      }
    });
    afterAll(async () => {
      if (limit === 'budget') {
        await ofOrg('DELETE', `/budgets/${budget}`);
      }
    });
    const code = limit === 'budget' ? 'budget_exceeded' : 'max_cost_exceeded';

    test.each(denials)('of %s %j says why so much is held', async (shape, body, reason) => {
      const response = await call(shape, body, headers);
      const { error } = await response.json();
      expect([response.status, error.code]).toEqual([402, code]);
      expect(error.message).toMatch(/The input is held at 100,000 tokens.*set `unseen_input_tokens`/);
      expect(error.message).toMatch(reason);
      expect(gateway.provider.requests).toEqual([]);
    });

    test('says nothing of it if all input is seen, or if unseen input is held at 0', async () => {
      const seen = await call('chat', { max_tokens: 50_000 }, headers);
      gateway.settings = { ...usual, unseenInputTokens: 0 };
      const assumed = await call('chat', { max_tokens: 50_000, attachments: [{ id: 'file_1' }] }, headers);
      for (const response of [seen, assumed]) {
        const { error } = await response.json();
        expect([response.status, error.code]).toEqual([402, code]);
        expect(error.message).not.toMatch(/input is held/);
      }
    });
  });

  test('the reason is not recorded with the denial, whose code and details stay', async () => {
    await gateway.cap('0.05');
    const response = await call('chat', { 'a secret of the prompt': 'text' });
    const { error } = await response.json();
    expect(error.message).toContain('`a secret of the prompt`');
    expect(error).toMatchObject({ code: 'spend_cap_exceeded', details: { cap_usd: '0.05' } });
    const denied = await eventually(async () => {
      await gateway.world.runJob('record-refusals');
      const { json } = await ofOrg('GET', '/refusals');
      const found = json.data.find((one: { code: string }) => one.code === 'spend_cap_exceeded');
      expect(found).toBeDefined();
      return found;
    });
    expect(JSON.stringify(denied)).not.toContain('secret of the prompt');
    expect(error.message).toMatch(/^.* It resets at \S+ The input is held at/);
    expect(error.message.startsWith(denied.message)).toBe(true);
    await gateway.cap('1000');
  });

  test('Codex gets the reason in its own format', async () => {
    await gateway.cap('0.05');
    const response = await call('responses', { input: [{ id: 'msg_1' }] }, { originator: 'codex_cli_rs' });
    const { error } = await response.json();
    expect([response.status, error.type]).toEqual([429, 'usage_limit_reached']);
    expect(error.message).toMatch(/because the gateway does not know what `input\[0\]` carries/);
    await gateway.cap('1000');
  });
});
