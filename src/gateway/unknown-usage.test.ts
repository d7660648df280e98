/** Calls whose usage the provider does not report: they are posted as an upper bound, never below what the provider bills. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, type GatewayWorld, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();
let usual: Pick<GatewayWorld, 'connections' | 'settings'>;
const sockets: Socket[] = [];

beforeAll(() => {
  usual = { connections: gateway.connections, settings: gateway.settings };
});
beforeEach(() => {
  gateway.world.clock.advanceSeconds(1);
  const { provider } = gateway;
  provider.fault = undefined;
  provider.beforeChunk = undefined;
  provider.outputOf = () => 5;
  provider.reportedModel = undefined;
  provider.wordOf = (index) => `tok${index % 10} `;
  provider.requests.length = 0;
  provider.bill.length = 0;
});
afterEach(async () => {
  Object.assign(gateway, usual);
  for (const socket of sockets.splice(0)) {
    socket.destroy();
  }
  await eventually(async () => expect(await gateway.holds()).toBe(0));
});

const messages = [{ role: 'user', content: 'Say hello to the world' }];
const paths = { chat: '/openai/v1/chat/completions', messages: '/anthropic/v1/messages' };

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}
const chat = (more: object = {}) =>
  post(paths.chat, { model: 'gpt-test', max_tokens: 100, messages, ...more });

async function lastRun() {
  const [run] = await gateway.runs();
  return run;
}

/** Sums of the bill of the provider. */
function billed() {
  const { bill } = gateway.provider;
  return {
    input: bill.reduce((total, { inputTokens }) => total + inputTokens, 0),
    output: bill.reduce((total, { outputTokens }) => total + outputTokens, 0),
  };
}

/** The provider does not answer the first attempts, which have a short timeout. The others may take as long as they need. */
function leaveUnanswered(attempts: number): void {
  const { requests } = gateway.provider;
  const patientMs = 300_000;
  const timeouts = {
    connectMs: patientMs,
    get firstByteMs() {
      return requests.length < attempts ? 1_000 : patientMs;
    },
    idleMs: patientMs,
    totalMs: patientMs,
  };
  gateway.connections = [connectionTo(gateway.provider.url, 'openai', { timeouts })];
  gateway.provider.fault = () => (requests.length <= attempts ? 'silent' : undefined);
}

test('each attempt that the provider does not answer in time is posted as an upper bound', async () => {
  await gateway.cap('100');
  leaveUnanswered(3);
  const response = await chat();
  expect([response.status, (await response.json()).error.code]).toEqual([504, 'provider_timeout']);
  expect(gateway.provider.bill).toHaveLength(3);
  const run = await lastRun();
  expect(run).toMatchObject({ status: 'failed', output_tokens: 300, marks: ['usage_estimated'] });
  expect(run?.input_tokens).toBeGreaterThanOrEqual(billed().input);
});

test('the bound of an unanswered attempt is added to the usage of the response that follows it', async () => {
  leaveUnanswered(1);
  const response = await chat();
  expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, '2']);
  const run = await lastRun();
  expect(run).toMatchObject({ status: 'succeeded', output_tokens: 105, marks: ['usage_estimated'] });
  expect(run?.input_tokens).toBeGreaterThanOrEqual(billed().input);
});

test('no other attempt follows an unanswered one if the limits do not allow the cost of both', async () => {
  const heldUsd = (await chat()).headers.get('x-svc-held-usd');
  const before = await gateway.spentNanos();
  gateway.world.clock.advanceSeconds(1);
  const capNanos = before + BigInt(Math.round(Number(heldUsd) * 1.5e9));
  await gateway.cap((Number(capNanos) / 1e9).toFixed(9));
  gateway.provider.requests.length = 0;
  gateway.provider.bill.length = 0;
  leaveUnanswered(3);
  expect((await chat()).status).toBe(504);
  expect(gateway.provider.requests).toHaveLength(1);
  expect(await lastRun()).toMatchObject({ status: 'failed', output_tokens: 100, marks: ['usage_estimated'] });
  expect(await gateway.spentNanos()).toBeLessThanOrEqual(capNanos);
  await gateway.cap('100');
});

test('no other attempt follows an unanswered one if both may cost more than x-svc-max-cost-usd', async () => {
  const heldUsd = (await chat()).headers.get('x-svc-held-usd');
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.requests.length = 0;
  leaveUnanswered(3);
  const maxCost = { 'x-svc-max-cost-usd': (Number(heldUsd) * 1.5).toFixed(9) };
  expect((await post(paths.chat, { model: 'gpt-test', max_tokens: 100, messages }, maxCost)).status).toBe(
    504,
  );
  expect(gateway.provider.requests).toHaveLength(1);
  expect(await lastRun()).toMatchObject({ status: 'failed', output_tokens: 100 });
});

