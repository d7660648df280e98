/** A stored response belongs to the member of the key that created it, or to the organization if the key has no member. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createWorld, type TestOrg } from '../../test/harness.ts';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, createGatewayWorld, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { engine, makePlace } from '../../test/support/test-database.ts';
import type { OrgRole } from '../contract/scopes.ts';

const gateway = useGatewayWorld();
let keys: Record<'anna' | 'annasOther' | 'ben' | 'service' | 'admin' | 'foreign', string>;
let other: TestOrg;

beforeAll(async () => {
  other = await gateway.world.createOrg();
  const mint = async (org: TestOrg, role: OrgRole, member?: string) => {
    const attribution = member === undefined ? {} : { attribution: { member_id: member } };
    return (await gateway.world.mintKey(org, role, ['gateway:call'], attribution)).secret;
  };
  keys = {
    anna: await mint(gateway.org, 'member', 'mem_anna'),
    annasOther: await mint(gateway.org, 'member', 'mem_anna'),
    ben: await mint(gateway.org, 'member', 'mem_ben'),
    service: await mint(gateway.org, 'member'),
    admin: await mint(gateway.org, 'admin'),
    foreign: await mint(other, 'owner'),
  };
});

let created = 0;
beforeEach(() => {
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.requests.length = 0;
  created += 1;
  gateway.provider.responseId = `of-a-stored-answer-${created}`;
});
afterEach(async () => {
  await eventually(async () => expect(await gateway.holds()).toBe(0));
});

type Who = keyof typeof keys;

async function send(who: Who, method: string, path: string, body?: object, url = gateway.url) {
  const response = await fetch(`${url}/openai/v1/responses${path}`, {
    method,
    headers: { authorization: `Bearer ${keys[who]}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify({ model: 'gpt-test', input: 'hello', ...body }) }),
  });
  const text = await response.text();
  return { status: response.status, text, error: response.ok ? undefined : JSON.parse(text).error };
}

/** Creates a response with the key. Returns its id. */
async function create(who: Who, more: object = {}): Promise<string> {
  const { status, text } = await send(who, 'POST', '', more);
  expect([status, text]).toEqual([200, text]);
  return `resp_${gateway.provider.responseId}`;
}

const uses = [
  ['read', (who: Who, id: string) => send(who, 'GET', `/${id}`), 404, 'not_found'],
  ['cancelled', (who: Who, id: string) => send(who, 'POST', `/${id}/cancel`), 404, 'not_found'],
  ['deleted', (who: Who, id: string) => send(who, 'DELETE', `/${id}`), 404, 'not_found'],
  [
    'continued',
    (who: Who, id: string) => send(who, 'POST', '', { previous_response_id: id }),
    400,
    'previous_response_not_found',
  ],
] as const;

test.each([
  ['/openai/v1/chat/completions', 'gpt-test'],
  ['/anthropic/v1/messages', 'claude-test'],
])('a response of another member cannot be continued in another format: %s', async (path, model) => {
  const id = await create('anna');
  gateway.provider.requests.length = 0;
  const messages = [{ role: 'user', content: 'hello' }];
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.ben}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, max_tokens: 10, previous_response_id: id }),
  });
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringContaining('The previous response was not found.'),
  ]);
  expect(gateway.provider.requests).toEqual([]);
});

describe.each(uses)('a response is %s', (_, use, status, code) => {
  test.each(['plain', 'streamed'])('by the keys of its member and by admins only: %s', async (how) => {
    const id = await create('anna', { stream: how === 'streamed' });
    for (const who of ['ben', 'service', 'foreign'] as const) {
      gateway.provider.requests.length = 0;
      const refused = await use(who, id);
      expect([who, refused.status, refused.error?.code]).toEqual([who, status, code]);
      // In the format of OpenAI.
      expect(refused.error).toMatchObject({ type: expect.any(String), message: expect.any(String) });
      expect(gateway.provider.requests).toEqual([]);
    }
    for (const who of ['anna', 'annasOther', 'admin'] as const) {
      expect([who, (await use(who, id)).status]).toEqual([who, 200]);
    }
  });

  test('by every key of the organization if its key has no member', async () => {
    const id = await create('service');
    expect((await use('foreign', id)).status).toBe(status);
    for (const who of ['ben', 'service', 'admin'] as const) {
      expect([who, (await use(who, id)).status]).toEqual([who, 200]);
    }
  });

  test('by no caller if the gateway has not created it', async () => {
    const refused = await use('admin', 'resp_created-outside-the-gateway');
    expect([refused.status, refused.error?.code]).toEqual([status, code]);
    expect(gateway.provider.requests).toEqual([]);
  });
});

