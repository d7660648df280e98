/** Calls with an `Idempotency-Key`: what may have been paid is not sent again, and what was not paid can be repeated. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createWorld } from '../../test/harness.ts';
import { eventually } from '../../test/support/eventually.ts';
import { freePort } from '../../test/support/free-port.ts';
import {
  connectionTo,
  createGatewayWorld,
  type GatewayWorld,
  useGatewayWorld,
} from '../../test/support/gateway-world.ts';
import { errorOf } from '../../test/support/sdk-calls.ts';
import { engine, makePlace } from '../../test/support/test-database.ts';
import { DatabaseUnavailable } from '../platform/db/database.ts';

const gateway = useGatewayWorld();
let connections: GatewayWorld['connections'];

beforeAll(() => {
  connections = gateway.connections;
});
beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  gateway.connections = connections;
  gateway.provider.requests.length = 0;
  await gateway.cap('1000');
});
afterEach(async () => {
  gateway.provider.fault = undefined;
  gateway.provider.beforeAnswer = undefined;
  gateway.provider.beforeChunk = undefined;
  await eventually(async () => expect(await gateway.holds()).toBe(0));
});

const messages = [{ role: 'user', content: 'Say hello to the world' }];
const paths = {
  chat: '/openai/v1/chat/completions',
  claude: '/anthropic/v1/messages',
};

interface Sent {
  readonly path?: string;
  readonly apiKey?: string;
  readonly body?: object;
  readonly url?: string;
}

function send(
  key: string | undefined,
  { path = paths.chat, apiKey = gateway.key, body = {}, url = gateway.url }: Sent = {},
): Promise<Response> {
  const model = path === paths.claude ? 'claude-test' : 'gpt-test';
  return fetch(url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      ...(key !== undefined && { 'idempotency-key': key, 'x-idempotency-key': key }),
    },
    body: JSON.stringify({ model, max_tokens: 50, messages, ...body }),
  });
}

/** Sends the call and reads its response. Returns the status and the code of the error, if it is one. */
async function outcomeOf(key: string, sent?: Sent): Promise<readonly [number, string | undefined]> {
  const response = await send(key, sent);
  const text = await response.text();
  return [response.status, /"code":"(\w+)"/.exec(text)?.[1]];
}

/** Adds connections that are named by a path. In this world they would also serve the calls of others. */
function connectOthers(): void {
  const { url } = gateway.provider;
  gateway.connections = [
    ...connections,
    connectionTo(url, 'openai_compatible', { name: 'other', id: 'con_other' }),
    connectionTo(url, 'azure_openai', { name: 'azure', id: 'con_azure' }),
  ];
}

const requests = () => gateway.provider.requests.length;
const used = [409, 'idempotency_key_used'];
const processing = [409, 'idempotency_key_processing'];
const conflict = [409, 'idempotency_key_conflict'];
const succeeded = [200, undefined];

/** Lets the provider wait. Returns a function that lets it continue. */
function holdProvider(): () => void {
  let proceed = () => {};
  const gate = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  gateway.provider.beforeAnswer = () => gate;
  return proceed;
}

const shapes = [
  { name: 'chat', path: paths.chat, body: {}, format: 'openai' },
  { name: 'a streamed chat', path: paths.chat, body: { stream: true }, format: 'openai' },
  { name: 'responses', path: '/openai/v1/responses', body: { input: 'Say hello' }, format: 'openai' },
  {
    name: 'embeddings',
    path: '/openai/v1/embeddings',
    body: { model: 'embed-test', input: 'Say hello' },
    format: 'openai',
  },
  { name: 'a connection by name', path: '/compat/other/v1/chat/completions', body: {}, format: 'openai' },
  {
    name: 'a deployment of Azure',
    path: '/openai/deployments/gpt-test/chat/completions?api-version=2024-10-21',
    body: {},
    format: 'openai',
  },
  { name: 'messages', path: paths.claude, body: {}, format: 'anthropic' },
  { name: 'streamed messages', path: paths.claude, body: { stream: true }, format: 'anthropic' },
] as const;