/** Turns `hold: expected` on, and makes the calls from which short outputs are expected. */
async function expectShortOutputs(): Promise<void> {
  gateway.settings = { ...gateway.settings, hold: 'expected' };
  for (let call = 0; call < 25; call += 1) {
    await (await chat({ stream: true })).text();
  }
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.requests.length = 0;
}

test('hold: expected, an unanswered attempt is bounded by the maximum in its body, and not by what is expected', async () => {
  await expectShortOutputs();
  leaveUnanswered(3);
  expect((await chat({ stream: true, max_tokens: 10_000 })).status).toBe(504);
  expect(gateway.provider.requests).toHaveLength(3);
  expect(await lastRun()).toMatchObject({ output_tokens: 30_000, marks: ['usage_estimated', 'over_hold'] });
});

test('hold: expected, x-svc-max-cost-usd bounds the maxima of all attempts', async () => {
  await expectShortOutputs();
  leaveUnanswered(3);
  // One attempt may cost $0.1 and a little more.
  const maxCost = { 'x-svc-max-cost-usd': '0.15' };
  const body = { model: 'gpt-test', max_tokens: 10_000, messages, stream: true };
  expect((await post(paths.chat, body, maxCost)).status).toBe(504);
  expect(gateway.provider.requests).toHaveLength(1);
});

test('close: the connection to the provider is closed if the client leaves before the first byte', async () => {
  gateway.settings = { ...gateway.settings, onAbort: 'close' };
  let isClosed = false;
  gateway.provider.beforeAnswer = (closed) =>
    closed.then(() => {
      isClosed = true;
    });
  const socket = await openRaw({ max_tokens: 100 });
  await eventually(() => expect(gateway.provider.requests).toHaveLength(1));
  socket.destroy();
  await eventually(() => expect(isClosed).toBe(true));
  await eventually(async () =>
    expect(await lastRun()).toMatchObject({
      status: 'cancelled',
      output_tokens: 100,
      marks: ['usage_estimated'],
    }),
  );
  gateway.provider.beforeAnswer = undefined;
});

test.each([
  ['chat', paths.chat, 'gpt-test'],
  ['messages', paths.messages, 'claude-test'],
])(
  'a response of %s that breaks off was generated completely, and is bounded by its maximum',
  async (_, path, model) => {
    gateway.provider.outputOf = () => 900;
    gateway.provider.fault = () => ({ cutAfter: 40 });
    const response = await post(path, { model, max_tokens: 950, messages });
    expect(response.status).toBe(502);
    expect(billed().output).toBe(900);
    expect(await lastRun()).toMatchObject({
      status: 'failed',
      output_tokens: 950,
      marks: ['usage_estimated'],
    });
  },
);

test('a stream of a model that hides its reasoning is bounded by its maximum when it breaks off', async () => {
  await priceOf('o3-test');
  expect(await brokenOff({ model: 'o3-test' })).toBe(5_000);
});

async function priceOf(model: string, more: object = {}): Promise<void> {
  const { status } = await gateway.world.request('PUT', `/v1/admin/models/${model}`, {
    key: gateway.world.operatorKey,
    body: { provider: 'openai', input_usd_per_million: '1', output_usd_per_million: '10', ...more },
  });
  expect(status).toBeLessThan(300);
}

/** Breaks a stream off after some chunks. Returns the output that was posted for it, of 5,000 tokens at most. */
async function brokenOff(more: object): Promise<number | undefined> {
  gateway.provider.fault = () => ({ cutAfter: 3 });
  await (await chat({ stream: true, max_tokens: 5_000, ...more })).text();
  const run = await lastRun();
  expect(run?.marks).toEqual(['usage_estimated']);
  return run?.output_tokens;
}

const azure = () => [connectionTo(gateway.provider.url, 'azure_openai')];

test('the bound of hidden reasoning also holds for an alias, and for a model whose capabilities name reasoning', async () => {
  await priceOf('o3-aliased', { aliases: ['house-model'] });
  expect(await brokenOff({ model: 'house-model' })).toBe(5_000);
  gateway.world.clock.advanceSeconds(1);
  await priceOf('thinker', { capabilities: ['reasoning', 'tools'] });
  expect(await brokenOff({ model: 'thinker' })).toBe(5_000);
});

test('the name of a deployment that says nothing about its model is bounded by its maximum', async () => {
  await priceOf('team-chat');
  gateway.connections = azure();
  expect(await brokenOff({ model: 'team-chat' })).toBe(5_000);
});

test('a deployment whose name or capabilities say that it shows its output is bounded by what was received', async () => {
  gateway.connections = azure();
  await priceOf('team-gpt-4o');
  expect(await brokenOff({ model: 'team-gpt-4o' })).toBeLessThan(600);
  gateway.world.clock.advanceSeconds(1);
  await priceOf('plain-chat', { capabilities: ['tools'] });
  expect(await brokenOff({ model: 'plain-chat' })).toBeLessThan(600);
});

