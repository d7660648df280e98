/** The sources of Google against stand-ins of its metadata server, OAuth, STS and IAM. */
import { createVerify, generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  acquired,
  startTokenServices,
  surroundingsAt,
  type TokenServices,
} from '../../../../test/support/token-services.ts';
import { googleSources } from './index.ts';

let services: TokenServices;
beforeAll(async () => {
  services = await startTokenServices();
});
afterAll(() => services.close());
beforeEach(() => {
  services.received.length = 0;
  services.answers.clear();
});

const nowMs = () => 1_700_000_000_000;
const answer = { body: { access_token: 'ya29.issued', expires_in: 3_599, token_type: 'Bearer' } };
const issued = { credential: { type: 'bearer', token: 'ya29.issued' }, expiresAtMs: nowMs() + 3_599_000 };
const account = 'models@project.iam.gserviceaccount.com';
const impersonation = `POST /googleIamCredentials/v1/projects/-/serviceAccounts/${encodeURIComponent(account)}:generateAccessToken`;
const impersonatedAnswer = { body: { accessToken: 'ya29.impersonated', expireTime: '2030-01-01T00:00:00Z' } };
const impersonated = {
  credential: { type: 'bearer', token: 'ya29.impersonated' },
  expiresAtMs: Date.parse('2030-01-01T00:00:00Z'),
};
const audience =
  '//iam.googleapis.com/projects/123/locations/global/workloadIdentityPools/pool/providers/provider';
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const serviceAccountKey = JSON.stringify({
  type: 'service_account',
  client_email: account,
  private_key_id: 'key-1',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  token_uri: 'https://attacker.example/token',
});
const sentParameters = () => Object.fromEntries(new URLSearchParams(services.received.at(-1)?.body));
const decoded = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString());

test('metadata: the account of the instance', async () => {
  services.answers.set('GET /computeMetadata/v1/instance/service-accounts/default/token', answer);
  const surroundings = surroundingsAt(services, { variables: { GCE_METADATA_HOST: services.host }, nowMs });
  expect(await acquired(googleSources.metadata, surroundings)).toEqual(issued);
  expect(services.received[0]?.headers['metadata-flavor']).toBe('Google');
});

test('metadata: another account is impersonated with the token of the instance', async () => {
  services.answers.set('GET /computeMetadata/v1/instance/service-accounts/default/token', answer);
  services.answers.set(impersonation, impersonatedAnswer);
  const surroundings = surroundingsAt(services, { variables: { GCE_METADATA_HOST: services.host }, nowMs });
  expect(await acquired(googleSources.metadata, surroundings, { service_account: account })).toEqual(
    impersonated,
  );
  expect(services.received[1]?.headers.authorization).toBe('Bearer ya29.issued');
  expect(JSON.parse(services.received[1]?.body ?? '')).toEqual({
    scope: ['https://www.googleapis.com/auth/cloud-platform'],
    lifetime: '3600s',
  });
});

test('static: the key of a service account signs an assertion, which goes to Google and nowhere else', async () => {
  services.answers.set('POST /googleOauth', answer);
  const surroundings = surroundingsAt(services, { nowMs });
  const fields = { service_account_key: serviceAccountKey };
  expect(await acquired(googleSources.static, surroundings, fields)).toEqual(issued);
  const { grant_type, assertion = '' } = sentParameters();
  expect(grant_type).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
  const [header, claims, signature = ''] = assertion.split('.');
  expect([decoded(header), decoded(claims)]).toEqual([
    { typ: 'JWT', alg: 'RS256', kid: 'key-1' },
    {
      iss: account,
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      aud: `${services.url}/googleOauth`,
      iat: 1_700_000_000,
      exp: 1_700_003_600,
    },
  ]);
  const verifier = createVerify('RSA-SHA256').update(`${header}.${claims}`);
  expect(verifier.verify(publicKey, Buffer.from(signature, 'base64url'))).toBe(true);
});

test('environment: the key of a service account in a file', async () => {
  services.answers.set('POST /googleOauth', answer);
  const surroundings = surroundingsAt(services, {
    variables: { GOOGLE_APPLICATION_CREDENTIALS: '/adc.json' },
    files: { '/adc.json': serviceAccountKey },
    nowMs,
  });
  expect(await acquired(googleSources.environment, surroundings)).toEqual(issued);
});