describe.each(shapes)('$name', ({ name, path, body, format }) => {
  beforeEach(connectOthers);
  const errorIn = (code: string, runId: string | null) => {
    const error = { type: 'invalid_request_error', code, details: { run_id: runId } };
    return format === 'anthropic' ? { type: 'error', error } : { error: { ...error, param: null } };
  };

  test('a repeated call is 409 with the id of its run while it is in progress and after its end, and is sent once', async () => {
    const key = `repeated ${name}`;
    const proceed = holdProvider();
    const first = send(key, { path, body });
    await eventually(() => expect(requests()).toBe(1));
    const during = await send(key, { path, body });
    expect([during.status, during.headers.get('retry-after')]).toEqual([409, '1']);
    expect(during.headers.get('x-should-retry')).toBeNull();
    proceed();
    const response = await first;
    expect(response.status).toBe(200);
    const runId = response.headers.get('x-svc-run-id');
    expect(runId).toMatch(/^run_/);
    expect(await during.json()).toMatchObject(errorIn('idempotency_key_processing', runId));
    await response.text();

    const after = await send(key, { path, body });
    expect([after.status, after.headers.get('x-should-retry')]).toEqual([409, 'false']);
    expect([during.headers.get('x-svc-run-id'), after.headers.get('x-svc-run-id')]).toEqual([runId, runId]);
    expect(await after.json()).toMatchObject(errorIn('idempotency_key_used', runId));
    expect(requests()).toBe(1);
    const { status, json } = await gateway.world.request('GET', `/v1/runs/${runId}`, {
      key: gateway.org.ownerKey,
    });
    expect([status, json.status]).toEqual([200, 'succeeded']);
  });

  test.each([
    ['empty', ''],
    ['too long', 'k'.repeat(256)],
    ['not ASCII', 'schlüssel'],
  ])('a key that is %s is 400, and nothing is sent', async (_, key) => {
    const response = await send(key, { path, body });
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([400, 'false']);
    const error = {
      type: 'invalid_request_error',
      code: 'invalid_header',
      details: { header: 'Idempotency-Key' },
    };
    expect(await response.json()).toMatchObject(
      format === 'anthropic' ? { type: 'error', error } : { error: { ...error, param: null } },
    );
    expect(requests()).toBe(0);
  });
});

test('a call is in progress until the last byte of its stream', async () => {
  let proceed = () => {};
  const gate = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  gateway.provider.beforeChunk = (index) => (index < 4 ? Promise.resolve() : gate);
  const stream = await send('stream', { body: { stream: true } });
  expect(stream.status).toBe(200);
  expect(await outcomeOf('stream', { body: { stream: true } })).toEqual(processing);
  proceed();
  expect(await stream.text()).toContain('[DONE]');
  expect(await outcomeOf('stream', { body: { stream: true } })).toEqual(used);
  expect(requests()).toBe(1);
});

test('of 20 calls at once with one key, exactly one is sent', async () => {
  const proceed = holdProvider();
  const outcomes = Array.from({ length: 20 }, () => outcomeOf('parallel'));
  const all = Promise.all(outcomes);
  let denied = 0;
  for (const outcome of outcomes) {
    void outcome.then(([status]) => {
      denied += status === 409 ? 1 : 0;
    });
  }
  await eventually(() => expect(denied).toBe(19));
  proceed();
  expect((await all).filter(([status]) => status === 200)).toHaveLength(1);
  expect((await all).filter(([, code]) => code === 'idempotency_key_processing')).toHaveLength(19);
  expect(requests()).toBe(1);
});

