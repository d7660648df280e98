/** Connections over HTTP: what is accepted, what is shown, what is stored. */
import { describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { generateKey } from '../../../platform/http/routes/key-format.ts';
import { connectionsPerOrgMax } from './stored-connections.ts';

const purserKey = generateKey('live');
const secret = 'sk-canary-4f1d0c9be7a2';
const world = useWorld({
  SVC_GATEWAY_API_KEY_ENVS: 'OPENAI_API_KEY,LOCAL_KEY=https://llm.example.com/v1,REPLACED_KEY',
  OPENAI_API_KEY: 'sk-of-the-operator',
  NOT_LISTED: 'sk-other',
  REPLACED_KEY: purserKey,
});
const org = useOrg(world);

const call = (method: string, path = '', body?: unknown, at = org) =>
  world.request(method, `/v1/orgs/${at.id}/connections${path}`, {
    key: at.ownerKey,
    ...(body !== undefined && { body }),
  });
let names = 0;
const draft = (more: object = {}) => ({ name: `c${++names}`, kind: 'openai', api_key: secret, ...more });
const created = async (more: object = {}) => {
  const answer = await call('POST', '', draft(more));
  expect(answer.status, answer.text).toBe(201);
  return answer.json;
};
const fieldErrors = ({
  status,
  json,
}: {
  status: number;
  json: { error: { details: { fields: unknown[] } } };
}) => [
  status,
  ...json.error.details.fields.map((one) => {
    const { field, code } = one as { field: string; code: string };
    return `${field} ${code}`;
  }),
];

describe('creating', () => {
  test('fills in defaults, and shows the last four characters of the key', async () => {
    const connection = await created({ name: 'first' });
    expect(connection).toMatchObject({
      name: 'first',
      kind: 'openai',
      base_url: 'https://api.openai.com/v1',
      api_key_last_four: 'e7a2',
      api_key_env: null,
      previous_key_until: null,
      models: null,
      priority: 100,
      weight: 100,
      timeouts: { connect_ms: 10_000, first_byte_ms: 600_000, idle_ms: 300_000, total_ms: 3_600_000 },
      headers: {},
      breaker: { state: 'closed', consecutive_failures: 0, retry_at: null, last_failure: null },
    });
    expect((await call('GET', `/${connection.id}`)).json).toEqual(connection);
  });

  test('stores the key encrypted, and writes it nowhere else', async () => {
    await created();
    for (const table of ['connections', 'audit_log', 'outbox', 'idempotency_keys']) {
      const rows = await world.db.query<{ row: string }>(`SELECT t::text AS row FROM ${table} t`, []);
      const text = JSON.stringify(rows);
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString('hex'));
    }
  });

  test('shows nothing of a short key', async () => {
    expect((await created({ api_key: 'ollama' })).api_key_last_four).toBeNull();
  });

  test.each([
    [{ base_url: undefined, kind: 'openai_compatible' }, 'base_url required'],
    [{ base_url: undefined, kind: 'azure_openai' }, 'base_url required'],
    [{ base_url: 'api.example.com' }, 'base_url invalid_format'],
    [{ base_url: 'http://api.example.com' }, 'base_url invalid_value'],
    [{ base_url: 'https://127.0.0.1/v1' }, 'base_url invalid_value'],
    [{ base_url: 'https://[::1]/v1' }, 'base_url invalid_value'],
    [{ base_url: 'https://169.254.169.254/latest' }, 'base_url invalid_value'],
    [{ base_url: 'https://user:secret@api.example.com' }, 'base_url invalid_value'],
    [{ base_url: 'https://api.example.com/v1?key=a' }, 'base_url invalid_value'],
    [{ base_url: 'https://api.example.com/v1?api-version=1' }, 'base_url invalid_value'],
    [
      { kind: 'azure_openai', base_url: 'https://a.openai.azure.com/openai/v1?api-version=1&b=2' },
      'base_url invalid_value',
    ],
    [{ base_url: 'https://api.example.com/v1#a' }, 'base_url invalid_value'],
    [{ api_key: undefined }, 'api_key required'],
    [{ api_key: 'two words' }, 'api_key invalid_format'],
    [{ api_key: 'a\nb' }, 'api_key invalid_format'],
    [{ api_key_env: 'OPENAI_API_KEY' }, 'api_key_env invalid_value'],
    [{ api_key: undefined, api_key_env: 'NOT_LISTED' }, 'api_key_env invalid_value'],
    [{ api_key: undefined, api_key_env: 'PATH' }, 'api_key_env invalid_value'],
    [{ api_key: undefined, api_key_env: 'REPLACED_KEY' }, 'api_key_env invalid_value'],
    [{ name: 'Not Lower' }, 'name invalid_format'],
    [{ name: '../x' }, 'name invalid_format'],
    [{ kind: 'cohere' }, 'kind invalid_value'],
    [{ models: [] }, 'models empty'],
    [{ models: 'gpt-5' }, 'models invalid_type'],
    [{ priority: -1 }, 'priority out_of_range'],
    [{ weight: 0 }, 'weight out_of_range'],
    [{ timeouts: { connect_ms: 1 } }, 'timeouts.connect_ms out_of_range'],
    [{ timeouts: { forever: 1 } }, 'timeouts.forever unknown_field'],
    [{ headers: { authorization: 'Bearer a' } }, 'headers.authorization invalid_value'],
    [{ headers: { 'X-API-Key': 'a' } }, 'headers.X-API-Key invalid_value'],
    [{ headers: { 'Transfer-Encoding': 'chunked' } }, 'headers.Transfer-Encoding invalid_value'],
    [{ headers: { 'Proxy-Authorization': 'a' } }, 'headers.Proxy-Authorization invalid_value'],
    [{ headers: { 'x-svc-customer': 'a' } }, 'headers.x-svc-customer invalid_value'],
    [{ headers: { 'a b': 'c' } }, 'headers.a b invalid_format'],
    [{ headers: { a: 'b\r\nc: d' } }, 'headers.a invalid_format'],
    [{ headers: { 'x-a': '1', 'X-A': '2' } }, 'headers.X-A invalid_value'],
    [{ unknown: 1 }, 'unknown unknown_field'],
  ])('rejects %o', async (more, problem) => {
    expect(fieldErrors(await call('POST', '', draft(more)))).toEqual([422, problem]);
  });

  test('rejects a key of Purser, also when changing and rotating', async () => {
    const { id } = await created();
    const api_key = purserKey;
    for (const [method, path, body] of [
      ['POST', '', draft({ api_key })],
      ['PATCH', `/${id}`, { api_key }],
      ['POST', `/${id}/rotate`, { api_key }],
    ] as const) {
      const { status, json } = await call(method, path, body);
      expect([status, json.error.details.fields]).toEqual([
        422,
        [
          {
            field: 'api_key',
            code: 'invalid_value',
            message: 'This is a key of Purser. Use the key of the provider.',
          },
        ],
      ]);
    }
  });

  test('keeps the API version of a deployment in Azure', async () => {
    const base_url = 'https://a.openai.azure.com/openai/deployments/gpt-4o/?api-version=2024-10-21';
    expect(await created({ kind: 'azure_openai', base_url })).toMatchObject({
      base_url: 'https://a.openai.azure.com/openai/deployments/gpt-4o?api-version=2024-10-21',
    });
  });

  test('states the models of deployments in Azure, which other providers do not have', async () => {
    const base_url = 'https://a.openai.azure.com/openai/v1';
    const deployment_models = { 'team-chat': 'gpt-4o' };
    const { id } = await created({ kind: 'azure_openai', base_url, deployment_models });
    expect((await call('GET', `/${id}`)).json.deployment_models).toEqual(deployment_models);
    const renamed = await call('PATCH', `/${id}`, { priority: 2 });
    expect(renamed.json).toMatchObject({ priority: 2, deployment_models });
    const none = await call('PATCH', `/${id}`, { deployment_models: {} });
    expect(none.json.deployment_models).toEqual({});
    const wrong = await call('POST', '', draft({ deployment_models }));
    expect([wrong.status, wrong.json.error.details.fields[0].field]).toEqual([422, 'deployment_models']);
  });

  test('accepts a name once per organization', async () => {
    await created({ name: 'twice' });
    expect((await call('POST', '', draft({ name: 'twice' }))).json.error.code).toBe('conflict');
    const other = await world.createOrg();
    expect((await call('POST', '', draft({ name: 'twice' }), other)).status).toBe(201);
    const both = await Promise.all([0, 1].map(() => call('POST', '', draft({ name: 'race' }), other)));
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  test('allows a bounded number per organization', async () => {
    const other = await world.createOrg();
    for (let index = 0; index < connectionsPerOrgMax; index += 1) {
      expect((await call('POST', '', draft(), other)).status).toBe(201);
    }
    expect((await call('POST', '', draft(), other)).json.error.code).toBe('conflict');
  });
});

describe('a key from the environment', () => {
  test('a key from the environment is accepted for the URL that the operator allows, and for no other', async () => {
    const { api_key_env, api_key_last_four } = await created({
      api_key: undefined,
      api_key_env: 'OPENAI_API_KEY',
    });
    expect([api_key_env, api_key_last_four]).toEqual(['OPENAI_API_KEY', null]);
    await created({
      kind: 'openai_compatible',
      base_url: 'https://llm.example.com/v1/',
      api_key: undefined,
      api_key_env: 'LOCAL_KEY',
    });
    for (const more of [
      { base_url: 'https://attacker.example/v1', api_key_env: 'OPENAI_API_KEY' },
      { kind: 'openai_compatible', base_url: 'https://api.openai.com/v1', api_key_env: 'OPENAI_API_KEY' },
      { base_url: 'https://api.openai.com/v1', api_key_env: 'LOCAL_KEY' },
    ]) {
      const answer = await call('POST', '', draft({ api_key: undefined, ...more }));
      expect(fieldErrors(answer)).toEqual([422, 'api_key_env invalid_value']);
    }
  });

  test('a key from the environment cannot be sent to another address by changing the URL', async () => {
    const { id } = await created({ api_key: undefined, api_key_env: 'OPENAI_API_KEY' });
    const base_url = 'https://attacker.example/v1';
    expect(fieldErrors(await call('PATCH', `/${id}`, { base_url }))).toEqual([422, 'api_key required']);
    expect(fieldErrors(await call('PATCH', `/${id}`, { base_url, api_key_env: 'OPENAI_API_KEY' }))).toEqual([
      422,
      'api_key_env invalid_value',
    ]);
  });
});

describe('changing', () => {
  test('changes the named fields only', async () => {
    const before = await created({ models: ['gpt-*'], headers: { 'OpenAI-Project': 'p' } });
    const { status, json } = await call('PATCH', `/${before.id}`, {
      name: 'renamed',
      priority: 1,
      timeouts: { idle_ms: 5_000 },
    });
    expect(status).toBe(200);
    expect(json).toEqual({
      ...before,
      name: 'renamed',
      priority: 1,
      timeouts: { ...before.timeouts, idle_ms: 5_000 },
      updated_at: json.updated_at,
    });
    expect(json.headers).toEqual({ 'openai-project': 'p' });
    expect((await call('PATCH', `/${before.id}`, { models: null, headers: {} })).json).toMatchObject({
      models: null,
      headers: {},
    });
  });

  test('asks for the key again if it would be sent to another address', async () => {
    const { id } = await created();
    const base_url = 'https://other.example.com/v1';
    expect(fieldErrors(await call('PATCH', `/${id}`, { base_url }))).toEqual([422, 'api_key required']);
    const moved = await call('PATCH', `/${id}`, { base_url, api_key: 'sk-for-the-other-one' });
    expect(moved.json).toMatchObject({ base_url, api_key_last_four: '-one' });
    expect((await call('PATCH', `/${id}`, { base_url: `${base_url}/`, weight: 7 })).json.weight).toBe(7);
  });

  test('rejects a name that is in use, an unknown id, and a connection of another organization', async () => {
    const [one, two] = [await created(), await created()];
    expect((await call('PATCH', `/${one.id}`, { name: two.name })).json.error.code).toBe('conflict');
    expect((await call('PATCH', `/${one.id}`, { name: one.name })).status).toBe(200);
    const other = await world.createOrg();
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { weight: 1 }],
      ['POST', '/rotate', { api_key: 'sk-new' }],
      ['DELETE', '', undefined],
    ] as const) {
      expect((await call(method, `/${one.id}${path}`, body, other)).status, method).toBe(404);
      expect((await call(method, `/con_unknown${path}`, body)).status, method).toBe(404);
    }
  });
});

