/** Denials say which calls in progress hold a part of the limit, and when to try again. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { ApiError, apiErrorWithDetails } from '../contract/api-error.ts';
import { ExplainedDenial } from './errors/explained-denial.ts';
import { type HoldingCall, withHoldingCalls } from './holding-calls.ts';

const gateway = useGatewayWorld();
/** A provider that answers no call before the test does. */
let silent: Server;
const waiting: ServerResponse[] = [];

beforeAll(async () => {
  silent = createServer((_, response) => void waiting.push(response)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
});
afterAll(() => {
  silent.closeAllConnections();
  silent.close();
});

const now = new Date('2026-11-19T12:00:00Z');
const nanos = 1_000_000_000n;

/** A denial of a budget of $10 for a call that needs $2. */
function denialOf(spentUsd: string, heldUsd: string, reservedUsd?: string) {
  const details = {
    budget_id: 'bud_1',
    scope_kind: 'org',
    limit_usd: '10',
    spent_usd: spentUsd,
    held_usd: heldUsd,
    ...(reservedUsd !== undefined && { reserved_usd: reservedUsd }),
    attempted_usd: '2',
    period_start: '2026-11-01T00:00:00Z',
    period_end: '2026-12-01T00:00:00Z',
  } as const;
  return apiErrorWithDetails('budget_exceeded', details).deniedBy('bud_1', 'bud_1@0');
}

function explained(denial: unknown, ...calls: readonly HoldingCall[]) {
  const shown = withHoldingCalls(denial, now, () => calls);
  return shown instanceof ExplainedDenial ? [shown.explanation, shown.retry] : shown;
}

test('says to try again once the calls that end first have made enough room', () => {
  const calls = [
    { heldNanos: 3n * nanos, restMs: 40_000 },
    { heldNanos: nanos, restMs: 2_500 },
    { heldNanos: nanos, restMs: 9_100 },
  ];
  expect(explained(denialOf('10', '5'), ...calls)).toEqual([
    '3 calls in progress hold $5 of this limit. Try again in 10 s.',
    { seconds: 10, at: '2026-11-19T12:00:10.000Z' },
  ]);
  expect(explained(denialOf('9', '5'), ...calls)).toMatchObject([/Try again in 3 s/, { seconds: 3 }]);
});

test('what is kept for calls in progress becomes free with them, also if they are those of another process', () => {
  const calls = [
    { heldNanos: nanos, restMs: 2_500 },
    { heldNanos: 2n * nanos, restMs: 9_100 },
  ];
  // $8.50 are used and $0.50 kept, so the first call that ends makes room for $2.
  expect(explained(denialOf('8.5', '3', '0.5'), ...calls)).toEqual([
    '2 calls in progress hold $3 of this limit. Try again in 3 s.',
    { seconds: 3, at: '2026-11-19T12:00:03.000Z' },
  ]);
  expect(explained(denialOf('8.5', '3', '0.5'))).toEqual([
    'Try again in 10 s.',
    { seconds: 10, at: '2026-11-19T12:00:10.000Z' },
  ]);
});

test('names no time if the call does not fit after the calls in progress either', () => {
  expect(explained(denialOf('10', '1'), { heldNanos: nanos, restMs: 1_000 })).toEqual([
    '1 call in progress holds $1 of this limit.',
    undefined,
  ]);
});

test('a denial without calls in progress, and other errors, stay as they are', () => {
  const denial = denialOf('10', '5');
  expect(explained(denial)).toBe(denial);
  const other = new ApiError('forbidden', 403, 'no', {});
  expect(explained(other, { heldNanos: nanos, restMs: 1 })).toBe(other);
});

test('a denial counts the calls of its own limit, tells waiting tools when to retry, and no SDK retries', async () => {
  const { org, world } = gateway;
  const keyOf = async (member: string) => {
    const { json } = await world.request('POST', `/v1/orgs/${org.id}/keys`, {
      key: org.ownerKey,
      body: {
        name: member,
        role: 'member',
        scopes: ['gateway:call'],
        attribution: { member_id: member },
        attribution_locked: ['member_id'],
      },
    });
    return json.secret as string;
  };
  const [amy, bob] = [await keyOf('amy'), await keyOf('bob')];
  const budget = { name: 'each', scope_kind: 'member', scope_id: '*', period: 'day', limit_usd: '0.012' };
  await world.request('POST', `/v1/orgs/${org.id}/budgets`, { key: org.ownerKey, body: budget });
  gateway.connections = [connectionTo(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`)];
  let requests = 0;
  const clientOf = (apiKey: string) =>
    new OpenAI({
      baseURL: `${gateway.url}/openai/v1`,
      apiKey,
      maxRetries: 2,
      fetch: (...request) => {
        requests += 1;
        return fetch(...request);
      },
    });
  const chat = {
    model: 'gpt-test',
    max_tokens: 500,
    messages: [{ role: 'user' as const, content: 'hello' }],
  };
  const running = [amy, amy, bob].map((key) =>
    clientOf(key)
      .chat.completions.create(chat)
      .catch((error: unknown) => error),
  );
  await eventually(() => expect(waiting.length).toBe(3));
  requests = 0;
  const error = await clientOf(amy)
    .chat.completions.create(chat)
    .catch((denied: InstanceType<typeof OpenAI.APIError>) => denied);
  expect(error).toMatchObject({ status: 402, code: 'budget_exceeded' });
  expect(String(error)).toMatch(
    / It resets at \S+ 2 calls in progress hold \$0\.01\d* of this limit\. Try again in \d+ s\./,
  );
  const { headers } = error as InstanceType<typeof OpenAI.APIError>;
  expect(headers?.get('x-should-retry')).toBe('false');
  expect(Number(headers?.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(requests).toBe(1);

  const codex = await fetch(`${gateway.url}/openai/v1/responses`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${amy}`,
      'content-type': 'application/json',
      'user-agent': 'codex_cli_rs/0.166.0',
    },
    body: JSON.stringify({ model: 'gpt-test', input: 'hello', max_output_tokens: 500, stream: true }),
  });
  const shown = (await codex.json()) as { error: { resets_at: number; details: { period_end: string } } };
  expect(codex.status).toBe(429);
  expect(shown.error.resets_at).toBeLessThan(Date.parse(shown.error.details.period_end) / 1_000);

  for (const response of waiting) {
    response.writeHead(400).end();
  }
  await Promise.all(running);
  await eventually(async () => expect(await gateway.holds()).toBe(0));
});
