import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, providerKey, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { exchange } from '../../test/support/raw-socket.ts';

const gateway = useGatewayWorld();
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(() => {
  openai = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: `${gateway.url}/anthropic`, apiKey: gateway.key, maxRetries: 0 });
});
beforeEach(() => {
  nextSecond();
  gateway.provider.fault = undefined;
  gateway.provider.requests.length = 0;
  gateway.provider.sent.length = 0;
});

const messages = [{ role: 'user' as const, content: 'Say hello to the world' }];

/** Runs are listed by their time, which the clock of the tests does not advance by itself. */
function nextSecond() {
  gateway.world.clock.advanceSeconds(1);
}

async function lastRun() {
  const [run] = await gateway.runs();
  return run;
}

test('a chat completion reaches the provider with the cap in its body, and is settled with its usage', async () => {
  const { data, response } = await openai.chat.completions
    .create({ model: 'gpt-test', messages })
    .withResponse();
  expect(data.choices[0]?.message.content).toBe('tok0 tok1 tok2 tok3 tok4 ');
  const [received] = gateway.provider.requests;
  expect(received?.url).toBe('/v1/chat/completions');
  expect(JSON.parse(received?.text ?? '')).toEqual({
    max_completion_tokens: 1_000,
    model: 'gpt-test',
    messages,
  });
  expect(received?.headers.authorization).toBe(`Bearer ${providerKey}`);
  const run = await lastRun();
  const [billed] = gateway.provider.bill.slice(-1);
  expect(run).toMatchObject({
    status: 'succeeded',
    model: 'gpt-test',
    provider: 'openai',
    input_tokens: billed?.inputTokens,
    output_tokens: 5,
    marks: [],
  });
  expect(response.headers.get('x-svc-run-id')).toBe(run?.id);
  expect(response.headers.get('x-svc-cost-usd')).toBe(run?.cost_usd);
  expect(Number(response.headers.get('x-svc-held-usd'))).toBeGreaterThan(0.01);
  expect(response.headers.get('x-svc-model')).toBe('gpt-test');
  expect(response.headers.get('x-svc-attempts')).toBe('1');
  expect(response.headers.get('x-request-id')).toBe('req_mock');
});

test('a streamed chat completion is settled, and the usage chunk that was not requested is left out', async () => {
  const response = await fetch(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-test', stream: true, messages }),
  });
  const text = await response.text();
  const sent = gateway.provider.sent[0]?.toString() ?? '';
  const usageChunk = sent.split('\n\n').find((event) => event.includes('"choices":[]'));
  expect(usageChunk).toContain('prompt_tokens');
  expect(text).toBe(sent.replace(`${usageChunk}\n\n`, ''));
  expect(await lastRun()).toMatchObject({ status: 'succeeded', output_tokens: 5, marks: [] });
  expect(await gateway.holds()).toBe(0);
});

test('a client that requests the usage chunk gets it, byte for byte', async () => {
  const stream = await openai.chat.completions.create({
    model: 'gpt-test',
    stream: true,
    stream_options: { include_usage: true },
    messages,
  });
  let tokens: number | undefined;
  for await (const chunk of stream) {
    tokens = chunk.usage?.completion_tokens ?? tokens;
  }
  expect(tokens).toBe(5);
});

test('messages of Anthropic, plain and streamed, are metered', async () => {
  const plain = await anthropic.messages.create({ model: 'claude-test', max_tokens: 50, messages });
  expect(plain.usage.output_tokens).toBe(5);
  expect(await lastRun()).toMatchObject({ provider: 'anthropic', output_tokens: 5, status: 'succeeded' });
  expect(gateway.provider.requests[0]?.headers['x-api-key']).toBe(providerKey);
  nextSecond();
  const message = await anthropic.messages
    .stream({ model: 'claude-test', max_tokens: 50, messages })
    .finalMessage();
  expect(message.content[0]).toMatchObject({ type: 'text', text: 'tok0 tok1 tok2 tok3 tok4 ' });
  const [billed] = gateway.provider.bill.slice(-1);
  await eventually(async () =>
    expect(await lastRun()).toMatchObject({ input_tokens: billed?.inputTokens, output_tokens: 5 }),
  );
});