test('another body with the same key is a conflict, while the first call is in progress and after its end', async () => {
  const proceed = holdProvider();
  const first = outcomeOf('conflicting');
  await eventually(() => expect(requests()).toBe(1));
  expect(await outcomeOf('conflicting', { body: { max_tokens: 51 } })).toEqual(conflict);
  proceed();
  expect(await first).toEqual(succeeded);
  const after = await send('conflicting', { body: { max_tokens: 51 } });
  expect([after.status, after.headers.get('x-should-retry'), after.headers.get('x-svc-run-id')]).toEqual([
    409,
    'false',
    null,
  ]);
  expect(requests()).toBe(1);
});

test('a key belongs to the API key and the path that it was sent with', async () => {
  const { secret } = await gateway.world.mintKey(gateway.org, 'member', ['gateway:call']);
  expect(await outcomeOf('own')).toEqual(succeeded);
  expect(await outcomeOf('own', { apiKey: secret, body: { max_tokens: 51 } })).toEqual(succeeded);
  expect(await outcomeOf('own', { path: paths.claude })).toEqual(succeeded);
  expect(await outcomeOf('own')).toEqual(used);
  expect(requests()).toBe(3);
});

test('calls without a key are never repeated calls', async () => {
  expect([(await send(undefined)).status, (await send(undefined)).status]).toEqual([200, 200]);
  expect(requests()).toBe(2);
});

test('neither the key nor the body is stored or forwarded', async () => {
  const key = 'canary-of-the-key';
  expect(await outcomeOf(key, { body: { user: 'canary-of-the-body' } })).toEqual(succeeded);
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  const rows = await gateway.world.db.query<{ fields: string; has_canary: boolean }>(
    `SELECT row_to_json(k)::text AS fields, position('canary'::bytea IN coalesce(body, '')) > 0 AS has_canary
       FROM idempotency_keys k`,
    [],
  );
  expect(rows.filter(({ fields }) => fields.includes('hold:call:')).length).toBeGreaterThan(0);
  expect(rows.filter(({ fields, has_canary }) => has_canary || fields.includes('canary'))).toEqual([]);
  const sent = Object.keys(gateway.provider.requests[0]?.headers ?? {});
  expect(sent.filter((name) => name.includes('idempotency-key'))).toEqual([]);
});

test('a call that a limit denied is sent when it is repeated', async () => {
  await gateway.cap('0.000001');
  expect(await outcomeOf('denied')).toEqual([402, 'spend_cap_exceeded']);
  await gateway.cap('1000');
  expect(await outcomeOf('denied')).toEqual(succeeded);
  expect(await outcomeOf('denied')).toEqual(used);
});

test('a repeated call is not denied by the limit that its first call has used up', async () => {
  expect(await outcomeOf('before the cap')).toEqual(succeeded);
  await gateway.cap('0.000001');
  expect(await outcomeOf('before the cap')).toEqual(used);
});

const freeFailures = [
  { cause: 'status 500 of the provider', fault: { status: 500 }, status: 500 },
  { cause: 'status 400 of the provider', fault: { status: 400 }, status: 400 },
  { cause: 'status 429 of the provider', fault: { status: 429 }, status: 429 },
] as const;

test.each(freeFailures)(
  'a call that failed at no cost is sent again: $cause',
  async ({ cause, fault, status }) => {
    gateway.provider.fault = () => fault;
    expect((await send(cause)).status).toBe(status);
    gateway.provider.fault = undefined;
    const sent = requests();
    expect(await outcomeOf(cause)).toEqual(succeeded);
    expect(await outcomeOf(cause)).toEqual(used);
    expect(requests()).toBe(sent + 1);
  },
);

test('a call that failed at no cost is sent once by many retries at once', async () => {
  gateway.provider.fault = () => ({ status: 400 });
  expect((await send('retries')).status).toBe(400);
  gateway.provider.fault = undefined;
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcomeOf('retries')));
  expect(outcomes.filter(([status]) => status === 200)).toHaveLength(1);
  expect(outcomes.filter(([status]) => status === 409)).toHaveLength(19);
  expect(requests()).toBe(2);
});

