/** A lenient provider with a bill of its own: what it has sent or reported is charged in full. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import {
  connectionTo,
  type GatewayWorld,
  providerKey,
  useGatewayWorld,
} from '../../test/support/gateway-world.ts';
import type { ConnectionKind } from '../capabilities/integration/connections/index.ts';

const gateway = useGatewayWorld();
let usual: Pick<GatewayWorld, 'settings' | 'connections'>;
let url: string;
let server: Server;
let respond: RequestListener;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    request.once('end', () => respond(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  gateway.connections = [connectionTo(url), connectionTo(url, 'anthropic')];
  usual = { settings: gateway.settings, connections: gateway.connections };
});
afterAll(() => server.close());
beforeEach(() => gateway.world.clock.advanceSeconds(1));
afterEach(async () => {
  Object.assign(gateway, usual);
  await eventually(async () => expect(await gateway.holds()).toBe(0));
});

const messages = [{ role: 'user', content: 'Say hello to the world' }];
const eventStream = { 'content-type': 'text/event-stream' };
const events = (...data: readonly object[]) => data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');

async function call(path: string, body: object): Promise<string> {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ max_tokens: 100, messages, ...body }),
  });
  return response.text();
}
const chat = (more: object = {}) => call('/openai/v1/chat/completions', { model: 'gpt-test', ...more });
const claude = (more: object = {}) => call('/anthropic/v1/messages', { model: 'claude-test', ...more });
const responses = (more: object = {}) =>
  call('/openai/v1/responses', { model: 'gpt-test', input: 'hello', max_output_tokens: 100, ...more });

async function lastRun() {
  return eventually(async () => {
    expect(await gateway.holds()).toBe(0);
    const [run] = await gateway.runs();
    return run;
  });
}

const chunk = (content: string, more: object = {}) => ({
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...more,
});
const usageChunk = (prompt: number, completion: number) => ({
  choices: [],
  usage: { prompt_tokens: prompt, completion_tokens: completion },
});

describe('output that was received is charged in full', () => {
  /** Short words: each is a token. */
  const words = (count: number) => ' the'.repeat(count);

  test.each([
    ['at once', () => events(chunk(words(8_000)))],
    ['as tokens', () => events(chunk('')) + events(chunk(' the')).repeat(8_000)],
    [
      'with its usage',
      () => `${events(chunk(' the')).repeat(8_000)}${events(usageChunk(5, 8_000))}data: [DONE]\n\n`,
    ],
  ])(
    'hold: expected, also if no limit allows to increase the hold for output that is sent %s',
    async (_, sent) => {
      gateway.settings = { ...gateway.settings, hold: 'expected' };
      respond = (_, response) =>
        response.writeHead(200, eventStream).end(`${events(usageChunk(5, 5))}data: [DONE]\n\n`);
      for (let calls = 0; calls < 25; calls += 1) {
        await chat({ stream: true });
      }
      // Room for the first hold of about 550 tokens, and not for 8,000.
      await gateway.capAbove(0.01);
      gateway.world.clock.advanceSeconds(1);
      respond = (_, response) => {
        response.writeHead(200, eventStream);
        response.write(sent());
      };
      await chat({ stream: true, max_tokens: 10_000 });
      const run = await lastRun();
      expect(run?.marks).toEqual(expect.arrayContaining(['truncated', 'over_hold']));
      expect(run?.output_tokens).toBeGreaterThanOrEqual(8_000);
      await gateway.cap('100');
    },
  );

  test('output beyond the maximum in the body, which the provider has ignored, is charged in full', async () => {
    respond = (_, response) => response.writeHead(200, eventStream).end(events(chunk(words(8_000))));
    await chat({ stream: true, max_tokens: 10 });
    // The number of tokens is not known: no text has more than eight bytes per token on average.
    expect((await lastRun())?.output_tokens).toBeGreaterThanOrEqual(4_000);
    gateway.world.clock.advanceSeconds(1);
    respond = (_, response) =>
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ choices: [{ message: { content: words(8_000) } }] }));
    await chat({ max_tokens: 10 });
    expect((await lastRun())?.output_tokens).toBeGreaterThanOrEqual(4_000);
  });
});

