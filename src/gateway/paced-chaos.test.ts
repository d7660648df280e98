/**
 * `hold: paced` with providers and clients that misbehave at random: providers that send pings only, report usage early, send output before
 * the pace allows it, break off or never answer, and clients that do not read, close half of their connection or leave at any time.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { addFigures } from '../../test/support/figures.ts';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { Random } from '../../test/support/ledger-values.ts';
import { seedsOf } from '../../test/support/seeds.ts';

const { seeds } = seedsOf('gateway-paced-chaos');
const gateway = useGatewayWorld({ SVC_GATEWAY_HOLD_LEAD_MS: '2000' });

const calls = 40;
const budgetUsd = 0.9;
/** Below the pace that is assumed of the provider. */
const tokensPerMs = 0.15;

let server: Server;
let random = new Random(0);
/** Output tokens that are billed by now for each attempt, by the name of the call. */
const bills = new Map<string, (() => number)[]>();
const rejections: unknown[] = [];
const onRejection = (reason: unknown) => void rejections.push(reason);

const event = (data: { readonly type: string; readonly [name: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const head = (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const usage = { input_tokens: 6, output_tokens: 1 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-test', content: [] };
  response.write(event({ type: 'message_start', message: { ...message, usage } }));
  response.write(event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }));
};
const words = (tokens: number) =>
  event({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: ' the'.repeat(tokens) },
  });
const usageOf = (outputTokens: number) =>
  event({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage: { input_tokens: 6, output_tokens: outputTokens },
  });
const ping = event({ type: 'ping' });
/** Output tokens that a provider reports before it generates more, and from how many on it sends output. */
const [earlyUsage, earlyUsageUntil] = [3, 200];

/** What a provider sends every 20 ms, given the tokens that are new since the last time and all tokens. */
const providers: Readonly<
  Record<string, (response: ServerResponse, fresh: number, all: number, ageMs: number) => void>
> = {
  pings: (response) => response.write(ping),
  silence: () => undefined,
  words: (response, fresh) => response.write(words(fresh)),
  trickle: (response, _, all) => all % 5 === 0 && response.write(words(1)),
  earlyUsage: (response, fresh, all) =>
    response.write(all < earlyUsageUntil ? usageOf(earlyUsage) : words(fresh)),
  breaksOff: (response, fresh, _, ageMs) => (ageMs > 700 ? response.destroy() : response.write(words(fresh))),
  padding: (response) => response.writableLength < 500_000 && response.write(ping.repeat(500)),
  unknown: (response) => response.write('event: poem\ndata: {"type":"poem","text":"\ufffd"}\n\ndata: }{\n\n'),
  invalid: (response) => response.write(Buffer.from([0xff, 0xfe, 0x0a, 0xc3])),
  finishes(response, fresh, all, ageMs) {
    response.write(words(fresh));
    if (ageMs > 900) {
      response.write(event({ type: 'content_block_stop', index: 0 }));
      response.write(usageOf(all));
      response.end(event({ type: 'message_stop' }));
    }
  },
};

/** They send some output while they generate more, which is only bounded for calls that may hide output. */
const hiding = ['trickle', 'unknown'];

function provide(name: string, mayHide: boolean, response: ServerResponse): void {
  const kind = random.of(Object.keys(providers).filter((one) => mayHide || !hiding.includes(one)));
  const send = providers[kind] as (typeof providers)[string];
  const answersAfterMs = random.of([0, 0, 0, 1_500]);
  // Faster than the pace, and sent at once: what nobody has received of it would not be bounded.
  let burst = 0;
  const startedMs = performance.now();
  let endedMs: number | undefined;
  let sent = 0;
  /** What the usage of a finished response counts. */
  let reported: number | undefined;
  const generated = () =>
    reported ?? burst + Math.floor(((endedMs ?? performance.now()) - startedMs) * tokensPerMs);
  // Usage that no output follows is what is billed.
  const billed = () => (kind === 'earlyUsage' && sent < earlyUsageUntil + 10 ? earlyUsage : generated());
  bills.set(name, [...(bills.get(name) ?? []), billed]);
  const timer = setInterval(() => {
    const ageMs = performance.now() - startedMs;
    if (ageMs < answersAfterMs) {
      return;
    }
    if (!response.headersSent) {
      head(response);
      burst = kind === 'words' ? random.of([0, 2_500]) : 0;
    }
    const all = generated();
    send(response, Math.max(1, all - sent), all, ageMs);
    sent = all;
    reported = response.writableEnded ? all : undefined;
  }, 20);
  response.once('error', () => undefined);
  response.once('close', () => {
    endedMs = performance.now();
    clearInterval(timer);
  });
}

beforeAll(async () => {
  process.on('unhandledRejection', onRejection);
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.once('end', () => {
      const body = JSON.parse(Buffer.concat(parts).toString());
      provide(body.messages[0].content, body.thinking !== undefined, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  process.off('unhandledRejection', onRejection);
  server.close();
});

/** Makes a call on a socket of its own, and returns once the client is gone. */
async function callAs(client: string, name: string, leavesAfterMs: number): Promise<void> {
  const { hostname, port } = new URL(gateway.url);
  const body = JSON.stringify({
    model: 'claude-test',
    max_tokens: 128_000,
    stream: client !== 'plain',
    ...(client === 'thinking' && { thinking: { type: 'enabled', budget_tokens: 100_000 } }),
    messages: [{ role: 'user', content: name }],
  });
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined);
  const request =
    `POST /anthropic/v1/messages HTTP/1.1\r\nhost: ${hostname}\r\nx-api-key: ${gateway.key}\r\n` +
    `x-svc-workflow: ${name}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
    `content-length: ${body.length}\r\n\r\n${body}`;
  if (client === 'unread') {
    socket.pause();
  } else if (client === 'slow') {
    socket.on('data', async () => {
      socket.pause();
      await pause(100);
      socket.resume();
    });
  } else {
    socket.resume();
  }
  socket.once('end', () => socket.destroy());
  socket.write(client === 'cutRequest' ? request.slice(0, -1) : request);
  if (client !== 'reads' && client !== 'thinking' && client !== 'plain') {
    await pause(leavesAfterMs);
    if (client === 'halfClose') {
      socket.end();
    } else {
      socket.destroy();
    }
  }
  await closed;
}

test.each(seeds)('no call is charged less than its bill, and none is left open (seed %d)', async (seed) => {
  random = new Random(seed);
  bills.clear();
  const { port } = server.address() as AddressInfo;
  // Plain calls are sent as they are once a stream had an unknown part. Nothing else than a timeout ends these.
  const timeouts = { connectMs: 300_000, firstByteMs: 10_000, idleMs: 10_000, totalMs: 20_000 };
  const connection = connectionTo(`http://127.0.0.1:${port}`, 'anthropic', { timeouts });
  gateway.connections = [{ ...connection, id: `con_${seed}` }];
  gateway.settings = {
    ...gateway.settings,
    hold: 'paced',
    plainCalls: 'streamed',
    onAbort: random.of(['drain', 'close'] as const),
  };
  gateway.world.clock.advanceSeconds(1);
  await gateway.capAbove(budgetUsd);
  const before = await gateway.spentNanos();
  const clients = ['reads', 'thinking', 'plain', 'unread', 'slow', 'halfClose', 'leaves', 'cutRequest'];
  await Promise.all(
    Array.from({ length: calls }, async (_, index) => {
      const [client, leavesAfterMs] = [random.of(clients), random.int(2_500)];
      await pause(random.int(1_500));
      await callAs(client, `chaos${seed}x${index}`, leavesAfterMs);
    }),
  );
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  expect(rejections).toEqual([]);

  const runs = (await gateway.runs()) as unknown as readonly (Awaited<
    ReturnType<typeof gateway.runs>
  >[number] & {
    readonly workflow: string | null;
    readonly cost_usd: string;
  })[];
  const own = runs.filter(({ workflow }) => workflow?.startsWith(`chaos${seed}x`));
  for (const [name, billed] of bills) {
    const run = own.find(({ workflow }) => workflow === name);
    expect([name, run?.output_tokens ?? -1]).toEqual([name, expect.any(Number)]);
    expect(run?.output_tokens, `${name} ${run?.status} ${run?.marks}`).toBeGreaterThanOrEqual(
      billed.reduce((total, tokens) => total + tokens(), 0),
    );
  }
  const nanos = (usd: string) => BigInt(Math.round(Number(usd) * 1e9));
  const unmarked = own.filter(({ marks }) => !marks.includes('over_hold'));
  const spent = unmarked.reduce((total, { cost_usd }) => total + nanos(cost_usd), 0n);
  expect(spent).toBeLessThanOrEqual(nanos(String(budgetUsd)));
  const { json } = await gateway.world.request('GET', `/v1/orgs/${gateway.org.id}/ledger/reconciliation`, {
    key: gateway.org.ownerKey,
  });
  expect(json).toMatchObject({ balanced: true });
  expect(json.counters.filter(({ growth }: { growth: string }) => growth !== '0')).toEqual([]);
  addFigures({
    calls: bills.size,
    'over hold': own.length - unmarked.length,
    'charged nanos': (await gateway.spentNanos()) - before,
  });
});