test('a response that names a model with hidden reasoning is bounded by its maximum, whatever the request calls it', async () => {
  gateway.connections = azure();
  await priceOf('team-gpt-4o');
  gateway.provider.reportedModel = 'o4-mini-2025-04-16';
  expect(await brokenOff({ model: 'team-gpt-4o' })).toBe(5_000);
});

test('a call that requests reasoning is bounded by its maximum', async () => {
  expect(await brokenOff({ reasoning_effort: 'low' })).toBe(5_000);
});

/** Opens a stream on a socket of its own. */
async function openRaw(body: object): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const text = JSON.stringify({ model: 'gpt-test', stream: true, messages, ...body });
  socket.write(
    `POST ${paths.chat} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  return socket;
}

test('close: a client that reads slower than the provider sends is charged for what it has not read', async () => {
  gateway.settings = { ...gateway.settings, onAbort: 'close' };
  gateway.provider.outputOf = () => 100_000;
  gateway.provider.wordOf = () => 'a';
  const socket = await openRaw({ max_tokens: 100_000 });
  await once(socket, 'readable');
  // The provider sends until all buffers on the way are full.
  let sent = 0;
  await eventually(() => {
    const before = sent;
    sent = billed().output;
    expect([sent > 0, sent]).toEqual([true, before]);
  });
  socket.destroy();
  await eventually(async () => expect(await lastRun()).toMatchObject({ status: 'cancelled' }));
  expect((await lastRun())?.output_tokens).toBeGreaterThanOrEqual(billed().output);
});

/** Opens a stream whose provider waits after some chunks; the client then closes its sending side. */
async function halfClose(): Promise<{ socket: Socket; proceed: () => void; text: () => string }> {
  let proceed = () => {};
  const gate = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  gateway.provider.outputOf = () => 20;
  gateway.provider.beforeChunk = (index) => (index < 5 ? Promise.resolve() : gate);
  const socket = await openRaw({ max_tokens: 100 });
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await eventually(() => expect(text).toContain('tok2'));
  socket.end();
  return { socket, proceed, text: () => text };
}

test('close: a client that closes its sending side has left, also while the provider sends nothing', async () => {
  gateway.settings = { ...gateway.settings, onAbort: 'close' };
  const { proceed } = await halfClose();
  await eventually(async () =>
    expect(await lastRun()).toMatchObject({ status: 'cancelled', marks: ['usage_estimated'] }),
  );
  proceed();
});

test('drain: a client that closes its sending side still receives its stream', async () => {
  const { proceed, text } = await halfClose();
  proceed();
  await eventually(() => expect(text()).toContain('[DONE]'));
  await eventually(async () =>
    expect(await lastRun()).toMatchObject({ status: 'succeeded', output_tokens: 20, marks: [] }),
  );
});

const filtered = {
  hate: { filtered: true, severity: 'high' },
  violence: { filtered: false, severity: 'safe' },
};
const chatUsage = { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 };
const chatAnswer = (content: string | null) => ({
  id: 'chatcmpl_1',
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      message: { role: 'assistant', content },
      content_filter_results: filtered,
    },
  ],
  usage: chatUsage,
});
const chatChunks = (content: string) => [
  { id: 'chatcmpl_1', choices: [{ index: 0, delta: { role: 'assistant', content } }] },
  { id: 'chatcmpl_1', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { id: 'chatcmpl_1', choices: [], usage: chatUsage },
];
const message = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  content: text === '' ? [] : [{ type: 'text', text }],
  usage: { input_tokens: 9, output_tokens: 0 },
});
const eventsOf = (events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');

test.each([
  ['chat', chat, JSON.stringify(chatAnswer('Hello, world!'))],
  ['streamed chat', () => chat({ stream: true }), eventsOf(chatChunks('Hello, world!'))],
  ['message', sendMessage, JSON.stringify(message('Hello, world!'))],
])('the output of a %s whose usage counts none is charged as it was received', async (_, send, body) => {
  gateway.provider.fault = () => ({ status: 200, body });
  await (await send()).text();
  const run = await lastRun();
  expect(run).toMatchObject({ input_tokens: 9, marks: ['usage_estimated'] });
  expect(run?.output_tokens).toBeGreaterThanOrEqual(4);
});

test.each([
  ['chat', chat, JSON.stringify(chatAnswer(''))],
  ['chat without content', chat, JSON.stringify(chatAnswer(null))],
  ['streamed chat', () => chat({ stream: true }), eventsOf(chatChunks(''))],
  ['message', sendMessage, JSON.stringify(message(''))],
])('a filtered %s without output is charged for its input only', async (_, send, body) => {
  gateway.provider.fault = () => ({ status: 200, body });
  await (await send()).text();
  expect(await lastRun()).toMatchObject({ input_tokens: 9, output_tokens: 0 });
  expect((await lastRun())?.marks ?? []).toEqual([]);
});

function sendMessage(): Promise<Response> {
  return post(paths.messages, { model: 'claude-test', max_tokens: 100, messages });
}