test.each([
  { cause: 'a response that breaks off', body: {}, cutAfter: 20 },
  { cause: 'a stream that breaks off', body: { stream: true }, cutAfter: 3 },
])('a call that may have been billed is not sent again: $cause', async ({ cause, body, cutAfter }) => {
  gateway.provider.fault = () => ({ cutAfter });
  await (await send(cause, { body })).text();
  gateway.provider.fault = undefined;
  expect(await outcomeOf(cause, { body })).toEqual(used);
  expect(requests()).toBe(1);
});

test('a call that was never sent because no connection was made is sent when it is repeated', async () => {
  const port = await freePort();
  gateway.connections = [connectionTo(`http://127.0.0.1:${port}`)];
  expect(await outcomeOf('no connection')).toEqual([502, 'provider_unreachable']);
  gateway.connections = connections;
  expect(await outcomeOf('no connection')).toEqual(succeeded);
  expect(requests()).toBe(1);
});

test('a call that failed at a provider that may charge for errors is not sent again', async () => {
  connectOthers();
  const sent = { path: '/compat/other/v1/chat/completions' };
  gateway.provider.fault = () => ({ status: 500, retryAfter: '0.001' });
  expect((await send('charged error', sent)).status).toBe(500);
  gateway.provider.fault = undefined;
  const attempts = requests();
  expect(await outcomeOf('charged error', sent)).toEqual(used);
  expect(requests()).toBe(attempts);
});

test('a call whose connection was closed without a response may have been billed, and is not sent again', async () => {
  gateway.provider.fault = () => 'reset';
  expect(await outcomeOf('closed')).toEqual([502, 'provider_unreachable']);
  gateway.provider.fault = undefined;
  const sent = requests();
  expect(await outcomeOf('closed')).toEqual(used);
  expect(requests()).toBe(sent);
});

test('a call without an answer in time may have been billed, and is not sent again', async () => {
  const timeouts = { connectMs: 300_000, firstByteMs: 20, idleMs: 300_000, totalMs: 300_000 };
  gateway.connections = [connectionTo(gateway.provider.url, 'openai', { timeouts })];
  gateway.provider.fault = () => 'silent';
  expect((await send('silent')).status).toBe(504);
  gateway.provider.fault = undefined;
  gateway.connections = connections;
  const sent = requests();
  expect(await outcomeOf('silent')).toEqual(used);
  expect(requests()).toBe(sent);
});

test('a call whose client has left keeps its key', async () => {
  const proceed = holdProvider();
  const abort = new AbortController();
  const left = fetch(gateway.url + paths.chat, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'idempotency-key': 'left' },
    body: JSON.stringify({ model: 'gpt-test', max_tokens: 50, messages }),
    signal: abort.signal,
  });
  await eventually(() => expect(requests()).toBe(1));
  abort.abort();
  await expect(left).rejects.toThrow();
  expect(await outcomeOf('left')).toEqual(processing);
  proceed();
  await eventually(async () => expect(await outcomeOf('left')).toEqual(used));
  expect(requests()).toBe(1);
});

test('a call whose hold expired was made: it is posted as unsettled, and not sent again', async () => {
  const proceed = holdProvider();
  const first = send('expired');
  await eventually(() => expect(requests()).toBe(1));
  gateway.world.clock.advanceSeconds(3_000);
  await gateway.world.runJob('expire-holds');
  const after = await send('expired');
  expect(await after.json()).toMatchObject({ error: { code: 'idempotency_key_used' } });
  proceed();
  expect((await first).headers.get('x-svc-run-id')).toBe(after.headers.get('x-svc-run-id'));
  expect(requests()).toBe(1);
});

