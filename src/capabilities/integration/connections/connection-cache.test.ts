/** Connections as the gateway gets them: cached, with usable keys, changed with the next call. */
import { expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { callFormats } from '../../../kernel/providers/formats.ts';
import type { Credential } from '../../../platform/cloud-credentials/credential.ts';
import { createSurroundings } from '../../../platform/cloud-credentials/surroundings.ts';
import { createTokenCache } from '../../../platform/cloud-credentials/token-cache.ts';
import { generateKey } from '../../../platform/http/routes/key-format.ts';
import { createBreakers } from './breakers.ts';
import { type Connection, ConnectionKeyUnavailable, type Connections } from './connection.ts';
import { createConnections } from './connection-cache.ts';
import { createGatewaySettings } from './gateway-settings.ts';

const world = useWorld({ SVC_GATEWAY_API_KEY_ENVS: 'OPENAI_API_KEY,UNSET_KEY' });
const org = useOrg(world);
let nowMs = 0;
const breakers = createBreakers(() => nowMs);

/** As another process would have it, also with other settings. */
const open = (variables: Record<string, string | undefined> = {}): Connections =>
  createConnections({
    db: world.db,
    secrets: world.services.secrets,
    keyVariables: new Map(
      Object.entries(variables).map(([name, value]) => [name, { value, baseUrl: undefined }]),
    ),
    tokens: createTokenCache({ nowMs: () => world.clock.now().getTime() }),
    surroundings: createSurroundings({
      variables: {},
      tokenFiles: new Map(),
      nowMs: () => world.clock.now().getTime(),
    }),
    cloudIdentities: [],
    cloudIdentityUrls: [],
    defaultUrls: { openai: 'https://api.openai.com/v1' },
    breakers,
    nowMs: () => world.clock.now().getTime(),
  });
const key = (text: string): Credential => ({ type: 'key', key: text });
const call = async (method: string, path: string, body?: object) => {
  const answer = await world.request(method, `/v1/orgs/${org.id}${path}`, {
    key: org.ownerKey,
    ...(body && { body }),
  });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json;
};
const named = async (connections: Connections, name: string): Promise<Connection> => {
  const [connection] = await connections.candidates(org.id, { connection: name }, 'gpt-5');
  return connection as Connection;
};

test('returns cached connections without a promise, and changed ones after a change', async () => {
  const connections = open();
  const { id } = await call('POST', '/connections', { name: 'cached', kind: 'openai', api_key: 'sk-1' });
  expect((await named(connections, 'cached')).credential()).toEqual(key('sk-1'));
  // On PostgreSQL a new cache is bypassed until its notifications are known to arrive.
  await eventually(async () => {
    await named(connections, 'cached');
    expect(connections.candidates(org.id, { format: callFormats.chat }, 'gpt-5')).toMatchObject([
      { name: 'cached' },
    ]);
  });
  await call('PATCH', `/connections/${id}`, { weight: 9, timeouts: { idle_ms: 4_000 } });
  await eventually(async () =>
    expect(await named(connections, 'cached')).toMatchObject({ weight: 9, timeouts: { idleMs: 4_000 } }),
  );
  await call('DELETE', `/connections/${id}`);
  await eventually(async () =>
    expect(await connections.candidates(org.id, { format: callFormats.chat }, 'gpt-5')).toEqual([]),
  );
});

test('a connection of a kind that a newer version has stored is left out, and no other one fails for it', async () => {
  const { id } = await call('POST', '/connections', { name: 'newer', kind: 'openai', api_key: 'sk-1' });
  const other = await call('POST', '/connections', { name: 'known', kind: 'openai', api_key: 'sk-1' });
  await world.db.query("UPDATE connections SET kind = 'teleport' WHERE org_id = $1 AND id = $2", [
    org.id,
    id,
  ]);
  const found = await open().candidates(org.id, { format: callFormats.chat }, 'gpt-5');
  expect(found.map(({ name }) => name)).toEqual(['known']);
  expect(await named(open(), 'newer')).toBeUndefined();
  for (const created of [id, other.id]) {
    await call('DELETE', `/connections/${created}`);
  }
});

test('offers the old key during the overlap of a rotation only', async () => {
  const connections = open();
  const { id } = await call('POST', '/connections', { name: 'rotated', kind: 'openai', api_key: 'sk-old' });
  expect((await named(connections, 'rotated')).previousCredential()).toBeUndefined();
  await call('POST', `/connections/${id}/rotate`, { api_key: 'sk-new', overlap_seconds: 60 });
  await eventually(async () =>
    expect((await named(connections, 'rotated')).credential()).toEqual(key('sk-new')),
  );
  const connection = await named(connections, 'rotated');
  expect([connection.credential(), connection.previousCredential()]).toEqual([key('sk-new'), key('sk-old')]);
  world.clock.advanceSeconds(60);
  expect([connection.credential(), connection.previousCredential()]).toEqual([key('sk-new'), undefined]);
});

test('takes a key from a variable that is listed and set', async () => {
  await call('POST', '/connections', { name: 'env', kind: 'openai', api_key_env: 'OPENAI_API_KEY' });
  expect((await named(open({ OPENAI_API_KEY: 'sk-env' }), 'env')).credential()).toEqual(key('sk-env'));
  for (const variables of [{ OPENAI_API_KEY: undefined }, {}]) {
    const connection = await named(open(variables), 'env');
    expect(() => connection.credential()).toThrow(ConnectionKeyUnavailable);
  }
});

test('does not send a key of Purser that a variable has', async () => {
  await call('POST', '/connections', { name: 'own-key', kind: 'openai', api_key_env: 'OPENAI_API_KEY' });
  const connection = await named(open({ OPENAI_API_KEY: generateKey('live') }), 'own-key');
  expect(() => connection.credential()).toThrow(/the variable OPENAI_API_KEY .* is a key of Purser/);
});

test('a key that cannot be decrypted fails its own connection only', async () => {
  const { id } = await call('POST', '/connections', { name: 'damaged', kind: 'anthropic', api_key: 'sk-x' });
  await world.db.query('UPDATE connections SET api_key = $2 WHERE id = $1', [id, Buffer.alloc(40)]);
  const damaged = await named(open(), 'damaged');
  expect(() => damaged.credential()).toThrow(/cannot be decrypted/);
});

test('a connection contains no key when it is logged', async () => {
  await call('POST', '/connections', { name: 'logged', kind: 'anthropic', api_key: 'sk-canary-1' });
  const connection = await named(open(), 'logged');
  expect(JSON.stringify(connection)).not.toContain('canary');
});

test('a failing connection is tried last until its trial succeeds', async () => {
  const connections = open();
  for (const [name, priority] of [
    ['prime', 1],
    ['spare', 2],
  ] as const) {
    await call('POST', '/connections', {
      name,
      kind: 'anthropic',
      api_key: 'sk',
      priority,
      models: ['claude-*'],
    });
  }
  const order = async () =>
    (await connections.candidates(org.id, { format: callFormats.messages }, 'claude-x'))
      .map(({ name }) => name)
      .filter((name) => ['prime', 'spare'].includes(name));
  await eventually(async () => expect(await order()).toEqual(['prime', 'spare']));
  const [prime] = await connections.candidates(org.id, { connection: 'prime' }, 'claude-x');
  const id = prime?.id as string;
  for (let failures = 0; failures < 5; failures += 1) {
    expect(await order()).toEqual(['prime', 'spare']);
    connections.failed(id, { reason: 'status', status: 500 + failures });
  }
  expect(await order()).toEqual(['spare', 'prime']);
  expect([breakers.view(id).state, breakers.opened(), breakers.notClosed()]).toEqual([
    'open',
    1,
    [{ connectionId: id, phase: 'open' }],
  ]);
  const lastFailure = { at: new Date(nowMs).toISOString(), reason: 'status', status: 504 };
  expect(breakers.view(id)).toMatchObject({ consecutive_failures: 5, last_failure: lastFailure });
  nowMs += 5_000;
  expect(breakers.view(id).state).toBe('half_open');
  expect([await order(), await order()]).toEqual([
    ['prime', 'spare'],
    ['spare', 'prime'],
  ]);
  connections.succeeded(id);
  expect([await order(), breakers.view(id).state, breakers.notClosed()]).toEqual([
    ['prime', 'spare'],
    'closed',
    [],
  ]);
  expect(breakers.view(id).last_failure, 'stays visible when the connection works again').toEqual(
    lastFailure,
  );
  connections.failed(id, { reason: 'timeout' });
  expect(breakers.view(id).last_failure).toMatchObject({ reason: 'timeout', status: null });
});

test('settings of the gateway are cached until they change', async () => {
  const settings = createGatewaySettings(world.db);
  expect(await settings.find(org.id)).toEqual({
    defaultMaxOutputTokens: 8_192,
    minOutputTokens: 256,
    unseenInput: 'hold',
    unseenInputTokens: null,
    unknownTokenizer: 'estimate',
    maxToolCalls: 10,
    unpricedToolCallNanos: null,
    hold: 'worst_case',
    reserveForRunning: 5,
    plainCalls: 'as_sent',
    onLimit: 'refuse',
    onAbort: 'drain',
    customerFromBody: false,
  });
  await eventually(async () => {
    await settings.find(org.id);
    expect(settings.find(org.id)).not.toBeInstanceOf(Promise);
  });
  await call('PUT', '/gateway', { on_abort: 'close', unseen_input: 'refuse', unseen_input_tokens: 5 });
  await eventually(async () =>
    expect(await settings.find(org.id)).toMatchObject({
      onAbort: 'close',
      unseenInput: 'refuse',
      unseenInputTokens: 5,
    }),
  );
});
