import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import OpenAI from 'openai';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { useGatewayWorld } from '../../test/support/gateway-world.ts';
import { parseUsd } from '../kernel/money.ts';

const gateway = useGatewayWorld();
let openai: OpenAI;
/** Lets the provider continue. */
let proceed: () => void;

beforeAll(() => {
  openai = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key, maxRetries: 0 });
});
beforeEach(() => {
  gateway.provider.beforeChunk = undefined;
  gateway.world.clock.advanceSeconds(1);
});

const chat = { model: 'gpt-test', messages: [{ role: 'user' as const, content: 'Say hello' }] };
const get = (path: string) => gateway.world.request('GET', path, { key: gateway.org.ownerKey });

/** Starts a stream that waits at the provider, and returns the id of its run. */
async function startStream() {
  const gate = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  gateway.provider.beforeChunk = () => gate;
  const { data, response } = await openai.chat.completions.create({ ...chat, stream: true }).withResponse();
  gateway.provider.beforeChunk = undefined;
  return { stream: data, runId: response.headers.get('x-svc-run-id') ?? '', headers: response.headers };
}

async function readToEnd(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream) {
    // Only its end matters.
  }
}

test('a call in progress can be read as a run, and its children can name it', async () => {
  const { stream, runId, headers } = await startStream();
  const running = await get(`/v1/runs/${runId}`);
  expect(running.json).toMatchObject({
    id: runId,
    status: 'running',
    model: 'gpt-test',
    chain_id: runId,
    depth: 1,
    cost_usd: null,
    held_usd: headers.get('x-svc-held-usd'),
  });
  const child = await openai.chat.completions
    .create(chat, { headers: { 'x-svc-parent-run': runId } })
    .withResponse();
  const stored = await get(`/v1/runs/${child.response.headers.get('x-svc-run-id')}`);
  expect(stored.json).toMatchObject({ parent_run_id: runId, chain_id: runId, depth: 2, status: 'succeeded' });
  const holds = await get(`/v1/orgs/${gateway.org.id}/holds`);
  expect(holds.json.data).toMatchObject([{ run_id: runId, surface: 'run' }]);
  proceed();
  await readToEnd(stream);
  expect((await get(`/v1/runs/${runId}`)).json).toMatchObject({ id: runId, status: 'succeeded', marks: [] });
  const orphan = openai.chat.completions.create(chat, { headers: { 'x-svc-parent-run': 'run_unknown' } });
  await expect(orphan).rejects.toMatchObject({ status: 400 });
});

test('a call whose hold expires is posted at the held amount under its id, and its late end corrects that', async () => {
  const { stream, runId, headers } = await startStream();
  gateway.world.clock.advanceSeconds(3_000);
  await gateway.world.runJob('expire-holds');
  expect((await get(`/v1/runs/${runId}`)).json).toMatchObject({
    id: runId,
    cost_usd: headers.get('x-svc-held-usd'),
    marks: ['unsettled'],
  });
  proceed();
  await readToEnd(stream);
  const { json } = await get(`/v1/runs/${runId}`);
  expect(json).toMatchObject({ id: runId, status: 'succeeded', output_tokens: 5, marks: ['late'] });
  expect(parseUsd(json.cost_usd)).toBeLessThan(parseUsd(headers.get('x-svc-held-usd') ?? '') ?? 0n);
  const { json: reconciliation } = await get(`/v1/orgs/${gateway.org.id}/ledger/reconciliation`);
  expect(reconciliation.balanced).toBe(true);
});

test('a paced call whose hold expires is posted with what a provider that continues can have added, and its late end corrects that', async () => {
  const { settings } = gateway;
  gateway.settings = { ...settings, hold: 'paced', defaultMaxOutputTokens: 128_000 };
  const { stream, runId, headers } = await startStream();
  gateway.world.clock.advanceSeconds(3_000);
  await gateway.world.runJob('expire-holds');
  const posted = (await get(`/v1/runs/${runId}`)).json;
  expect(posted).toMatchObject({ id: runId, marks: ['unsettled', 'over_hold'] });
  // 500 tokens per second for 30 seconds.
  const goneOn = 500n * 30n * 10_000n;
  expect(parseUsd(posted.cost_usd)).toBeGreaterThanOrEqual(
    (parseUsd(headers.get('x-svc-held-usd') ?? '') ?? 0n) + goneOn,
  );
  proceed();
  await readToEnd(stream);
  gateway.settings = settings;
  const { json } = await get(`/v1/runs/${runId}`);
  expect(json).toMatchObject({ id: runId, status: 'succeeded', output_tokens: 5, marks: ['late'] });
  const { json: reconciliation } = await get(`/v1/orgs/${gateway.org.id}/ledger/reconciliation`);
  expect(reconciliation.balanced).toBe(true);
});