test('a call that was not made because the answer to its hold was lost is sent once its hold is voided', async () => {
  const { ledger } = gateway.world.services;
  const { hold } = ledger;
  Object.assign(ledger, {
    async hold(...request: Parameters<typeof hold>) {
      await hold.apply(ledger, request);
      throw new DatabaseUnavailable('the answer was lost');
    },
  });
  expect(await outcomeOf('lost')).toEqual([503, 'service_unavailable']);
  Object.assign(ledger, { hold });
  expect(await outcomeOf('lost')).toEqual(processing);
  await gateway.world.runJob('void-abandoned-holds');
  expect(await outcomeOf('lost')).toEqual(succeeded);
  expect(await outcomeOf('lost')).toEqual(used);
  expect(requests()).toBe(1);
});

describe('flagged calls, whose run is stored at the admission', () => {
  let detector: string;
  beforeAll(async () => {
    const { json } = await gateway.world.request('POST', `/v1/orgs/${gateway.org.id}/safety-detectors`, {
      key: gateway.org.ownerKey,
      body: { name: 'Greetings', kind: 'regex', pattern: 'hello', action: 'flag' },
    });
    detector = json.id;
  });
  afterAll(async () => {
    await gateway.world.request('DELETE', `/v1/orgs/${gateway.org.id}/safety-detectors/${detector}`, {
      key: gateway.org.ownerKey,
    });
  });

  test('flagged calls, whose run is stored at the admission are sent once, and again only if they failed at no cost', async () => {
    gateway.provider.fault = () => ({ status: 400 });
    expect((await send('flagged')).status).toBe(400);
    gateway.provider.fault = undefined;
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => outcomeOf('flagged')));
    expect(outcomes.filter(([status]) => status === 200)).toHaveLength(1);
    const last = await send('flagged');
    expect(await last.json()).toMatchObject({ error: { code: 'idempotency_key_used' } });
    expect(requests()).toBe(2);
    const { json } = await gateway.world.request('GET', `/v1/runs/${last.headers.get('x-svc-run-id')}`, {
      key: gateway.org.ownerKey,
    });
    expect(json).toMatchObject({ status: 'succeeded', flagged_by: ['Greetings'], output_tokens: 5 });
  });

  test('release their key and their hold if their run cannot be stored', async () => {
    const { ledger } = gateway.world.services;
    const { post } = ledger;
    Object.assign(ledger, { post: () => Promise.reject(new DatabaseUnavailable('away')) });
    expect(await outcomeOf('unstored')).toEqual([503, 'service_unavailable']);
    Object.assign(ledger, { post });
    await gateway.world.runJob('void-abandoned-holds');
    expect(await gateway.holds()).toBe(0);
    expect(await outcomeOf('unstored')).toEqual(succeeded);
    expect(requests()).toBe(1);
  });
});

describe('with the retries of the SDKs', () => {
  /** Requests of the SDKs, retries included. */
  let sent = 0;
  const counted: typeof fetch = (...request) => {
    sent += 1;
    return fetch(...request);
  };
  beforeEach(() => {
    sent = 0;
  });

  /** The option with which an SDK itself generates one key for a call and its retries. */
  class KeyedOpenAI extends OpenAI {
    protected override idempotencyHeader = 'Idempotency-Key';
  }

  const options = () => ({ apiKey: gateway.key, fetch: counted });
  const openAi = (Client: typeof OpenAI, headers: Record<string, string>) =>
    new Client({ ...options(), baseURL: `${gateway.url}/openai/v1` }).chat.completions.create(
      { model: 'gpt-test', messages: [{ role: 'user', content: 'Say hello' }] },
      { headers },
    );
  const cases = [
    {
      name: 'OpenAI, a key of the program',
      call: (key: string) => openAi(OpenAI, { 'Idempotency-Key': key }),
    },
    { name: 'OpenAI, a key of the SDK', call: () => openAi(KeyedOpenAI, {}) },
    {
      name: 'Anthropic, a key of the program',
      call: (key: string) =>
        new Anthropic({ ...options(), baseURL: `${gateway.url}/anthropic` }).messages.create(
          { model: 'claude-test', max_tokens: 50, messages: [{ role: 'user', content: 'Say hello' }] },
          { headers: { 'Idempotency-Key': key } },
        ),
    },
  ];

  test.each(cases)('a retry after errors of the provider at no cost is sent: $name', async ({ call }) => {
    // All attempts of the first request fail.
    gateway.provider.fault = () => (requests() <= 3 ? { status: 500, retryAfter: '0.001' } : undefined);
    expect(await call('sdk, free')).toMatchObject({ model: expect.stringContaining('-test') });
    expect([sent, requests()]).toEqual([2, 4]);
  });

  test.each(cases)(
    'a retry after a response that was billed and lost raises status 409: $name',
    async ({ call }) => {
      gateway.provider.fault = () => ({ cutAfter: 20 });
      const error = await errorOf(call('sdk, billed'));
      expect([error.constructor.name, error.status]).toEqual(['ConflictError', 409]);
      expect(JSON.stringify(error.error)).toContain('idempotency_key_used');
      expect(error.headers?.get('x-svc-run-id')).toMatch(/^run_/);
      expect([sent, requests()]).toEqual([2, 1]);
    },
  );
});