test('responses and embeddings are metered', async () => {
  const plain = await openai.responses.create({ model: 'gpt-test', input: 'Say hello' });
  expect(plain.output_text).toBe('tok0 tok1 tok2 tok3 tok4 ');
  nextSecond();
  const stream = await openai.responses.create({ model: 'gpt-test', input: 'Say hello', stream: true });
  for await (const _ of stream) {
    // Read to the end.
  }
  await eventually(async () =>
    expect(await lastRun()).toMatchObject({ status: 'succeeded', output_tokens: 5 }),
  );
  nextSecond();
  const embedded = await openai.embeddings.create({ model: 'embed-test', input: ['one two', 'three'] });
  expect(embedded.data).toHaveLength(2);
  expect(await lastRun()).toMatchObject({ model: 'embed-test', input_tokens: 3, output_tokens: 0 });
});

test('stored responses, counting of tokens, models and the root are served without a hold', async () => {
  const id = await storedResponse();
  const before = (await gateway.runs()).length;
  expect(await openai.responses.retrieve(id)).toMatchObject({ id });
  expect(gateway.provider.requests[1]?.url).toBe(`/v1/responses/${id}`);
  const counted = await anthropic.messages.countTokens({ model: 'claude-test', messages });
  expect(counted.input_tokens).toBeGreaterThan(0);
  const models = await openai.models.list();
  expect(models.data.map(({ id }) => id)).toContain('gpt-test');
  expect(models.data.map(({ id }) => id)).not.toContain('claude-test');
  const root = await fetch(`${gateway.url}/anthropic`);
  expect(root.status).toBe(200);
  expect((await gateway.runs()).length).toBe(before);
});

async function storedResponse(): Promise<string> {
  gateway.provider.responseId = 'that-the-provider-stores';
  const { id } = await openai.responses.create({ model: 'gpt-test', input: 'hello' });
  gateway.provider.responseId = '1';
  return id;
}