describe('output of a stream that has another form is charged too, if there is no usage', () => {
  const words = ' the'.repeat(2_000);
  const lines = `${JSON.stringify({ choices: [{ delta: { content: words } }] })}\n`;
  const created = { type: 'response.created', response: { id: 'resp_1' } };
  const message = { type: 'message', content: [{ type: 'output_text', text: words }] };
  const start = { type: 'message_start', message: { content: [{ type: 'text', text: words }], usage: {} } };

  test.each<[string, (more: object) => Promise<string>, string]>([
    ['whole messages', chat, events({ choices: [{ message: { content: words } }] })],
    ['completions', chat, events({ choices: [{ text: words }] })],
    ['another format', chat, events({ type: 'token', token: { text: words } })],
    ['lists', chat, `data: [${lines}]\n\n`],
    ['lines of JSON', chat, lines + lines],
    ['text', chat, `data: ${words}\n\n`],
    ['items', responses, events(created, { type: 'response.output_item.done', item: message })],
    ['texts', responses, events(created, { type: 'response.output_text.done', text: words })],
    [
      'the response',
      responses,
      events(created, { type: 'response.completed', response: { output: [message] } }),
    ],
    [
      'deltas with more than a text',
      responses,
      events(created, { type: 'response.x', delta: { text: words } }),
    ],
    ['the start of a message', claude, events(start)],
    ['chunks of a chat, for a response', responses, events(chunk(words))],
    ['chunks of a chat, for a message', claude, events(chunk(words))],
    [
      'a call of a function without deltas, after a text',
      responses,
      events(
        { type: 'response.output_text.delta', output_index: 0, delta: 'a' },
        {
          type: 'response.output_item.done',
          output_index: 1,
          item: { type: 'function_call', name: 'x', arguments: words },
        },
        { type: 'response.completed', response: { output: [] } },
      ),
    ],
  ])('%s', async (_, send, body) => {
    respond = (_, response) => response.writeHead(200, eventStream).end(body);
    await send({ stream: true, max_tokens: 4_000, ...(send === responses && { max_output_tokens: 4_000 }) });
    const run = await lastRun();
    expect(run?.marks).toContain('usage_estimated');
    expect(run?.output_tokens).toBeGreaterThanOrEqual(2_000);
  });
});

describe('usage that is followed by more output is not final', () => {
  test('usage of a chat that is followed by more output is not final', async () => {
    respond = (_, response) =>
      response
        .writeHead(200, eventStream)
        .end(`${events(usageChunk(5, 1), chunk(' the'.repeat(90)))}data: [DONE]\n\n`);
    await chat({ stream: true });
    const run = await lastRun();
    expect(run).toMatchObject({ marks: ['usage_estimated'] });
    expect(run?.output_tokens).toBeGreaterThanOrEqual(90);
  });

  test('usage of a message that is followed by more output is not final', async () => {
    const text = {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: ' a'.repeat(90) },
    };
    respond = (_, response) =>
      response
        .writeHead(200, eventStream)
        .end(
          events(
            { type: 'message_start', message: { usage: { input_tokens: 5, output_tokens: 1 } } },
            { type: 'message_delta', usage: { output_tokens: 1 } },
            text,
            { type: 'message_stop' },
          ),
        );
    await claude({ stream: true });
    const run = await lastRun();
    expect(run).toMatchObject({ input_tokens: 5, marks: ['usage_estimated'] });
    expect(run?.output_tokens).toBeGreaterThanOrEqual(90);
  });

  test('unless more usage follows: the largest counts are charged', async () => {
    respond = (_, response) =>
      response
        .writeHead(200, eventStream)
        .end(
          `${events(usageChunk(5, 1), chunk(' a b c'), usageChunk(7, 3), usageChunk(0, 0))}data: [DONE]\n\n`,
        );
    await chat({ stream: true });
    expect(await lastRun()).toMatchObject({ input_tokens: 7, output_tokens: 3, marks: [] });
    gateway.world.clock.advanceSeconds(1);
    respond = (_, response) =>
      response
        .writeHead(200, eventStream)
        .end(
          events(
            { type: 'message_start', message: { usage: { input_tokens: 50, output_tokens: 1 } } },
            { type: 'message_delta', usage: { input_tokens: 0, output_tokens: 9 } },
          ),
        );
    await claude({ stream: true });
    expect(await lastRun()).toMatchObject({ input_tokens: 50, output_tokens: 9, marks: [] });
  });
});