describe('rotating', () => {
  test('replaces the key and keeps the old one for the overlap', async () => {
    const { id } = await created();
    const rotated = await call('POST', `/${id}/rotate`, { api_key: 'sk-new-key-0001', overlap_seconds: 60 });
    const until = new Date(world.clock.now().getTime() + 60_000).toISOString();
    expect(rotated.json).toMatchObject({ api_key_last_four: '0001', previous_key_until: until });
    world.clock.advanceSeconds(61);
    expect((await call('GET', `/${id}`)).json.previous_key_until).toBeNull();
  });

  test('keeps no old key without an overlap, and needs a key', async () => {
    const { id } = await created();
    expect(
      (await call('POST', `/${id}/rotate`, { api_key: 'sk-new', overlap_seconds: 0 })).json
        .previous_key_until,
    ).toBeNull();
    expect(fieldErrors(await call('POST', `/${id}/rotate`, {}))).toEqual([422, 'api_key required']);
    expect(
      fieldErrors(await call('POST', `/${id}/rotate`, { api_key: 'a', overlap_seconds: 31 * 86_400 })),
    ).toEqual([422, 'overlap_seconds out_of_range']);
  });
});

test('lists by name, priority and time, in pages', async () => {
  const other = await world.createOrg();
  for (const [name, priority] of [
    ['b', 1],
    ['a', 3],
    ['c', 2],
  ] as const) {
    await call('POST', '', { ...draft({ name }), priority }, other);
  }
  const list = async (query: string) => (await call('GET', query, undefined, other)).json;
  const namesOf = ({ data }: { data: { name: string }[] }) => data.map(({ name }) => name).join('');
  expect(namesOf(await list('?sort=name'))).toBe('abc');
  expect(namesOf(await list('?sort=-priority'))).toBe('acb');
  expect(namesOf(await list('?name=b'))).toBe('b');
  expect(namesOf(await list('?kind=anthropic'))).toBe('');
  const first = await list('?sort=priority&limit=2');
  expect(namesOf(first)).toBe('bc');
  expect(namesOf(await list(`?sort=priority&limit=2&cursor=${first.next_cursor}`))).toBe('a');
});

