/**
 * `hold: paced` in a real process that is killed in the middle of its streams, whose provider continues for a while. What is posted
 * covers the bill of the provider, which generates hidden output as fast as the pace allows.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { tokensWithin } from '../../src/kernel/pace.ts';
import { eventually } from '../support/eventually.ts';
import {
  callHeaders,
  createGatewayProcesses,
  type GatewayProcesses,
  postedByCall,
} from '../support/gateway-processes.ts';
import { nanos, type SpendingOrg, spending, sum } from '../support/money.ts';
import type { ServiceProcess } from '../support/service-process.ts';

/** The documented pace of the provider. */
const pace = { burstTokensPerSecond: 1_500, burstTokens: 2_000, sustainedTokensPerSecond: 500 };
const maxOutputTokens = 128_000;
/** A long lead, so that a busy machine is never later than it. */
const leadMs = 6_000;
const capUsd = '0.5';
const inputTokens = 5;

let world: GatewayProcesses;
let server: Server;
let url: string;
/** Times at which streams were received and lost, by the number of the call. */
const received = new Map<number, number>();
const lost = new Set<number>();

const event = (data: { readonly type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

beforeAll(async () => {
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.once('end', () => {
      const number = Number(/call-(\d+)/.exec(Buffer.concat(parts).toString())?.[1]);
      received.set(number, performance.now());
      response.once('close', () => lost.add(number));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const usage = { input_tokens: inputTokens, output_tokens: 1 };
      const message = { id: `msg_${number}`, type: 'message', role: 'assistant', model: 'claude-test' };
      response.write(
        event({ type: 'message_start', message: { ...message, content: [], usage } } as { type: string }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
afterEach(async () => {
  await world?.remove();
  received.clear();
  lost.clear();
});

function open({ url: service }: ServiceProcess, org: SpendingOrg, number: number): Promise<Response> {
  return fetch(`${service}/anthropic/v1/messages`, {
    method: 'POST',
    headers: callHeaders(org, number),
    body: JSON.stringify({
      model: 'claude-test',
      max_tokens: maxOutputTokens,
      stream: true,
      thinking: { type: 'enabled', budget_tokens: 100_000 },
      messages: [{ role: 'user', content: `Say call-${number}` }],
    }),
  });
}

test.each([5, 30, 120])(
  'after kill -9, what is posted covers a provider that continues for %d seconds',
  async (goOnSeconds) => {
    world = await createGatewayProcesses(1, {
      SVC_GATEWAY_HOLD_LEAD_MS: String(leadMs),
      SVC_GATEWAY_GO_ON_SECONDS: String(goOnSeconds),
    });
    const [killed] = world.services as [ServiceProcess];
    const org = await world.createOrg({ hold: 'paced' });
    const money = spending(killed, org);
    const connections = `/v1/orgs/${org.id}/connections`;
    const { json } = await money.send('GET', connections);
    const { id } = json.data.find(({ kind }: { kind: string }) => kind === 'anthropic');
    expect(
      (await money.send('PATCH', `${connections}/${id}`, { base_url: url, api_key: 'sk-mock' })).status,
    ).toBe(200);
    expect((await money.cap(capUsd)).status).toBe(200);

    // Streams of all ages, as many as the limit has room for.
    const admitted: number[] = [];
    const endings: Promise<unknown>[] = [];
    for (;;) {
      const number = 100 + admitted.length;
      const response = await open(killed, org, number);
      if (response.status === 402) {
        break;
      }
      expect(response.status).toBe(200);
      admitted.push(number);
      endings.push(response.text().catch(() => undefined));
      await pause(500);
    }
    const killedMs = performance.now();
    const running = admitted.filter((number) => !lost.has(number));
    expect(await killed.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
    await Promise.all(endings);
    expect(running.length).toBeGreaterThan(3);
    await eventually(() => expect([...lost].sort()).toEqual(admitted));
    world.services = [await world.start()];

    const restarted = () => spending(world.services[0] as ServiceProcess, org);
    const heldNanos = await eventually(async () => {
      const holds = await restarted().holds();
      const posted = await postedByCall(world.services[0] as ServiceProcess, org);
      expect(holds.length + posted.size).toBe(admitted.length);
      return sum(holds.map(({ held_usd }) => nanos(held_usd)));
    });
    const settledNanos = sum(
      [...(await postedByCall(world.services[0] as ServiceProcess, org)).values()].map(
        ({ costNanos }) => costNanos,
      ),
    );
    expect(heldNanos + settledNanos).toBeLessThanOrEqual(nanos(capUsd));
    // Also in what is kept for the calls that nothing increases any more.
    await restarted().balanced();

    await world.expireHolds(org);
    const posted = await postedByCall(world.services[0] as ServiceProcess, org);
    expect([...posted.keys()].sort()).toEqual(admitted);
    for (const number of running) {
      const elapsedMs = killedMs + goOnSeconds * 1_000 - (received.get(number) ?? 0);
      const outputTokens = tokensWithin({ pace, maxOutputTokens, answers: 1 }, elapsedMs);
      const billed = BigInt(inputTokens) * 1_000n + BigInt(outputTokens) * 10_000n;
      const run = posted.get(number);
      expect([number, run?.costNanos]).toEqual([number, expect.any(BigInt)]);
      expect(run?.costNanos, `call ${number}`).toBeGreaterThanOrEqual(billed);
    }
    // The part that no limit had room for is marked.
    const total = sum([...posted.values()].map(({ costNanos }) => costNanos));
    const unmarked = sum(
      [...posted.values()]
        .filter(({ marks }) => !marks.includes('over_hold'))
        .map(({ costNanos }) => costNanos),
    );
    expect(unmarked).toBeLessThanOrEqual(nanos(capUsd));
    expect(total).toBeGreaterThan(unmarked);
    expect(await restarted().holds()).toEqual([]);
    await restarted().balanced();
    expect((await open(world.services[0] as ServiceProcess, org, 999)).status).toBe(402);
  },
);
