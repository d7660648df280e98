/** Credentials of clouds over HTTP and in calls: what is accepted, what is stored, how they are renewed, and that none is shown. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ConnectedWorld, createConnectedWorld } from '../../../../test/support/gateway-world.ts';
import { startTokenServices, type TokenServices } from '../../../../test/support/token-services.ts';

const secret = 'canary-secret-71c4e0';
const token = 'canary-token-5b2d8f';
const canaries = [secret, token, 'canary-subject'];

let services: TokenServices;
let connected: ConnectedWorld;
let url: string;
beforeAll(async () => {
  services = await startTokenServices();
  connected = await createConnectedWorld({
    AZURE_AUTHORITY_HOST: services.url,
    AZURE_TENANT_ID: 'tenant-1',
    AZURE_CLIENT_ID: 'service-client',
    AZURE_CLIENT_SECRET: secret,
    SVC_GATEWAY_CLOUD_IDENTITIES: '*=allowed-*,*=service',
    SVC_GATEWAY_CLOUD_IDENTITY_URLS: 'https://proxy.example.com/openai/v1',
  });
  ({ url } = await connected.world.listen());
});
afterAll(async () => {
  await connected.close();
  await services.close();
});
beforeEach(() => {
  services.received.length = 0;
  connected.provider.requests.length = 0;
  connected.provider.fault = () => undefined;
  connected.world.clock.advanceSeconds(1);
  issue(token);
});

/** The stand-in of Entra issues this token for an hour. */
function issue(text: string): void {
  services.answers.set('POST /tenant-1/oauth2/v2.0/token', {
    body: { access_token: text, expires_in: 3_600 },
  });
}

function refuse(): void {
  services.answers.set('POST /tenant-1/oauth2/v2.0/token', {
    status: 401,
    body: { error: 'invalid_client', error_description: secret },
  });
}

let names = 0;
const application = { source: 'static', tenant_id: 'tenant-1', client_id: 'client-1', client_secret: secret };
const draft = (more: object = {}) => ({
  name: `cloud-${++names}`,
  kind: 'azure_openai',
  base_url: `${connected.provider.url}/openai/v1`,
  credentials: application,
  ...more,
});
const request = (method: string, path: string, body?: unknown) =>
  connected.world.request(method, `/v1/orgs/${connected.org.id}${path}`, {
    key: connected.org.ownerKey,
    ...(body !== undefined && { body }),
  });