test('deletes the connection with its key, and audits every change without secrets', async () => {
  const other = await world.createOrg();
  const { json } = await call('POST', '', draft(), other);
  await call('PATCH', `/${json.id}`, { weight: 2 }, other);
  await call('POST', `/${json.id}/rotate`, { api_key: 'sk-rotated-canary' }, other);
  expect((await call('DELETE', `/${json.id}`, undefined, other)).status).toBe(204);
  expect((await call('GET', `/${json.id}`, undefined, other)).status).toBe(404);
  expect(await world.db.query('SELECT 1 AS one FROM connections WHERE org_id = $1', [other.id])).toEqual([]);
  const log = await world.request('GET', `/v1/orgs/${other.id}/audit-log?target_kind=connection`, {
    key: other.ownerKey,
  });
  expect(log.json.data.map(({ action }: { action: string }) => action).sort()).toEqual([
    'connections.change',
    'connections.create',
    'connections.delete',
    'connections.rotate',
  ]);
  expect(log.text).not.toMatch(/canary|breaker/);
});

describe('the settings of the gateway', () => {
  const settings = (method: string, body?: object, at = org) =>
    world.request(method, `/v1/orgs/${at.id}/gateway`, { key: at.ownerKey, ...(body && { body }) });
  const defaults = {
    default_max_output_tokens: 8_192,
    min_output_tokens: 256,
    unseen_input: 'hold',
    unseen_input_tokens: null,
    unknown_tokenizer: 'estimate',
    max_tool_calls: 10,
    unpriced_tool_call_usd: null,
    hold: 'worst_case',
    reserve_for_running: 5,
    plain_calls: 'as_sent',
    on_limit: 'refuse',
    on_abort: 'drain',
    customer_from_body: false,
  };

  test('the settings of the gateway have defaults, and are replaced as a whole', async () => {
    expect((await settings('GET')).json).toEqual({ ...defaults, updated_at: null });
    const put = await settings('PUT', {
      hold: 'expected',
      unseen_input: 'refuse',
      unseen_input_tokens: 0,
      unknown_tokenizer: 'bytes',
      customer_from_body: true,
    });
    expect(put.json).toEqual({
      ...defaults,
      hold: 'expected',
      unseen_input: 'refuse',
      unseen_input_tokens: 0,
      unknown_tokenizer: 'bytes',
      customer_from_body: true,
      updated_at: world.clock.now().toISOString(),
    });
    expect((await settings('GET')).json).toEqual(put.json);
    const tools = { max_tool_calls: 3, unpriced_tool_call_usd: '0.05' };
    expect((await settings('PUT', tools)).json).toMatchObject({ ...defaults, ...tools });
    expect((await settings('GET')).json).toMatchObject(tools);
    expect((await settings('PUT', { on_limit: 'fit' })).json).toMatchObject({ ...defaults, on_limit: 'fit' });
    expect((await settings('GET', undefined, await world.createOrg())).json.updated_at).toBeNull();
  });

  test.each([
    [{ default_max_output_tokens: 0 }, 'default_max_output_tokens out_of_range'],
    [{ default_max_output_tokens: 100 }, 'min_output_tokens out_of_range'],
    [{ unseen_input_tokens: -1 }, 'unseen_input_tokens out_of_range'],
    [{ unseen_input: 'fit' }, 'unseen_input invalid_value'],
    [{ unseen_input: null }, 'unseen_input invalid_type'],
    [{ unknown_tokenizer: 'words' }, 'unknown_tokenizer invalid_value'],
    [{ hold: 'none' }, 'hold invalid_value'],
    [{ on_limit: 'allow' }, 'on_limit invalid_value'],
    [{ on_abort: 1 }, 'on_abort invalid_type'],
    [{ customer_from_body: 'yes' }, 'customer_from_body invalid_type'],
    [{ other: 1 }, 'other unknown_field'],
  ])('reject %o', async (body, problem) => {
    expect(fieldErrors(await settings('PUT', body))).toEqual([422, problem]);
  });
});