test('a stored response is found at any connection, also behind one that cannot say', async () => {
  const id = await storedResponse();
  const usual = gateway.connections;
  gateway.connections = ['con_1', 'con_2', 'con_3'].map((id) =>
    connectionTo(gateway.provider.url, 'openai', { id, name: id }),
  );
  const answers = (...statuses: number[]) => {
    gateway.provider.requests.length = 0;
    gateway.provider.fault = () => {
      const status = statuses[gateway.provider.requests.length - 1] ?? 200;
      return status === 200 ? undefined : { status };
    };
  };
  answers(404, 401);
  expect(await openai.responses.retrieve(id)).toMatchObject({ id });
  answers(404, 401, 404);
  await expect(openai.responses.retrieve(id)).rejects.toMatchObject({ status: 502 });
  answers(404, 404, 404);
  await expect(openai.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
  gateway.provider.fault = undefined;
  gateway.connections = usual;
});

test.each(['messages', 'tools', 'service_tier', 'thinking'])(
  'a body that repeats %s is rejected, because parsers disagree about it',
  async (name) => {
    const response = await fetch(`${gateway.url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: `{"model":"gpt-test","${name}":[],"${name}":[]}`,
    });
    expect([response.status, (await response.json()).error.details.field]).toEqual([400, name]);
    expect(gateway.provider.requests).toEqual([]);
  },
);

test('more answers than can be held are rejected', async () => {
  await expect(
    openai.chat.completions.create({ model: 'gpt-test', messages, n: 2_000 }),
  ).rejects.toMatchObject({ status: 400 });
});

test('every other path is 404 in the format of the provider, and reaches no provider', async () => {
  for (const [method, path] of [
    ['POST', '/openai/v1/audio/speech'],
    ['POST', '/openai/v1/responses/resp_1/other'],
    ['GET', '/openai/v1/chat/completions'],
    ['POST', '/openai/chat/completions'],
    ['POST', '/openai/v1/../v1/files'],
    ['GET', '/openai'],
    ['POST', '/compat/openai/v1/images/generations'],
    ['DELETE', '/openai/v1/models'],
  ] as const) {
    const response = await fetch(`${gateway.url}${path}`, { method, headers: { 'x-api-key': gateway.key } });
    expect([path, response.status]).toEqual([path, 404]);
    expect(await response.json()).toMatchObject({
      error: { code: 'not_found', type: 'invalid_request_error' },
    });
  }
  const response = await fetch(`${gateway.url}/anthropic/v1/complete`, {
    method: 'POST',
    headers: { 'api-key': gateway.key },
  });
  expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } });
  expect(gateway.provider.requests).toEqual([]);
});

test('an upgrade to WebSocket is answered with 426, so that clients use HTTP at once', async () => {
  const head =
    'GET /openai/v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    `Authorization: Bearer ${gateway.key}\r\n\r\n`;
  const [answer] = await exchange(Number(new URL(gateway.url).port), head);
  expect(answer?.status).toBe(426);
  expect(JSON.parse(answer?.text ?? '')).toMatchObject({ error: { code: 'websocket_not_supported' } });
});

test('a call through a connection by name reaches that connection', async () => {
  const compat = new OpenAI({
    baseURL: `${gateway.url}/compat/openai/v1`,
    apiKey: gateway.key,
    maxRetries: 0,
  });
  await compat.chat.completions.create({ model: 'gpt-test', messages });
  expect(gateway.provider.requests).toHaveLength(1);
  const unknown = new OpenAI({
    baseURL: `${gateway.url}/compat/none/v1`,
    apiKey: gateway.key,
    maxRetries: 0,
  });
  await expect(unknown.chat.completions.create({ model: 'gpt-test', messages })).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
  });
});

test('keys of others are rejected in the format of the provider', async () => {
  const wrong = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: 'sk-wrong', maxRetries: 0 });
  await expect(wrong.chat.completions.create({ model: 'gpt-test', messages })).rejects.toMatchObject({
    status: 401,
    code: 'unauthorized',
  });
  const { secret } = await gateway.world.mintKey(gateway.org, 'member', ['runs:write']);
  const other = new Anthropic({ baseURL: `${gateway.url}/anthropic`, apiKey: secret, maxRetries: 0 });
  await expect(
    other.messages.create({ model: 'claude-test', max_tokens: 5, messages }),
  ).rejects.toMatchObject({
    status: 403,
    error: { error: { type: 'permission_error', details: { required: 'gateway:call' } } },
  });
  expect(gateway.provider.requests).toEqual([]);
});

test('attribution headers name who pays, and do not reach the provider', async () => {
  await openai.chat.completions.create(
    { model: 'gpt-test', messages },
    {
      headers: {
        'x-svc-customer': 'acme',
        'x-svc-workflow': 'chat',
        'x-svc-team': 'core',
        'x-svc-department': 'r-and-d',
        'x-svc-project': 'search',
        'x-svc-tags': 'env=prod,app=web',
        session_id: 'session-1',
      },
    },
  );
  expect(await lastRun()).toMatchObject({
    customer_id: 'acme',
    workflow: 'chat',
    team: 'core',
    department: 'r-and-d',
    project: 'search',
    tags: { env: 'prod', app: 'web' },
    chain_id: 'session-1',
  });
  const names = Object.keys(gateway.provider.requests[0]?.headers ?? {});
  expect(names.filter((name) => name.startsWith('x-svc'))).toEqual([]);
  expect(names).not.toContain('x-api-key');
  for (const [name, value] of [
    ['x-svc-tags', 'broken'],
    ['x-svc-on-limit', 'sometimes'],
    ['x-svc-max-cost-usd', '-1'],
  ] as const) {
    await expect(
      openai.chat.completions.create({ model: 'gpt-test', messages }, { headers: { [name]: value } }),
    ).rejects.toMatchObject({ status: 400, code: 'invalid_header' });
  }
});

test('the rest of the body is sent byte for byte', async () => {
  const body = `{ "model":"gpt-test",  "messages":[{"role":"user","content":"\\u00e4 \\"quoted\\" 1.0"}],\n"temperature":1.0, "max_tokens": 20000 ,"seed":12345678901234567890}`;
  const response = await fetch(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body,
  });
  expect(response.status).toBe(200);
  expect(gateway.provider.requests[0]?.text).toBe(body);
});

test('a body that is not valid is rejected before anything is held', async () => {
  for (const body of [
    '',
    '[]',
    '{',
    '{"model":1}',
    '{"model":"gpt-test","max_tokens":"many"}',
    '{"model":"gpt-test","max_tokens":1,"max_tokens":100000}',
    '{"model":"nobody-has-this"}',
  ]) {
    const response = await fetch(`${gateway.url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body,
    });
    expect([body, response.status]).toEqual([body, 400]);
  }
  expect(gateway.provider.requests).toEqual([]);
  expect(await gateway.holds()).toBe(0);
});