describe('usage is read from events, whatever the request and the content type say', () => {
  test.each(['application/json', 'text/plain', 'text/event-stream'])('%s', async (type) => {
    respond = (_, response) =>
      response
        .setHeader('content-type', type)
        .end(`: hello\n\n${events(chunk('hi'), usageChunk(20, 30))}data: [DONE]\n\n`);
    await chat();
    expect(await lastRun()).toMatchObject({ input_tokens: 20, output_tokens: 30, marks: [] });
  });

  test('usage of messages and responses is read from events, whatever the request and the content type say', async () => {
    respond = (_, response) =>
      response
        .setHeader('content-type', 'application/json')
        .end(
          events(
            { type: 'message_start', message: { usage: { input_tokens: 50, output_tokens: 1 } } },
            { type: 'message_delta', usage: { output_tokens: 9 } },
          ),
        );
    await claude();
    expect(await lastRun()).toMatchObject({ input_tokens: 50, output_tokens: 9, marks: [] });
    gateway.world.clock.advanceSeconds(1);
    const usage = { input_tokens: 40, output_tokens: 8 };
    respond = (_, response) =>
      response
        .setHeader('content-type', 'application/json')
        .end(`event: response.completed\n${events({ type: 'response.completed', response: { usage } })}`);
    await responses();
    expect(await lastRun()).toMatchObject({ input_tokens: 40, output_tokens: 8, marks: [] });
  });
});

describe('usage is read after a byte order mark', () => {
  const { usage } = usageChunk(20, 30);
  const answer = { choices: [{ message: { content: 'hi' } }], usage };

  test.each([
    ['text/event-stream', { stream: true }, events({ ...chunk('hi'), usage })],
    ['application/json', {}, events({ ...chunk('hi'), usage })],
    ['application/json', {}, JSON.stringify(answer)],
  ])('%s', async (type, more, body) => {
    const end = body.startsWith('data') ? 'data: [DONE]\n\n' : '';
    respond = (_, response) => response.setHeader('content-type', type).end(`\ufeff${body}${end}`);
    await chat(more);
    expect(await lastRun()).toMatchObject({ input_tokens: 20, output_tokens: 30, marks: [] });
  });
});

test('usage is read from the last event, whatever its type is', async () => {
  const start = { type: 'message_start', message: { usage: { input_tokens: 5, output_tokens: 1 } } };
  respond = (_, response) =>
    response
      .writeHead(200, eventStream)
      .end(
        events(
          start,
          { type: 'message_delta', usage: { output_tokens: 1 } },
          { type: 'message_stop', usage: { output_tokens: 90 } },
        ),
      );
  await claude({ stream: true });
  expect(await lastRun()).toMatchObject({ input_tokens: 5, output_tokens: 90, marks: [] });
  gateway.world.clock.advanceSeconds(1);
  const usage = { input_tokens: 40, output_tokens: 80 };
  respond = (_, response) =>
    response.writeHead(200, eventStream).end(events({ type: 'response.done', response: { usage } }));
  await responses({ stream: true });
  expect(await lastRun()).toMatchObject({ input_tokens: 40, output_tokens: 80, marks: [] });
});

test('tokens of an advisor, which the other counts leave out, are charged', async () => {
  const usage = {
    input_tokens: 10,
    output_tokens: 20,
    iterations: [
      { type: 'message', input_tokens: 10, output_tokens: 20 },
      {
        type: 'advisor_message',
        model: 'claude-test',
        input_tokens: 800,
        cache_read_input_tokens: 100,
        output_tokens: 1_600,
      },
    ],
  };
  respond = (_, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ content: [], usage }));
  await claude();
  expect(await lastRun()).toMatchObject({
    input_tokens: 910,
    cached_input_tokens: 100,
    output_tokens: 1_620,
  });
});