describe.runIf(engine === 'postgres')('in two processes on PostgreSQL', () => {
  test('of 20 calls at once with one key, exactly one is sent, and both processes name its run', async () => {
    const place = await makePlace({ migrated: true });
    const shared = await createGatewayWorld({}, { place: { ...place, remove: async () => undefined } });
    const second = await createWorld(
      { SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS: 'true' },
      {
        place: { ...place, remove: async () => undefined },
        clock: shared.world.clock,
        idSeed: 77,
        gateway: {
          connections: {
            candidates: () => [connectionTo(shared.provider.url)],
            succeeded: () => undefined,
            failed: () => undefined,
          },
          settings: { find: () => shared.settings },
        },
      },
    );
    try {
      const urls = [shared.url, (await second.listen()).url];
      const through = (index: number): Sent => ({ apiKey: shared.key, url: urls[index % 2] as string });
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, index) => outcomeOf('both', through(index))),
      );
      expect(outcomes.filter(([status]) => status === 200)).toHaveLength(1);
      expect(outcomes.filter(([status]) => status === 409)).toHaveLength(19);
      expect(shared.provider.requests).toHaveLength(1);
      await eventually(async () => {
        const [run] = await shared.runs();
        expect(run).toBeDefined();
        for (const index of [0, 1]) {
          const repeated = await send('both', through(index));
          expect(await repeated.json()).toMatchObject({
            error: { code: 'idempotency_key_used', details: { run_id: run?.id } },
          });
        }
      });
      expect(shared.provider.requests).toHaveLength(1);
    } finally {
      await second.close();
      await shared.close();
      await place.remove();
    }
  });
});

describe.runIf(engine === 'embedded')('after a crash of the process', () => {
  test('a call that was in progress is in progress until its hold expires, and was made then', async () => {
    const crashed = await createGatewayWorld();
    try {
      let proceed = () => {};
      const gate = new Promise<void>((resolve) => {
        proceed = resolve;
      });
      crashed.provider.beforeAnswer = () => gate;
      const sent = { apiKey: crashed.key, url: crashed.url };
      const first = send('crashed', sent).catch(() => undefined);
      await eventually(() => expect(crashed.provider.requests).toHaveLength(1));
      const restarting = crashed.world.restart('crash');
      crashed.world = await restarting;
      proceed();
      await first;
      const next = { apiKey: crashed.key, url: (await crashed.world.listen()).url };
      expect(await outcomeOf('crashed', next)).toEqual(processing);
      crashed.world.clock.advanceSeconds(3_000);
      await crashed.world.runJob('expire-holds');
      expect(await outcomeOf('crashed', next)).toEqual(used);
      expect(crashed.provider.requests).toHaveLength(1);
      expect(await crashed.runs()).toMatchObject([{ marks: ['unsettled'] }]);
    } finally {
      await crashed.close();
    }
  });
});
