/** The sources of Azure against stand-ins of Entra and the metadata services. */
import { constants, createHash, verify, X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newPair } from '../../../../test/support/certificates.ts';
import {
  acquired,
  startTokenServices,
  surroundingsAt,
  type TokenServices,
} from '../../../../test/support/token-services.ts';
import { azureSources } from './index.ts';

let services: TokenServices;
beforeAll(async () => {
  services = await startTokenServices();
});
afterAll(() => services.close());
beforeEach(() => {
  services.received.length = 0;
  services.answers.clear();
});

const pair = newPair();
const certificate = `${pair.key}${pair.certificate}`;
const nowMs = () => 1_700_000_000_000;
const answer = { body: { access_token: 'entra.token', expires_in: 3_600, token_type: 'Bearer' } };
const issued = { credential: { type: 'bearer', token: 'entra.token' }, expiresAtMs: nowMs() + 3_600_000 };
const tokenPath = 'POST /tenant-1/oauth2/v2.0/token';
const scope = 'https://cognitiveservices.azure.com/.default';
const sentParameters = () => Object.fromEntries(new URLSearchParams(services.received.at(-1)?.body));
const at = (variables: Record<string, string> = {}, files: Record<string, string> = {}) =>
  surroundingsAt(services, { variables: { AZURE_AUTHORITY_HOST: services.url, ...variables }, files, nowMs });

test('managed_identity: the metadata service of a machine', async () => {
  services.answers.set('GET /metadata/identity/oauth2/token', {
    body: { access_token: 'entra.token', expires_in: '3600', expires_on: '1', resource: 'r' },
  });
  const surroundings = at({ AZURE_POD_IDENTITY_AUTHORITY_HOST: services.url });
  expect(await acquired(azureSources.managed_identity, surroundings, { client_id: 'client-1' })).toEqual(
    issued,
  );
  const [{ path = '', headers = {} } = {}] = services.received;
  expect(Object.fromEntries(new URL(path, services.url).searchParams)).toEqual({
    'api-version': '2018-02-01',
    resource: 'https://cognitiveservices.azure.com',
    client_id: 'client-1',
  });
  expect(headers.metadata).toBe('true');
});

test('managed_identity: the endpoint of App Service, which states the time of the expiry', async () => {
  services.answers.set('GET /msi/token', {
    body: { access_token: 'entra.token', expires_on: String(nowMs() / 1_000 + 3_600) },
  });
  const surroundings = at({
    IDENTITY_ENDPOINT: `${services.url}/msi/token`,
    IDENTITY_HEADER: 'header-secret',
  });
  expect(await acquired(azureSources.managed_identity, surroundings)).toEqual(issued);
  expect(services.received[0]?.headers['x-identity-header']).toBe('header-secret');
});

test('federation: the token of the Kubernetes service account, as it is in its file now', async () => {
  services.answers.set(tokenPath, answer);
  const files: Record<string, string> = { '/azure/token': 'first' };
  const surroundings = at(
    { AZURE_TENANT_ID: 'tenant-1', AZURE_CLIENT_ID: 'client-1', AZURE_FEDERATED_TOKEN_FILE: '/azure/token' },
    files,
  );
  expect(await acquired(azureSources.federation, surroundings)).toEqual(issued);
  expect(sentParameters()).toEqual({
    grant_type: 'client_credentials',
    client_id: 'client-1',
    scope,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: 'first',
  });
  files['/azure/token'] = 'second';
  await acquired(azureSources.federation, surroundings, { client_id: 'client-2' });
  expect(sentParameters()).toMatchObject({ client_id: 'client-2', client_assertion: 'second' });
});

test('static: a secret of an application', async () => {
  services.answers.set(tokenPath, answer);
  const fields = { tenant_id: 'tenant-1', client_id: 'client-1', client_secret: 'secret ~1' };
  expect(await acquired(azureSources.static, at(), fields)).toEqual(issued);
  expect(sentParameters()).toEqual({
    grant_type: 'client_credentials',
    client_id: 'client-1',
    scope,
    client_secret: 'secret ~1',
  });
});

test.each(['static', 'environment'] as const)('%s: a certificate signs an assertion', async (name) => {
  services.answers.set(tokenPath, answer);
  const fields = { tenant_id: 'tenant-1', client_id: 'client-1', client_certificate: certificate };
  const surroundings = at(
    {
      AZURE_TENANT_ID: 'tenant-1',
      AZURE_CLIENT_ID: 'client-1',
      AZURE_CLIENT_CERTIFICATE_PATH: '/azure/application.pem',
    },
    { '/azure/application.pem': certificate },
  );
  expect(await acquired(azureSources[name], surroundings, name === 'static' ? fields : {})).toEqual(issued);
  const [header = '', claims = '', signature = ''] = (sentParameters().client_assertion ?? '').split('.');
  const { raw, publicKey } = new X509Certificate(certificate);
  const decoded = [header, claims].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
  expect(decoded).toEqual([
    { typ: 'JWT', alg: 'PS256', 'x5t#S256': createHash('sha256').update(raw).digest('base64url') },
    {
      aud: `${services.url}/tenant-1/oauth2/v2.0/token`,
      iss: 'client-1',
      sub: 'client-1',
      jti: expect.any(String),
      nbf: 1_700_000_000,
      exp: 1_700_000_600,
    },
  ]);
  const key = { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
  expect(verify('sha256', Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url'))).toBe(
    true,
  );
});

test('environment: a secret of the service', async () => {
  services.answers.set(tokenPath, answer);
  const variables = { AZURE_TENANT_ID: 'tenant-1', AZURE_CLIENT_ID: 'client-1', AZURE_CLIENT_SECRET: 's' };
  expect(await acquired(azureSources.environment, at(variables))).toEqual(issued);
  await expect(acquired(azureSources.environment, at())).rejects.toThrow('AZURE_TENANT_ID is not set');
});

test.each([
  ['no proof', { tenant_id: 't', client_id: 'c' }, 'client_secret'],
  [
    'two proofs',
    { tenant_id: 't', client_id: 'c', client_secret: 's', client_certificate: 's' },
    'client_secret',
  ],
  [
    'a certificate without a key',
    { tenant_id: 't', client_id: 'c', client_certificate: 'canary' },
    'client_certificate',
  ],
  ['a tenant that changes the path', { tenant_id: '../x', client_id: 'c', client_secret: 's' }, 'tenant_id'],
])('static rejects %s', (_, fields, field) => {
  expect(azureSources.static.check?.(fields)?.field).toBe(field);
});

test('a refusal names Entra and its code only', async () => {
  services.answers.set(tokenPath, {
    status: 401,
    body: { error: 'invalid_client', error_description: 'canary-text' },
  });
  const fields = { tenant_id: 'tenant-1', client_id: 'client-1', client_secret: 's' };
  await expect(acquired(azureSources.static, at(), fields)).rejects.toThrow(
    /^Microsoft Entra answered 401 invalid_client$/,
  );
});
