/** The memory of bodies: accounted while it is used, and not kept longer than a retry may need it. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { callFormats } from '../kernel/providers/formats.ts';
import { workMemoryOf } from '../platform/http/message/body-memory.ts';
import { completed } from '../platform/sliced-work.ts';
import { CallMemory } from './body/call-memory.ts';
import { dropBytes, dropContent, parseCall } from './parse-call.ts';

const gateway = useGatewayWorld();
let server: Server;
/** Responses that have not begun. */
const waiting: ServerResponse[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    request.once('end', () => waiting.push(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  gateway.connections = [connectionTo(url), connectionTo(url, 'anthropic')];
});
afterAll(() => server.close());
beforeEach(() => gateway.world.clock.advanceSeconds(1));
afterEach(() => eventually(async () => expect(await gateway.holds()).toBe(0)));

const text = 'word '.repeat(400_000);

function call(path: string, model: string): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream: true,
      max_tokens: 10,
      messages: [{ role: 'user', content: text }],
    }),
  });
}
const chat = () => call('/openai/v1/chat/completions', 'gpt-test');
const { pool } = workMemoryOf('');
const chunk = (more: object) =>
  `data: ${JSON.stringify({ id: 'a', object: 'chat.completion.chunk', model: 'gpt-test', choices: [], ...more })}\n\n`;

test('a call holds the memory of its bytes until its response begins', async () => {
  const response = chat();
  const provider = await eventually(async () => {
    expect(waiting).toHaveLength(1);
    return waiting.pop() as ServerResponse;
  });
  const held = pool.usedBy(gateway.org.id);
  expect(held).toBeGreaterThan(2 * text.length);
  expect(held).toBeLessThan(2 * text.length + 2_000);
  provider.writeHead(200, { 'content-type': 'text/event-stream' });
  provider.write(chunk({ choices: [{ index: 0, delta: { content: 'a' } }] }));
  const { body } = await response;
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  expect(pool.usedBy(gateway.org.id)).toBe(0);
  provider.end(
    `${chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 1 } })}data: [DONE]\n\n`,
  );
  while (!(await reader.read()).done) {
    // The rest of the stream.
  }
});

test.each([
  ['/openai/v1/chat/completions', 'gpt-test', 'api_error'],
  ['/anthropic/v1/messages', 'claude-test', 'overloaded_error'],
  ['/anthropic/v1/messages/count_tokens', 'claude-test', 'overloaded_error'],
])(
  'without memory a call to %s is 503 in the format of the provider, and not sent',
  async (path, model, type) => {
    const taken = pool.capacity - pool.used;
    pool.take('org_other', taken);
    try {
      const response = await call(path, model);
      const { error } = (await response.json()) as { error: { type: string; message: string } };
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
      expect(error.type).toBe(type);
      expect(error.message).toContain('Too many large bodies');
      expect(waiting).toEqual([]);
      expect(pool.usedBy(gateway.org.id)).toBe(0);
    } finally {
      pool.release('org_other', taken);
    }
  },
);

test('memory is accounted before a body is parsed, and shared among tenants', () => {
  const one = new CallMemory(workMemoryOf('org_memory_1'));
  const large = Math.floor(pool.capacity / 4);
  one.holdBytes(large);
  expect(() => one.holdParsed(0)).toThrow('Too many large bodies');
  expect(pool.usedBy('org_memory_1')).toBe(2 * large);
  const more = new CallMemory(workMemoryOf('org_memory_1'));
  expect(() => more.holdBytes(large)).toThrow('Too many large bodies');
  const body = Buffer.from('{"model":"gpt-test","messages":[]}');
  const another = new CallMemory(workMemoryOf('org_memory_2'));
  another.holdBytes(body.length);
  expect(completed(parseCall(callFormats.chat, body, another)).model).toBe('gpt-test');
  for (const memory of [one, more, another, another]) {
    memory.release();
  }
  expect([pool.usedBy('org_memory_1'), pool.usedBy('org_memory_2')]).toEqual([0, 0]);
});

test('of an admitted call only short settings are kept, and none of its bytes once it is answered', () => {
  const memory = new CallMemory(workMemoryOf('org_memory_1'));
  const fields = {
    model: 'gpt-test',
    max_tokens: 5,
    stream: true,
    user: 'a'.repeat(201),
    messages: [{ content: text }],
  };
  const body = Buffer.from(JSON.stringify({ ...fields, tools: [{ type: 'function' }], input: null }));
  memory.holdBytes(body.length);
  const parsed = completed(parseCall(callFormats.chat, body, memory));
  dropContent(parsed);
  expect(parsed.body).toEqual({ model: 'gpt-test', max_tokens: 5, stream: true });
  expect(parsed.bytes).toBe(body);
  dropBytes(parsed);
  expect(JSON.stringify({ ...parsed, format: undefined }).length).toBeLessThan(1_000);
  memory.release();
});
