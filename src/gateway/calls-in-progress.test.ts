/** The list of calls in progress: complete for this process, of one organization, and without content. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();
/** A provider that begins no response before the test tells it to. */
let silent: Server;
const waiting: ServerResponse[] = [];
let goOn: () => void = () => undefined;

beforeAll(async () => {
  silent = createServer((_, response) => void waiting.push(response)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
});
afterAll(() => {
  silent.closeAllConnections();
  silent.close();
});
afterEach(async () => {
  goOn();
  gateway.provider.beforeChunk = undefined;
  gateway.provider.outputOf = () => 5;
  await eventually(async () => expect((await list()).data).toEqual([]));
});

const list = async (query = '') => {
  const { org, world } = gateway;
  const { status, json, text } = await world.request('GET', `/v1/orgs/${org.id}/gateway/calls${query}`, {
    key: org.ownerKey,
  });
  expect(status, text).toBe(200);
  return json;
};

/** Streams stop after their first chunk until `goOn` is called. */
function holdStreams(): void {
  const released = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  gateway.provider.beforeChunk = (index) => (index < 3 ? Promise.resolve() : released);
}

const call = (key: string, { stream = true, signal }: { stream?: boolean; signal?: AbortSignal } = {}) =>
  fetch(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-test',
      stream,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'canary-of-the-prompt' }],
    }),
    ...(signal && { signal }),
  });

async function memberKey(member: string): Promise<{ id: string; secret: string }> {
  const { org, world } = gateway;
  const { json } = await world.request('POST', `/v1/orgs/${org.id}/keys`, {
    key: org.ownerKey,
    body: {
      name: `key of ${member}`,
      role: 'member',
      scopes: ['gateway:call'],
      attribution: { member_id: member },
      attribution_locked: ['member_id'],
    },
  });
  return json;
}

test('shows a stream with its key, member, connection and hold, and that it is drained once its client has left', async () => {
  holdStreams();
  gateway.provider.outputOf = () => 90;
  const amy = await memberKey('amy');
  const client = new AbortController();
  const response = await call(amy.secret, { signal: client.signal });
  const reader = response.body?.getReader();
  await reader?.read();
  await eventually(async () => {
    const listed = await list();
    expect(listed).toMatchObject({
      data: [
        {
          run_id: response.headers.get('x-svc-run-id'),
          state: 'streaming',
          key_id: amy.id,
          member_id: 'amy',
          model: 'gpt-test',
          operation: 'chat',
          stream: true,
          connection_id: 'con_openai',
          connection_name: 'openai',
          attempts: 1,
          held_usd: response.headers.get('x-svc-held-usd'),
          max_output_tokens: 100,
          output_tokens: null,
          output_tokens_at_most: 'tok0 tok1 '.length,
        },
      ],
      next_cursor: null,
      processes: 1,
    });
    expect(JSON.stringify(listed)).not.toMatch(/canary|tok0|sk-provider/);
  });
  client.abort();
  // A client that has left is noticed when the next chunks are passed on.
  gateway.provider.beforeChunk = () => new Promise((resolve) => setTimeout(resolve, 20));
  goOn();
  await eventually(async () => expect((await list()).data).toMatchObject([{ state: 'draining' }]));
  expect((await list('?state=streaming')).data).toEqual([]);
  expect((await list('?state=draining&member_id=amy')).data).toHaveLength(1);
  expect((await list('?member_id=bob')).data).toEqual([]);
});

test('shows a call as waiting until the provider answers', async () => {
  const { connections, key } = gateway;
  gateway.connections = [
    connectionTo(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`, 'openai', { name: 'slow' }),
  ];
  const answer = call(key, { stream: false });
  await eventually(async () => {
    expect(waiting).toHaveLength(1);
    expect((await list()).data).toMatchObject([
      { state: 'waiting', stream: false, connection_name: 'slow', member_id: null, output_tokens_at_most: 0 },
    ]);
  });
  gateway.connections = connections;
  waiting.pop()?.writeHead(400, { 'content-type': 'application/json' }).end('{}');
  expect((await answer).status).toBe(400);
});

test('pages through calls in both orders, and belongs to one organization', async () => {
  holdStreams();
  const { world, key } = gateway;
  const responses: Response[] = [];
  for (let number = 0; number < 3; number += 1) {
    world.clock.advanceSeconds(1);
    responses.push(await call(key));
  }
  const started = responses.map(({ headers }) => headers.get('x-svc-run-id'));
  const runIds = (page: { data: { run_id: string }[] }) => page.data.map(({ run_id }) => run_id);
  expect(runIds(await list())).toEqual(started);
  for (const [sort, expected] of [
    ['started_at', started],
    ['-started_at', started.toReversed()],
  ] as const) {
    const first = await list(`?limit=2&sort=${sort}`);
    const second = await list(`?limit=2&sort=${sort}&cursor=${first.next_cursor}`);
    expect([...runIds(first), ...runIds(second)]).toEqual(expected);
    expect(second.next_cursor).toBeNull();
  }
  const { next_cursor } = await list('?limit=2');
  const owner = { key: gateway.org.ownerKey };
  const path = `/v1/orgs/${gateway.org.id}/gateway/calls`;
  for (const query of [`?sort=-started_at&cursor=${next_cursor}`, '?cursor=x']) {
    const { status, json } = await world.request('GET', path + query, owner);
    expect([status, json.error.details.fields[0].field]).toEqual([422, 'cursor']);
  }

  const other = await world.createOrg('Other');
  const theirs = await world.request('GET', `/v1/orgs/${other.id}/gateway/calls`, { key: other.ownerKey });
  expect(theirs.json.data).toEqual([]);
  expect((await world.request('GET', path, { key: other.ownerKey })).status).toBe(404);
  const { secret } = await world.mintKey(gateway.org, 'viewer', ['runs:read']);
  expect((await world.request('GET', path, { key: secret })).json.error).toMatchObject({
    code: 'missing_scope',
    details: { required: 'connections:read' },
  });
  goOn();
  await Promise.all(responses.map((response) => response.text()));
});