test('federation: the token of the service is exchanged', async () => {
  services.answers.set('POST /googleSts', answer);
  const surroundings = surroundingsAt(services, {
    tokenFiles: { google: '/tokens/google' },
    files: { '/tokens/google': 'oidc.token' },
    nowMs,
  });
  expect(await acquired(googleSources.federation, surroundings, { audience })).toEqual(issued);
  expect(sentParameters()).toEqual({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience,
    scope: 'https://www.googleapis.com/auth/cloud-platform',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token: 'oidc.token',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  });
  await expect(
    acquired(googleSources.federation, surroundingsAt(services, { nowMs }), { audience }),
  ).rejects.toThrow('SVC_GATEWAY_IDENTITY_TOKEN_FILES has no file for google');
});

test('federation: the identity at AWS is proved by a signed request that is valid for this provider only', async () => {
  services.answers.set('POST /googleSts', answer);
  const surroundings = surroundingsAt(services, {
    variables: {
      AWS_ACCESS_KEY_ID: 'AKIASERVICE',
      AWS_SECRET_ACCESS_KEY: 'service-secret',
      AWS_SESSION_TOKEN: 'session',
    },
    nowMs,
  });
  await acquired(googleSources.federation, surroundings, { audience, subject: 'aws' });
  const { subject_token = '', subject_token_type } = sentParameters();
  expect(subject_token_type).toBe('urn:ietf:params:aws:token-type:aws4_request');
  const { url, method, headers } = JSON.parse(decodeURIComponent(subject_token));
  expect([method, url]).toEqual([
    'POST',
    'https://sts.eu-west-1.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15',
  ]);
  const byName = Object.fromEntries(
    headers.map(({ key, value }: { key: string; value: string }) => [key, value]),
  );
  expect(byName).toMatchObject({
    host: 'sts.eu-west-1.amazonaws.com',
    'x-goog-cloud-target-resource': audience,
    'x-amz-security-token': 'session',
  });
  expect(byName.authorization).toContain(
    'SignedHeaders=host;x-amz-date;x-amz-security-token;x-goog-cloud-target-resource, ',
  );
  expect(subject_token).not.toContain('service-secret');
});

test('environment: the federation of a file, with the account that it names', async () => {
  services.answers.set('POST /googleSts', answer);
  services.answers.set(impersonation, impersonatedAnswer);
  const surroundings = surroundingsAt(services, {
    variables: { GOOGLE_APPLICATION_CREDENTIALS: '/adc.json' },
    files: {
      '/adc.json': JSON.stringify({
        type: 'external_account',
        audience,
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        token_url: 'https://attacker.example/token',
        service_account_impersonation_url: `https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${account}:generateAccessToken`,
        credential_source: {
          file: '/oidc.json',
          format: { type: 'json', subject_token_field_name: 'value' },
        },
      }),
      '/oidc.json': '{"value":"oidc.token"}',
    },
    nowMs,
  });
  expect(await acquired(googleSources.environment, surroundings)).toEqual(impersonated);
  expect(services.received[0]?.body).toContain('subject_token=oidc.token&');
});

test.each([
  ['static', { service_account_key: '{"client_email":"a@b"}' }, 'service_account_key'],
  ['static', { service_account_key: 'canary' }, 'service_account_key'],
  ['metadata', { service_account: 'a/b@c.iam.gserviceaccount.com' }, 'service_account'],
  ['federation', { audience: 'https://attacker.example' }, 'audience'],
] as const)('%s rejects %j', (name, fields, field) => {
  expect(googleSources[name].check?.(fields)?.field).toBe(field);
});

test('a refusal names the service and its code only', async () => {
  services.answers.set('POST /googleOauth', {
    status: 400,
    body: { error: 'invalid_grant', error_description: 'canary-text' },
  });
  const surroundings = surroundingsAt(services, { nowMs });
  await expect(
    acquired(googleSources.static, surroundings, { service_account_key: serviceAccountKey }),
  ).rejects.toThrow(/^Google OAuth answered 400 invalid_grant$/);
});
