/**
 * Streams through the gateway of real processes, one of which is killed in the middle of its streams: no limit is exceeded, and
 * what is posted is at least what the provider has billed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { formatUsd } from '../../src/kernel/money.ts';
import { eventually } from '../support/eventually.ts';
import {
  billedByCall,
  callHeaders,
  createGatewayProcesses,
  type GatewayProcesses,
  numberOf,
  postedByCall,
  promptOf,
} from '../support/gateway-processes.ts';
import { nanos, type SpendingOrg, spending } from '../support/money.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { engine } from '../support/test-database.ts';

const processes = engine === 'postgres' ? 3 : 1;
const streams = 200;
const fitting = 60;

let world: GatewayProcesses;
afterEach(() => world?.remove());

/** Tries again after 503, as clients do: on a busy machine the database may not answer in time. */
async function open(
  service: ServiceProcess,
  org: SpendingOrg,
  number: number,
  signal?: AbortSignal,
): Promise<Response> {
  for (;;) {
    const response = await fetch(`${service.url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: callHeaders(org, number),
      body: JSON.stringify({
        model: 'gpt-test',
        stream: true,
        max_tokens: 100,
        messages: [{ role: 'user', content: promptOf(number) }],
      }),
      ...(signal !== undefined && { signal }),
    });
    if (response.status !== 503) {
      return response;
    }
    await response.text();
    await pause(100);
  }
}

/** Sends a streamed call with an idempotency key. */
function sendOnce(service: ServiceProcess, org: SpendingOrg, key: string): Promise<Response> {
  return fetch(`${service.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { ...callHeaders(org, 3_000), 'idempotency-key': key },
    body: JSON.stringify({
      model: 'gpt-test',
      stream: true,
      max_tokens: 100,
      messages: [{ role: 'user', content: promptOf(3_000) }],
    }),
  });
}

/** Returns true if the stream was complete. */
async function isComplete(response: Response): Promise<boolean> {
  return response.text().then(
    (text) => text.endsWith('data: [DONE]\n\n'),
    () => false,
  );
}

test(`of ${streams} parallel streams through ${processes} processes under a cap that fits ${fitting}, exactly ${fitting} reach the provider; kill -9 of a process loses no charge`, async () => {
  world = await createGatewayProcesses(processes);
  const { provider } = world;
  const org = await world.createOrg();
  const killed = world.services[0] as ServiceProcess;

  // One call through each process, so that all of them know the hold. Numbers have the same length: so do the prompts.
  const firstNumber = 1_000;
  const holds = [];
  for (const [index, service] of world.services.entries()) {
    const response = await open(service, org, firstNumber + index);
    holds.push(nanos(response.headers.get('x-svc-held-usd') ?? ''));
    expect(await isComplete(response)).toBe(true);
  }
  const held = holds[0] as bigint;
  expect(new Set(holds).size).toBe(1);
  const spent = [...billedByCall(provider.bill).values()].reduce((total, cost) => total + cost, 0n);
  const cap = spent + BigInt(fitting) * held;
  expect((await spending(killed, org).cap(formatUsd(cap))).status).toBe(200);

  // The provider waits in the middle of every stream.
  let proceed = () => {};
  const gate = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  provider.requests.length = 0;
  provider.outputOf = () => 20;
  provider.beforeChunk = (index) => (index < 8 ? Promise.resolve() : gate);
  const numbers = Array.from({ length: streams }, (_, index) => 2_000 + index);
  const serviceOf = (number: number) => world.services[number % processes] as ServiceProcess;
  const through = new Map(numbers.map((number) => [number, serviceOf(number)]));
  const answers = await Promise.all(
    numbers.map(async (number) => {
      const response = await open(through.get(number) as ServiceProcess, org, number);
      return { number, response, ended: isComplete(response) };
    }),
  );
  const admitted = answers.filter(({ response }) => response.status === 200);
  expect(admitted).toHaveLength(fitting);
  expect(answers.filter(({ response }) => response.status === 402)).toHaveLength(streams - fitting);
  await eventually(() =>
    expect(provider.bill.filter(({ outputTokens }) => outputTokens >= 6)).toHaveLength(fitting),
  );
  expect(new Set(provider.requests.map(numberOf))).toEqual(new Set(admitted.map(({ number }) => number)));

  expect(await killed.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
  world.services = world.services.filter((service) => service !== killed);
  // The provider notices the end of the connections, then goes on with the others.
  proceed();
  const ended = new Map(
    await Promise.all(admitted.map(async (one) => [one.number, await one.ended] as const)),
  );
  for (const { number } of admitted) {
    expect([number, ended.get(number)]).toEqual([number, through.get(number) !== killed]);
  }
  world.services.push(await world.start());

  // The holds of the killed process still count: exactly what they leave free can be held.
  const billedBefore = billedByCall(provider.bill);
  const lost = admitted.filter(({ number }) => ended.get(number) === false);
  expect(lost.length).toBeGreaterThan(0);
  const charged =
    spent +
    sumOf(admitted.filter((one) => !lost.includes(one)).map(({ number }) => billedBefore.get(number)));
  const free = cap - charged - BigInt(lost.length) * held;
  const through1 = spending(world.services[0] as ServiceProcess, org);
  await eventually(async () => expect(await through1.holds()).toHaveLength(lost.length));
  const decide = (amount: bigint) => through1.decide({ estimated_cost_usd: formatUsd(amount) });
  expect(await decide(free + 1n)).toMatchObject({ status: 402, code: 'spend_cap_exceeded' });

  await world.expireHolds(org);
  const after = spending(world.services[0] as ServiceProcess, org);
  const posted = await postedByCall(world.services[0] as ServiceProcess, org);
  const billed = billedByCall(provider.bill);
  for (const { number } of admitted) {
    const run = posted.get(number);
    const isLost = ended.get(number) === false;
    expect([number, run?.marks, run?.costNanos]).toEqual([
      number,
      isLost ? ['unsettled'] : [],
      isLost ? held : billed.get(number),
    ]);
    expect([number, isLost || run?.status === 'succeeded']).toEqual([number, true]);
    expect(run?.costNanos).toBeGreaterThanOrEqual(billed.get(number) ?? held + 1n);
  }
  expect(posted.size).toBe(processes + fitting);
  await after.balanced();
  for (const service of world.services) {
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  }
});

test('SIGTERM: streams go on for the drain time, also those whose clients have left; others get an error event', async () => {
  world = await createGatewayProcesses(1, { SVC_DRAIN_SECONDS: '3' });
  const { provider } = world;
  const org = await world.createOrg();
  const stopped = world.services[0] as ServiceProcess;
  let proceed = () => {};
  const gate = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  const [ending, left, endless] = [2_001, 2_002, 2_003];
  provider.outputOf = () => 20;
  provider.beforeChunk = (index, request) =>
    index < 5 ? Promise.resolve() : numberOf(request) === endless ? new Promise(() => undefined) : gate;
  const abort = new AbortController();
  const [endingStream, leftStream, endlessStream] = await Promise.all([
    open(stopped, org, ending),
    open(stopped, org, left, abort.signal),
    open(stopped, org, endless),
  ]);
  await leftStream?.body?.getReader().read();
  abort.abort();
  const texts = [endingStream?.text(), endlessStream?.text()];
  const isStopped = stopped.end('SIGTERM');
  await eventually(() =>
    expect(stopped.log().map(({ msg }) => msg)).toContain(
      'draining: no new connections, waiting for requests in flight',
    ),
  );
  proceed();
  expect((await texts[0])?.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(await texts[1]).toContain('"code":"stream_interrupted"');
  expect(await isStopped).toEqual({ code: 0, signal: null });

  world.services = [await world.start()];
  const posted = await postedByCall(world.services[0] as ServiceProcess, org);
  const billed = billedByCall(provider.bill);
  for (const number of [ending, left]) {
    expect([number, posted.get(number)]).toEqual([
      number,
      { status: 'succeeded', costNanos: billed.get(number), marks: [] },
    ]);
  }
  expect(posted.get(endless)).toMatchObject({ status: 'failed', marks: ['usage_estimated'] });
  expect(posted.get(endless)?.costNanos).toBeGreaterThanOrEqual(billed.get(endless) ?? 0n);
  const through = spending(world.services[0] as ServiceProcess, org);
  expect(await through.holds()).toEqual([]);
  await through.balanced();
});

function sumOf(amounts: readonly (bigint | undefined)[]): bigint {
  return amounts.reduce<bigint>((total, amount) => total + (amount ?? 0n), 0n);
}

test(`of 20 calls with one idempotency key through ${processes} processes one is sent; after kill -9 it is in progress until its hold expires, and was made then`, async () => {
  world = await createGatewayProcesses(processes);
  const { provider } = world;
  const org = await world.createOrg();
  provider.outputOf = () => 20;
  provider.beforeChunk = (index) => (index < 8 ? Promise.resolve() : new Promise(() => undefined));
  const all = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const service = world.services[index % processes] as ServiceProcess;
      return { service, response: await sendOnce(service, org, 'once') };
    }),
  );
  const sent = all.filter(({ response }) => response.status === 200);
  expect(sent).toHaveLength(1);
  expect(all.filter(({ response }) => response.status === 409)).toHaveLength(19);
  expect(provider.requests).toHaveLength(1);
  const { service: killed, response } = sent[0] as (typeof all)[number];
  const runId = response.headers.get('x-svc-run-id');
  const ended = isComplete(response);

  expect(await killed.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await ended).toBe(false);
  world.services = [...world.services.filter((service) => service !== killed), await world.start()];
  const repeated = async (code: string) => {
    for (const service of world.services) {
      const again = await sendOnce(service, org, 'once');
      expect([again.status, again.headers.get('x-svc-run-id')]).toEqual([409, runId]);
      expect((await again.json()).error.code).toBe(code);
    }
  };
  await repeated('idempotency_key_processing');
  await world.expireHolds(org);
  await repeated('idempotency_key_used');
  expect(provider.requests).toHaveLength(1);
});