describe('an attempt that failed is charged as an upper bound if the provider may have worked', () => {
  const apiError = JSON.stringify({ error: { message: 'sorry', type: 'server_error', code: null } });
  const overloaded = JSON.stringify({ error: { message: 'sorry', type: 'overloaded_error' } });
  const filtered = JSON.stringify({ error: { message: 'filtered', code: 'content_filter', status: 400 } });
  const html = '<html>502 Bad Gateway</html>';

  /** Each attempt has a maximum of 100 tokens. */
  test.each<[string, ConnectionKind, number, string, number]>([
    ['an error of the API', 'openai', 500, apiError, 0],
    ['an error of the API', 'azure_openai', 408, apiError, 0],
    ['contents that Azure has filtered', 'azure_openai', 400, filtered, 100],
    ['another rejection of Azure', 'azure_openai', 400, apiError, 0],
    ['contents that others have filtered', 'openai', 400, filtered, 0],
    ['a page of a proxy before it', 'openai', 502, html, 300],
    ['an error of a compatible provider', 'openai_compatible', 500, apiError, 300],
    ['a timeout of a compatible provider', 'openai_compatible', 408, apiError, 300],
    ['a page of a compatible provider', 'openai_compatible', 504, html, 300],
    ['a compatible provider that is overloaded', 'openai_compatible', 529, overloaded, 0],
    ['a compatible provider that limits the rate', 'openai_compatible', 429, html, 0],
    ['a compatible provider that rejects the body', 'openai_compatible', 422, apiError, 0],
  ])('%s: %s, %i', async (_, kind, status, body, outputTokens) => {
    gateway.connections = [connectionTo(url, kind, { name: 'tested' })];
    let attempts = 0;
    respond = (_, response) => {
      attempts += 1;
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' }).end(body);
    };
    // 503 and 529 with Retry-After were put off: the other statuses are not.
    expect(await call('/compat/tested/v1/chat/completions', { model: 'gpt-test' })).toBe(body);
    expect(attempts).toBe(status === 422 || status === 400 ? 1 : 3);
    const run = await lastRun();
    expect(run).toMatchObject({ status: 'failed', output_tokens: outputTokens });
    expect([(run?.input_tokens ?? 0) > 0, run?.marks.includes('usage_estimated')]).toEqual(
      outputTokens > 0 ? [true, true] : [false, false],
    );
  });

  test('a connection that is closed after the request was sent', async () => {
    respond = (request) => request.socket.destroy();
    expect(await chat()).toContain('provider_unreachable');
    expect(await lastRun()).toMatchObject({ status: 'failed', output_tokens: 300 });
  });

  test('no other attempt follows if its cost cannot be held too, and the error is passed on', async () => {
    gateway.connections = [connectionTo(url, 'openai_compatible', { name: 'tested' })];
    let attempts = 0;
    respond = (_, response) => {
      attempts += 1;
      response.writeHead(500, { 'content-type': 'application/json' }).end(apiError);
    };
    const response = await fetch(`${gateway.url}/compat/tested/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.key}`,
        'content-type': 'application/json',
        'x-svc-max-cost-usd': '0.0015',
      },
      body: JSON.stringify({ model: 'gpt-test', max_tokens: 100, messages }),
    });
    expect([response.status, await response.text(), attempts]).toEqual([500, apiError, 1]);
    expect(await lastRun()).toMatchObject({ output_tokens: 100, marks: ['usage_estimated'] });
  });

  test.each([
    [500, 'openai_compatible'],
    [429, 'openai'],
  ] as const)(
    'no other attempt follows an error that reports usage, which used the hold: %i',
    async (status, kind) => {
      gateway.connections = [connectionTo(url, kind, { name: 'tested' })];
      const body = JSON.stringify({ error: {}, usage: { prompt_tokens: 20, completion_tokens: 100 } });
      let attempts = 0;
      respond = (_, response) => {
        attempts += 1;
        response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' }).end(body);
      };
      const response = await fetch(`${gateway.url}/compat/tested/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${gateway.key}`,
          'content-type': 'application/json',
          'x-svc-max-cost-usd': '0.0015',
        },
        body: JSON.stringify({ model: 'gpt-test', max_tokens: 100, messages }),
      });
      expect([response.status, await response.text(), attempts]).toEqual([status, body, 1]);
      expect(await lastRun()).toMatchObject({ input_tokens: 20, output_tokens: 100, marks: [] });
    },
  );

  test('usage that the error reports is charged instead', async () => {
    gateway.connections = [connectionTo(url, 'openai_compatible', { name: 'tested' })];
    const body = JSON.stringify({ error: {}, usage: { prompt_tokens: 7, completion_tokens: 2 } });
    respond = (_, response) => response.writeHead(500, { 'content-type': 'application/json' }).end(body);
    await call('/compat/tested/v1/chat/completions', { model: 'gpt-test' });
    expect(await lastRun()).toMatchObject({ input_tokens: 21, output_tokens: 6, marks: [] });
  });

  test('a provider that refuses the connection costs nothing', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    gateway.connections = [connectionTo(`http://127.0.0.1:${port}`)];
    expect(await chat()).toContain('provider_unreachable');
    expect(await lastRun()).toMatchObject({ status: 'failed', cost_usd: '0', marks: [] });
  });
});

