/** Providers that collect the arguments of a tool before they send them: what they bill is charged, also if nobody reads it any more. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();
let server: Server;
/** Tokens that are billed by now. */
let billed = () => 0;
let respond: (response: ServerResponse) => void;

const event = (data: { readonly type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-test', content: [] };

function begin(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const usage = { input_tokens: 6, output_tokens: 1 };
  response.write(event({ type: 'message_start', message: { ...message, usage } } as { type: string }));
  const block = { type: 'tool_use', id: 'toolu_1', name: 'write_file', input: {} };
  response.write(event({ type: 'content_block_start', index: 0, content_block: block } as { type: string }));
}

function finish(response: ServerResponse): void {
  begin(response);
  const usage = { input_tokens: 6, output_tokens: 12 };
  response.write(event({ type: 'content_block_stop', index: 0 } as { type: string }));
  const delta = { stop_reason: 'tool_use' };
  response.write(event({ type: 'message_delta', delta, usage } as { type: string }));
  response.end(event({ type: 'message_stop' }));
}

/** Generates 400 tokens per second, slower than is assumed of it, and sends pings only, until its client has left. */
function collect(response: ServerResponse): void {
  begin(response);
  const startedMs = performance.now();
  let endedMs: number | undefined;
  billed = () => Math.floor(((endedMs ?? performance.now()) - startedMs) * 0.4);
  const timer = setInterval(() => response.write(event({ type: 'ping' })), 20);
  response.once('close', () => {
    endedMs = performance.now();
    clearInterval(timer);
  });
}

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume().once('end', () => respond(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  gateway.connections = [connectionTo(`http://127.0.0.1:${port}`, 'anthropic')];
});
afterAll(() => server.close());
beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  await gateway.cap('1000');
});
afterEach(async () => {
  await eventually(async () => expect(await gateway.holds()).toBe(0));
});

function call(signal: AbortSignal | null = null): Promise<Response> {
  return fetch(`${gateway.url}/anthropic/v1/messages`, {
    method: 'POST',
    signal,
    headers: { 'x-api-key': gateway.key, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'claude-test',
      max_tokens: 1_000_000,
      stream: true,
      tools: [{ name: 'write_file', input_schema: { type: 'object' } }],
      messages: [{ role: 'user', content: 'Write a long file' }],
    }),
  });
}

async function lastRun() {
  return eventually(async () => {
    expect(await gateway.holds()).toBe(0);
    const [run] = await gateway.runs();
    return run;
  });
}

/** Starts a call, and returns once more is billed than is usually in flight. */
async function collecting(): Promise<() => void> {
  respond = collect;
  const abort = new AbortController();
  const response = await call(abort.signal);
  response.text().catch(() => undefined);
  await eventually(() => expect(billed()).toBeGreaterThan(700));
  return () => abort.abort();
}

test('hold: worst_case, a client that leaves is charged what the provider has collected', async () => {
  gateway.settings = { ...gateway.settings, hold: 'worst_case', onAbort: 'close' };
  const leave = await collecting();
  leave();
  const run = await lastRun();
  expect(run).toMatchObject({ status: 'cancelled', marks: ['usage_estimated'] });
  expect(run?.output_tokens).toBeGreaterThanOrEqual(billed());
  expect(run?.output_tokens).toBeLessThan(1_000_000);
});

test('hold: expected, a client that leaves is charged what the provider has collected, also beyond the hold', async () => {
  gateway.settings = { ...gateway.settings, hold: 'expected', onAbort: 'close' };
  respond = finish;
  for (let learned = 0; learned < 20; learned += 1) {
    await (await call()).text();
  }
  gateway.world.clock.advanceSeconds(1);
  const leave = await collecting();
  leave();
  const run = await lastRun();
  expect(run).toMatchObject({ status: 'cancelled' });
  expect(run?.marks.toSorted()).toEqual(['over_hold', 'usage_estimated']);
  expect(run?.output_tokens).toBeGreaterThanOrEqual(billed());
  expect(run?.output_tokens).toBeLessThan(1_000_000);
});

test('a stream that breaks off is charged what the provider has collected', async () => {
  gateway.settings = { ...gateway.settings, hold: 'worst_case', onAbort: 'drain' };
  let breakOff = () => {};
  respond = (response) => {
    collect(response);
    breakOff = () => response.destroy();
  };
  const response = await call();
  const text = response.text();
  await eventually(() => expect(billed()).toBeGreaterThan(700));
  breakOff();
  expect(await text).toContain('broke off');
  const run = await lastRun();
  expect(run).toMatchObject({ status: 'failed', marks: ['usage_estimated'] });
  expect(run?.output_tokens).toBeGreaterThanOrEqual(billed());
});
