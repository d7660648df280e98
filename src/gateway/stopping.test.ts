/** A process that stops while calls are in progress. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { createGatewayWorld, type GatewayWorld } from '../../test/support/gateway-world.ts';
import { makePlace, type Place } from '../../test/support/test-database.ts';

let gateway: GatewayWorld;
afterEach(() => gateway?.close());

async function begin(place?: Place): Promise<void> {
  gateway = await createGatewayWorld({}, place === undefined ? {} : { place });
}

const messages = [{ role: 'user', content: 'Say hello to the world' }];

function post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ max_tokens: 100, messages, ...body }),
    ...(signal !== undefined && { signal }),
  });
}
const chat = '/openai/v1/chat/completions';
const claude = '/anthropic/v1/messages';

/** Streams stop after some chunks until this is called. */
function holdStreams(): () => void {
  let proceed = () => {};
  const gate = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  gateway.provider.outputOf = () => 20;
  gateway.provider.beforeChunk = (index) => (index < 5 ? Promise.resolve() : gate);
  return proceed;
}

test('streams end with the error event of their format, waiting calls with 503, and all are posted as upper bounds', async () => {
  await begin();
  const proceed = holdStreams();
  const streams = await Promise.all([
    post(chat, { model: 'gpt-test', stream: true }),
    post(claude, { model: 'claude-test', stream: true }),
  ]);
  gateway.provider.fault = ({ text }) => (text.includes('waiting') ? 'silent' : undefined);
  const waiting = post(chat, { model: 'gpt-test', messages: [{ role: 'user', content: 'waiting' }] });
  await eventually(() => expect(gateway.provider.bill).toHaveLength(3));
  const texts = Promise.all(streams.map((response) => response.text()));
  gateway.world = await gateway.world.restart();
  proceed();
  const [chatText, claudeText] = await texts;
  expect(chatText).toContain('"code":"stream_interrupted"');
  expect(claudeText).toContain('event: error\ndata: {"type":"error","error":{"type":"api_error"');
  const answer = await waiting;
  expect([answer.status, (await answer.json()).error.code]).toEqual([503, 'service_unavailable']);
  const runs = await gateway.runs();
  expect(runs.map(({ status, marks }) => [status, marks])).toEqual(
    Array(3).fill(['failed', ['usage_estimated']]),
  );
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  expect(sum(runs.map(({ output_tokens }) => output_tokens))).toBeGreaterThanOrEqual(
    sum(gateway.provider.bill.map(({ outputTokens }) => outputTokens)),
  );
  expect(await gateway.holds()).toBe(0);
});

/** Makes every write to the ledger fail until the returned function is called. */
function cutLedger(): () => void {
  const { ledger } = gateway.world.services;
  const post = ledger.post.bind(ledger);
  ledger.post = () => Promise.reject(new Error('the ledger is away'));
  return () => {
    ledger.post = post;
  };
}

test('a settlement that the ledger could not take is posted by the next process', async () => {
  await begin();
  gateway.provider.fault = () => {
    cutLedger();
    return undefined;
  };
  const response = await post(chat, { model: 'gpt-test' });
  expect(response.status).toBe(200);
  expect(await gateway.runs()).toEqual([]);
  gateway.world = await gateway.world.restart();
  await gateway.world.runJob('retry-gateway-settlements');
  const [billed] = gateway.provider.bill;
  expect(await gateway.runs()).toMatchObject([
    {
      id: response.headers.get('x-svc-run-id'),
      status: 'succeeded',
      input_tokens: billed?.inputTokens,
      output_tokens: 5,
      cost_usd: response.headers.get('x-svc-cost-usd'),
      marks: [],
    },
  ]);
  expect(await gateway.holds()).toBe(0);
  const { json } = await gateway.world.request('GET', `/v1/orgs/${gateway.org.id}/ledger/reconciliation`, {
    key: gateway.org.ownerKey,
  });
  expect(json.balanced).toBe(true);
});

test('a settlement on disk is deleted once it is posted', async () => {
  const place = await makePlace({ migrated: true });
  await begin(place);
  let mend = () => {};
  gateway.provider.fault = () => {
    mend = cutLedger();
    return undefined;
  };
  await post(chat, { model: 'gpt-test' });
  const directory = join(place.dataDir, 'gateway');
  const spooled = () => readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
  expect(spooled()).toEqual([expect.stringContaining('gpt-test')]);
  mend();
  await gateway.world.runJob('retry-gateway-settlements');
  expect(await gateway.runs()).toMatchObject([{ status: 'succeeded', marks: [] }]);
  await eventually(() => expect(spooled()).toEqual(['']));
});