/** Requests by which a member could try to pay less than the call costs. */
const interferences: readonly (readonly [string, (runId: string) => readonly [string, string, object?]])[] = [
  [
    'settled by another run',
    (runId) => [
      'POST',
      '/v1/runs',
      { model: 'gpt-test', decision_id: runId.replace('run', 'dec'), cost_usd: '0' },
    ],
  ],
  [
    'taken over by another run',
    (runId) => [
      'POST',
      '/v1/runs',
      {
        model: 'gpt-test',
        decision_id: runId.replace('run', 'dec'),
        status: 'running',
        input_tokens: 1,
        max_output_tokens: 1,
      },
    ],
  ],
  ['voided', (runId) => ['DELETE', `/v1/decisions/${runId.replace('run', 'dec')}`]],
  [
    'extended',
    (runId) => ['POST', `/v1/decisions/${runId.replace('run', 'dec')}/extend`, { seconds: 86_400 }],
  ],
  [
    'increased',
    (runId) => ['POST', `/v1/decisions/${runId.replace('run', 'dec')}/increase`, { cost_usd: '1000' }],
  ],
  ['completed', (runId) => ['POST', `/v1/runs/${runId}/complete`, { status: 'succeeded', cost_usd: '0' }]],
];

test.each(interferences)('a call in progress cannot be %s', async (_, requestOf) => {
  const member = await gateway.world.mintKey(gateway.org, 'member', ['runs:write', 'edge:decide']);
  const { stream, runId } = await startStream();
  const [method, path, body] = requestOf(runId);
  const request = { key: member.secret, ...(body !== undefined && { body }) };
  const { status, json } = await gateway.world.request(method, path, request);
  expect([status, json.error.code]).toEqual(
    path.endsWith('/complete') ? [404, 'not_found'] : [409, 'conflict'],
  );
  proceed();
  await readToEnd(stream);
  expect((await get(`/v1/runs/${runId}`)).json).toMatchObject({ status: 'succeeded', output_tokens: 5 });
});

test('a call that fits once the last one is settled is not denied', async () => {
  const { response } = await openai.chat.completions.create(chat).withResponse();
  const spent = await get(`/v1/orgs/${gateway.org.id}/spend-cap`);
  const held = Number(response.headers.get('x-svc-held-usd'));
  // Room for the hold of one call and the cost of several, but not for two holds.
  await gateway.cap((Number(spent.json.spent_usd) + held * 1.5).toFixed(9));
  for (let i = 0; i < 5; i += 1) {
    await openai.chat.completions.create(chat);
  }
  await gateway.cap('1000');
});

test('a run that a detector flags is stored at its admission, with the flag', async () => {
  await gateway.world.request('POST', `/v1/orgs/${gateway.org.id}/safety-detectors`, {
    key: gateway.org.ownerKey,
    body: { name: 'Greetings', kind: 'regex', pattern: 'hello', action: 'flag' },
  });
  const { stream, runId } = await startStream();
  const completed = await gateway.world.request('POST', `/v1/runs/${runId}/complete`, {
    key: gateway.org.ownerKey,
    body: { status: 'succeeded', cost_usd: '0' },
  });
  expect([completed.status, completed.json.error.code]).toEqual([409, 'conflict']);
  proceed();
  await readToEnd(stream);
  const { json } = await get(`/v1/runs/${runId}`);
  expect(json).toMatchObject({
    status: 'succeeded',
    output_tokens: 5,
    flagged_by: ['Greetings'],
    content: null,
  });
  expect(await gateway.holds()).toBe(0);
});

test('many calls on one connection leave no listeners behind, at the gateway or the provider', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  gateway.provider.beforeAnswer = () => Promise.resolve();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let connections = 0;
  for (let call = 0; call < 12; call += 1) {
    const stream = call % 2 === 0;
    const { status, isReused } = await sendOn(agent, { ...chat, stream });
    expect(status).toBe(200);
    connections += isReused ? 0 : 1;
  }
  agent.destroy();
  gateway.provider.beforeAnswer = undefined;
  process.off('warning', note);
  expect(connections).toBe(1);
  expect(warnings.map(({ name }) => name)).not.toContain('MaxListenersExceededWarning');
});

/** Sends a call on the connection of the agent, and reads the response to its end. */
async function sendOn(agent: Agent, body: object): Promise<{ status: number; isReused: boolean }> {
  const sent = request(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    agent,
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
  });
  sent.end(JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode ?? 0, isReused: sent.reusedSocket };
}