test('telemetry about a response does not make it the own one', async () => {
  const id = 'resp_that-only-telemetry-has-named';
  for (const org of [gateway.org, other]) {
    const { secret } = await gateway.world.mintKey(org, 'member', ['runs:backfill', 'runs:write']);
    const span = {
      traceId: '5b8efff798038103d269b633813fc60c',
      spanId: 'eee19b7ec3c1b174',
      name: 'chat gpt-test',
      kind: 3,
      startTimeUnixNano: `${gateway.world.clock.now().getTime()}000000`,
      endTimeUnixNano: `${gateway.world.clock.now().getTime()}000000`,
      attributes: Object.entries({
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'gpt-test',
        'gen_ai.response.id': id,
        // A report without usage claims no response.
        'gen_ai.usage.input_tokens': '10',
      }).map(([key, stringValue]) => ({ key, value: { stringValue } })),
    };
    const sent = await gateway.world.request('POST', '/otlp/v1/traces', {
      key: secret,
      body: { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
    });
    expect(sent.status).toBe(200);
  }
  const rows = await gateway.world.db.query('SELECT org_id FROM run_responses WHERE response_id = $1', [id]);
  expect(rows).toHaveLength(2);
  expect((await send('admin', 'GET', `/${id}`)).status).toBe(404);
  expect((await send('foreign', 'GET', `/${id}`)).status).toBe(404);
  // A call that gets this id belongs to its caller nevertheless.
  gateway.provider.responseId = id.slice('resp_'.length);
  await create('anna');
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  const owned = await gateway.world.db.query<{ member_id: string }>(
    'SELECT member_id FROM run_responses WHERE response_id = $1 AND key_id IS NOT NULL',
    [id],
  );
  expect(owned).toEqual([{ member_id: 'mem_anna' }]);
});

test.each([[7], [''], ['x'.repeat(201)], ['resp\u0000'], [['resp_1']], [{ id: 'resp_1' }]])(
  'an id of an earlier response that is none is rejected: %j',
  async (previous_response_id) => {
    const { status, error } = await send('admin', 'POST', '', { previous_response_id });
    expect([status, error.code]).toEqual([400, 'invalid_value']);
    expect(gateway.provider.requests).toEqual([]);
  },
);

test('a call without an earlier response needs none', async () => {
  expect((await send('anna', 'POST', '', { previous_response_id: null })).status).toBe(200);
});

test('the owner is known to the next process, and for 30 days', async () => {
  const place = await makePlace({ migrated: true });
  const first = await createGatewayWorld({}, { place: { ...place, remove: async () => undefined } });
  try {
    first.provider.responseId = 'of-an-earlier-process';
    const ask = (method: string, path: string, url: string, body?: object) =>
      fetch(`${url}/openai/v1/responses${path}`, {
        method,
        headers: { authorization: `Bearer ${first.key}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify({ model: 'gpt-test', input: 'hello', ...body }) }),
      });
    await (await ask('POST', '', first.url, {})).text();
    first.world = await first.world.restart();
    const { url } = await first.world.listen();
    const id = 'resp_of-an-earlier-process';
    expect((await ask('GET', `/${id}`, url)).status).toBe(200);
    await first.world.db.query(`UPDATE run_responses SET recorded_at = now() - interval '31 days'`);
    await first.world.runJob('delete-old-run-responses');
    expect((await ask('GET', `/${id}`, url)).status).toBe(404);
  } finally {
    await first.close();
    await place.remove();
  }
});

describe.runIf(engine === 'postgres')('in two processes on PostgreSQL', () => {
  test('a response can be continued at the other process', async () => {
    const place = await makePlace({ migrated: true });
    const keep = { place: { ...place, remove: async () => undefined } };
    const one = await createGatewayWorld({}, keep);
    const two = await createWorld(
      { SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS: 'true' },
      {
        ...keep,
        clock: one.world.clock,
        idSeed: 78,
        gateway: {
          connections: {
            candidates: () => [connectionTo(one.provider.url)],
            succeeded: () => undefined,
            failed: () => undefined,
          },
          settings: { find: () => one.settings },
        },
      },
    );
    try {
      const urls = [one.url, (await two.listen()).url];
      let previous_response_id: string | undefined;
      for (const turn of [0, 1, 2, 3]) {
        one.provider.responseId = `of-the-turn-${turn}-of-two`;
        // The process that made the call posts it in a moment.
        previous_response_id = await eventually(async () => {
          const response = await fetch(`${urls[turn % 2]}/openai/v1/responses`, {
            method: 'POST',
            headers: { authorization: `Bearer ${one.key}`, 'content-type': 'application/json' },
            body: JSON.stringify({ model: 'gpt-test', input: 'hello', previous_response_id }),
          });
          expect([turn, response.status]).toEqual([turn, 200]);
          return ((await response.json()) as { id: string }).id;
        });
      }
    } finally {
      await two.close();
      await one.close();
      await place.remove();
    }
  });
});