const created = async (more: object = {}) => {
  const answer = await request('POST', '/connections', draft(more));
  expect(answer.status, answer.text).toBe(201);
  return answer.json;
};
const read = async (id: string) => (await request('GET', `/connections/${id}`)).json;
const rejection = async (method: string, path: string, body: unknown) => {
  const { status, json } = await request(method, path, body);
  return [status, ...json.error.details.fields.map(({ field }: { field: string }) => field)];
};
const callThrough = (name: string) =>
  fetch(`${url}/compat/${name}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${connected.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-test', messages: [{ role: 'user', content: 'Say hello' }] }),
  });
const sentTokens = () => connected.provider.requests.map(({ headers }) => headers.authorization);

describe('the API', () => {
  test('shows credentials without their secrets, and stores these encrypted and nowhere else', async () => {
    const connection = await created({ region: 'westeurope' });
    expect(connection).toMatchObject({
      api_key_last_four: null,
      api_key_env: null,
      credentials: { source: 'static', tenant_id: 'tenant-1', client_id: 'client-1' },
      region: 'westeurope',
      credential_state: { is_failing: false, renewed_at: null, expires_at: null, last_failure: null },
    });
    expect(JSON.stringify(connection)).not.toContain('canary');
    for (const table of ['connections', 'audit_log', 'outbox', 'idempotency_keys']) {
      const text = JSON.stringify(
        await connected.world.db.query(`SELECT t::text AS row FROM ${table} t`, []),
      );
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString('hex'));
    }
  });

  test.each([
    ['a source that the kind does not take', { source: 'assume_role' }, 'credentials.source'],
    ['a source for a kind with keys only', { source: 'metadata' }, 'credentials.source', 'gemini'],
    ['a missing field', { source: 'static', client_id: 'c', client_secret: 's' }, 'credentials.tenant_id'],
    ['a missing secret', { ...application, client_secret: undefined }, 'credentials.client_secret'],
    ['a field of another cloud', { ...application, role_arn: 'r' }, 'credentials.role_arn'],
    ['an unknown field', { ...application, password: 'p' }, 'credentials.password'],
  ])('rejects %s', async (_, credentials, field, kind = 'azure_openai') => {
    expect(await rejection('POST', '/connections', draft({ kind, credentials }))).toEqual([422, field]);
  });

  test('rejects credentials beside a key, and a connection with neither', async () => {
    expect(await rejection('POST', '/connections', draft({ api_key: 'sk-1' }))).toEqual([422, 'credentials']);
    expect(await rejection('POST', '/connections', draft({ credentials: undefined }))).toEqual([
      422,
      'api_key',
    ]);
  });

  test('lets an organization use an identity of the service only where the operator allows it, and at no other address', async () => {
    const federation = (client_id: string) => ({ source: 'federation', client_id });
    const azure = { base_url: 'https://models.openai.azure.com/openai/v1' };
    expect(await created({ ...azure, credentials: federation('allowed-1') })).toMatchObject(azure);
    expect(await created({ ...azure, credentials: { source: 'managed_identity' } })).toMatchObject(azure);
    const proxy = 'https://proxy.example.com/openai/v1';
    expect(await created({ base_url: proxy, credentials: { source: 'environment' } })).toMatchObject({
      base_url: proxy,
    });
    const rejected = [422, 'credentials.source'];
    const isRejected = async (more: object) =>
      expect(await rejection('POST', '/connections', draft(more))).toEqual(rejected);
    await isRejected({ ...azure, credentials: federation('other') });
    await isRejected({ credentials: { source: 'environment' } });
    await isRejected({
      base_url: 'https://openai.azure.com.example.com',
      credentials: { source: 'environment' },
    });
    await isRejected({ base_url: 'http://models.openai.azure.com', credentials: { source: 'environment' } });
  });

  test('a new address needs the credentials in the same request', async () => {
    const { id } = await created();
    const base_url = 'https://elsewhere.example.com/v1';
    expect(await rejection('PATCH', `/connections/${id}`, { base_url })).toEqual([422, 'api_key']);
    const answer = await request('PATCH', `/connections/${id}`, { base_url, credentials: application });
    expect([answer.status, answer.json.base_url]).toEqual([200, base_url]);
  });

  test('a key replaces credentials, and credentials replace a key', async () => {
    const { id } = await created();
    const withKey = await request('PATCH', `/connections/${id}`, { api_key: 'sk-a-key-of-azure-1234' });
    expect(withKey.json).toMatchObject({
      credentials: null,
      credential_state: null,
      api_key_last_four: '1234',
    });
    const without = await request('PATCH', `/connections/${id}`, { credentials: application });
    expect(without.json).toMatchObject({
      credentials: { client_id: 'client-1' },
      api_key_last_four: null,
    });
  });
});

describe('calls', () => {
  test('calls use one token, which calls at the same time wait for once', async () => {
    const { name, id } = await created();
    const answers = await Promise.all([callThrough(name), callThrough(name)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect((await callThrough(name)).status).toBe(200);
    expect(sentTokens()).toEqual([`Bearer ${token}`, `Bearer ${token}`, `Bearer ${token}`]);
    expect(connected.provider.requests[0]?.headers).not.toHaveProperty('api-key');
    expect(services.received).toHaveLength(1);
    const nowMs = connected.world.clock.now().getTime();
    expect((await read(id)).credential_state).toEqual({
      is_failing: false,
      renewed_at: new Date(nowMs).toISOString(),
      expires_at: new Date(nowMs + 3_600_000).toISOString(),
      last_failure: null,
    });
  });

  test('a renewal that fails keeps the old token in use until it expires, and is shown by the API, metrics and health', async () => {
    const { name, id } = await created();
    await callThrough(name);
    refuse();
    connected.world.clock.advanceSeconds(3_500);
    expect((await callThrough(name)).status).toBe(200);
    await expect.poll(async () => (await read(id)).credential_state.is_failing).toBe(true);
    const { credential_state } = await read(id);
    expect(credential_state.last_failure).toEqual({
      at: connected.world.clock.now().toISOString(),
      reason: 'Microsoft Entra answered 401 invalid_client',
    });
    const metrics = (await connected.world.request('GET', '/metrics')).text;
    expect(metrics).toMatch(/^svc_gateway_credentials_failing 1$/m);
    expect(metrics).toMatch(/^svc_gateway_credential_renewals_total\{result="failure"\} [1-9]/m);
    const installation = await connected.world.request('GET', '/v1/admin/installation', {
      key: connected.world.operatorKey,
    });
    expect(installation.json.checks).toContainEqual(
      expect.objectContaining({ id: 'credentials', status: 'warn' }),
    );
    connected.world.clock.advanceSeconds(101);
    const answer = await callThrough(name);
    expect(answer.status).toBe(502);
    expect((await read(id)).breaker.last_failure).toMatchObject({ reason: 'key_unavailable' });
    issue('another-token');
    connected.world.clock.advanceSeconds(1);
    expect((await callThrough(name)).status).toBe(200);
    expect(sentTokens().at(-1)).toBe('Bearer another-token');
    expect((await read(id)).credential_state).toMatchObject({ is_failing: false });
  });

  test('a token that the provider rejects is renewed by the next call, before it expires', async () => {
    const { name } = await created();
    await callThrough(name);
    issue('token-after-revocation');
    connected.provider.fault = ({ headers }) =>
      headers.authorization === `Bearer ${token}` ? { status: 401 } : undefined;
    connected.world.clock.advanceSeconds(15);
    expect((await callThrough(name)).status).toBe(502);
    await expect.poll(async () => (await callThrough(name)).status).toBe(200);
    expect(sentTokens().at(-1)).toBe('Bearer token-after-revocation');
  });

  test('the old credentials are used during the overlap of a rotation if the provider rejects the new ones', async () => {
    const { name, id } = await created();
    await callThrough(name);
    services.answers.set('POST /tenant-1/oauth2/v2.0/token', ({ body }) => ({
      body: { access_token: body.includes('client-2') ? 'token-2' : token, expires_in: 3_600 },
    }));
    const credentials = { ...application, client_id: 'client-2' };
    const rotated = await request('POST', `/connections/${id}/rotate`, { credentials, overlap_seconds: 60 });
    expect(rotated.json).toMatchObject({ credentials: { client_id: 'client-2' } });
    connected.provider.fault = ({ headers }) =>
      headers.authorization === 'Bearer token-2' ? { status: 401 } : undefined;
    connected.provider.requests.length = 0;
    await expect
      .poll(async () => {
        connected.provider.requests.length = 0;
        return [(await callThrough(name)).status, ...sentTokens()];
      })
      .toEqual([200, 'Bearer token-2', `Bearer ${token}`]);
    connected.world.clock.advanceSeconds(61);
    expect((await callThrough(name)).status).toBe(502);
  });

  test('a token that a provider repeats does not reach the client, and no secret reaches the log', async () => {
    const { name } = await created();
    connected.provider.fault = ({ headers }) => ({
      status: 400,
      body: JSON.stringify({ error: { message: `rejected ${headers.authorization}` } }),
    });
    const answer = await callThrough(name);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('rejected Bearer [redacted]');
    const log = connected.world.logLines.join('\n');
    for (const canary of canaries) {
      expect(log).not.toContain(canary);
    }
  });
});
