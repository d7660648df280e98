/** Malformed and hostile responses of providers. The service keeps running, and every call is settled. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld({ SVC_GATEWAY_STREAMS_MAX: '2' });
let server: Server;
let respond: RequestListener;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    request.once('end', () => respond(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  gateway.connections = [connectionTo(url), connectionTo(url, 'anthropic')];
});
afterAll(() => server.close());
beforeEach(() => gateway.world.clock.advanceSeconds(1));
afterEach(() => eventually(async () => expect(await gateway.holds()).toBe(0)));

const messages = [{ role: 'user', content: 'Say hello to the world' }];

function call(path: string, body: object): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ max_tokens: 100, messages, ...body }),
  });
}
const chat = (more: object = {}) => call('/openai/v1/chat/completions', { model: 'gpt-test', ...more });
const claude = (more: object = {}) => call('/anthropic/v1/messages', { model: 'claude-test', ...more });

async function lastRun() {
  return eventually(async () => {
    expect(await gateway.holds()).toBe(0);
    const [run] = await gateway.runs();
    return run;
  });
}

const eventStream = { 'content-type': 'text/event-stream' };
const events = (...data: readonly object[]) => data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
const whole = {
  choices: [{ message: { content: 'hi' } }],
  usage: { prompt_tokens: 5, completion_tokens: 2 },
};

describe('values that are nested more deeply than calls can be', () => {
  const levels = 100_000;
  const deep = `data: {"choices":[{"index":0,"delta":${'['.repeat(levels)}"text"${']'.repeat(levels)}}]}`;

  test.each([
    ['in a last event without its end', deep, {}],
    ['in an event', `${deep}\n\n`, {}],
    ['in an event that is compressed', gzipSync(`${deep}\n\n`), { 'content-encoding': 'gzip' }],
  ])('%s', async (_, body, headers) => {
    respond = (_, response) => response.writeHead(200, { ...eventStream, ...headers }).end(body);
    const response = await chat({ stream: true });
    await response.arrayBuffer();
    expect(await lastRun()).toMatchObject({ marks: ['usage_estimated'] });
  });
});

describe('texts that headers cannot have', () => {
  const models = ['通义-max', '100%'];
  beforeAll(async () => {
    for (const model of models) {
      await gateway.world.request('PUT', `/v1/admin/models/${encodeURIComponent(model)}`, {
        key: gateway.world.operatorKey,
        body: { provider: 'openai', input_usd_per_million: '1', output_usd_per_million: '10' },
      });
    }
  });

  test.each(models)('the model %j', async (model) => {
    respond = (_, response) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(whole));
    const plain = await chat({ model });
    expect([plain.status, plain.headers.get('x-svc-model')]).toEqual([200, encodeURIComponent(model)]);
    respond = (_, response) =>
      response.writeHead(200, eventStream).end(`${events({ ...whole, choices: [] })}data: [DONE]\n\n`);
    const streamed = await chat({ model, stream: true });
    expect(streamed.headers.get('x-svc-model')).toBe(encodeURIComponent(model));
    await streamed.text();
    expect(await lastRun()).toMatchObject({ model, input_tokens: 5, output_tokens: 2, marks: [] });
  });
});

test('names of tools that cannot be stored are left out', async () => {
  const usage = {
    input_tokens: 5,
    output_tokens: 2,
    server_tool_use: { 'a\u0000b_requests': 1, '\ud800_requests': 1, web_search_requests: 3 },
  };
  respond = (_, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ content: [], usage }));
  expect((await claude()).status).toBe(200);
  expect(await lastRun()).toMatchObject({ input_tokens: 5, units: { web_search: 3 } });
});

describe('a stream of messages without the input', () => {
  const start = (usage: object) => ({ type: 'message_start', message: { usage } });
  const end = { type: 'message_delta', usage: { output_tokens: 5 } };

  test.each([[{}], [{ input_tokens: 'many' }], [{ input_tokens: -1 }], [{ input_tokens: 1e300 }]])(
    'a stream of messages without the input is charged as an upper bound: %j',
    async (usage) => {
      respond = (_, response) =>
        response.writeHead(200, eventStream).end(events(start(usage), end, { type: 'message_stop' }));
      await (await claude({ stream: true })).text();
      const run = await lastRun();
      expect(run).toMatchObject({ marks: ['usage_estimated'] });
      expect(run?.input_tokens).toBeGreaterThan(0);
    },
  );

  test('a stream of messages that reports the input at its end, and breaks off before, is charged as an upper bound', async () => {
    respond = (_, response) => {
      response.writeHead(200, eventStream).write(events(start({ input_tokens: 0, output_tokens: 1 })));
      setImmediate(() => response.destroy());
    };
    await (await claude({ stream: true })).text().catch(() => undefined);
    expect((await lastRun())?.input_tokens).toBeGreaterThan(0);
  });
});