describe('a response with an encoding', () => {
  const answer = JSON.stringify({
    choices: [{ message: { content: 'hi' } }],
    usage: { prompt_tokens: 20, completion_tokens: 30 },
  });

  test('a response with an encoding that was applied twice is decoded, and its usage is read', async () => {
    respond = (_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip, gzip' })
        .end(gzipSync(gzipSync(answer)));
    expect(await chat()).toBe(answer);
    expect(await lastRun()).toMatchObject({ input_tokens: 20, output_tokens: 30, marks: [] });
  });

  test.each([
    ['unknown', 'application/json', {}],
    ['unknown', 'text/event-stream', { stream: true }],
    ['gzip, gzip, gzip, gzip', 'application/json', {}],
  ])(
    'a response with an encoding that cannot be decoded is charged as its maximum: %s of %s',
    async (encoding, type, more) => {
      respond = (_, response) =>
        response.writeHead(200, { 'content-type': type, 'content-encoding': encoding }).end('xyz');
      await fetch(`${gateway.url}/openai/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-test', max_tokens: 2_000, messages, ...more }),
      }).then((response) => response.arrayBuffer().catch(() => undefined));
      expect(await lastRun()).toMatchObject({ output_tokens: 2_000, marks: ['usage_estimated'] });
    },
  );
});

describe('a stream of which a part cannot be read is charged as its maximum', () => {
  const words = ' the'.repeat(2_000);
  const answer = `${events(chunk(words), usageChunk(20, 2_000))}data: [DONE]\n\n`;
  const padding = `:${'x'.repeat(34_000_000)}\n`;
  const reported = events(
    { type: 'message_start', message: { usage: { input_tokens: 5, output_tokens: 1 } } },
    { type: 'message_delta', usage: { output_tokens: 1 } },
  );
  const started = `${events(chunk('a'), usageChunk(20, 1))}data: [DONE]\n\n`;

  test.each<[string, (more: object) => Promise<string>, string | undefined, () => string | Buffer]>([
    ['an event is too long', chat, undefined, () => padding + answer],
    ['an event after the usage is too long', claude, undefined, () => reported + padding + answer],
    ['it is not encoded', chat, 'gzip', () => answer],
    ['it has another encoding', chat, 'deflate', () => deflateRawSync(answer)],
    ['the rest is not encoded', chat, 'gzip', () => Buffer.concat([gzipSync(started), Buffer.from(answer)])],
    [
      'more follows the encoded data',
      chat,
      'deflate',
      () => Buffer.concat([deflateSync(started), deflateSync(answer)]),
    ],
  ])('%s', async (_, send, encoding, body) => {
    respond = (_, response) =>
      response
        .writeHead(200, { ...eventStream, ...(encoding !== undefined && { 'content-encoding': encoding }) })
        .end(body());
    await send({ stream: true, max_tokens: 2_000 });
    expect(await lastRun()).toMatchObject({ output_tokens: 2_000, marks: ['usage_estimated'] });
  });

  test('text that was received of an encoded stream before it broke off is read and charged', async () => {
    const encoded = gzipSync(events(chunk(words), chunk('a')));
    respond = (_, response) => {
      response.writeHead(200, { ...eventStream, 'content-encoding': 'gzip' });
      response.write(encoded.subarray(0, encoded.length - 8), () => response.destroy());
    };
    expect(await chat({ stream: true, max_tokens: 10_000 })).toContain(words);
    const run = await lastRun();
    expect(run?.output_tokens).toBeGreaterThanOrEqual(2_000);
  });
});

describe('a response without output and usage is charged as its maximum, because the answer may have been lost', () => {
  test.each([
    ['an empty body', 200, ''],
    ['no content', 204, ''],
    ['an answer that is generated later', 202, JSON.stringify({ request_id: 'x' })],
    ['a part of the body', 206, '{'],
    ['no choices', 200, JSON.stringify({ choices: [] })],
  ])('%s', async (_, status, body) => {
    respond = (_, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    await chat({ max_tokens: 2_000 });
    expect(await lastRun()).toMatchObject({ output_tokens: 2_000, marks: ['usage_estimated'] });
  });
});

test.each([
  ['plain', 'application/json', false],
  ['streamed', 'text/event-stream', true],
])('an answer with a usage of 0 is charged as an upper bound: %s', async (_, type, stream) => {
  const text = 'the '.repeat(1_000);
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const plain = JSON.stringify({ choices: [{ message: { role: 'assistant', content: text } }], usage });
  const streamed = `${events(chunk(text), { choices: [], usage })}data: [DONE]\n\n`;
  respond = (_request, response) =>
    response.writeHead(200, { 'content-type': type }).end(stream ? streamed : plain);
  await chat({ stream, max_tokens: 2_000 });
  const run = await lastRun();
  expect(run?.marks).toEqual(['usage_estimated']);
  expect(run?.input_tokens).toBeGreaterThan(0);
  expect(run?.output_tokens).toBeGreaterThanOrEqual(1_000);
});

describe('the key of the provider is removed', () => {
  const echo = JSON.stringify({ error: { message: `bad header: Bearer ${providerKey}` } });
  const post = (path: string, body: object) =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ max_tokens: 100, messages, ...body }),
    });

  test.each([200, 400, 403, 500])(
    'the key of the provider is removed from bodies and headers with status %i',
    async (status) => {
      respond = (_, response) =>
        response
          .writeHead(status, { 'content-type': 'application/json', 'x-debug': `key=${providerKey}` })
          .end(echo);
      const response = await post('/openai/v1/chat/completions', { model: 'gpt-test' });
      expect(response.headers.get('x-debug')).toBe('key=[redacted]');
      expect(await response.text()).toBe(echo.replace(providerKey, '[redacted]'));
      await lastRun();
    },
  );

  test('the key of the provider is removed from calls that cost nothing', async () => {
    respond = (_, response) => response.writeHead(400, { 'content-type': 'application/json' }).end(echo);
    const response = await post('/anthropic/v1/messages/count_tokens', { model: 'claude-test' });
    expect([response.status, await response.text()]).toEqual([400, echo.replace(providerKey, '[redacted]')]);
  });

  test('the key of the provider is removed from streams, also if it spans two chunks of one that cannot be read', async () => {
    respond = (_, response) => {
      response.writeHead(200, eventStream);
      const text = `${events(chunk(`hi ${providerKey}`))}data: ${'x'.repeat(100)}${providerKey}`;
      response.write(text.slice(0, -5));
      setImmediate(() => response.end(text.slice(-5)));
    };
    const response = await post('/openai/v1/chat/completions', { model: 'gpt-test', stream: true });
    const text = await response.text();
    expect(text).not.toContain(providerKey);
    expect(text.split('[redacted]')).toHaveLength(3);
    await lastRun();
  });
});
