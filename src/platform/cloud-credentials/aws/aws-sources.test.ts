/** The sources of AWS against stand-ins of STS, IMDSv2 and the container endpoint. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  acquired,
  startTokenServices,
  surroundingsAt,
  type TokenServices,
} from '../../../../test/support/token-services.ts';
import { awsSources } from './index.ts';

let services: TokenServices;
beforeAll(async () => {
  services = await startTokenServices();
});
afterAll(() => services.close());
beforeEach(() => {
  services.received.length = 0;
  services.answers.clear();
});

const expiration = '2030-01-01T00:00:00Z';
const issued = {
  credential: {
    type: 'aws',
    accessKeyId: 'ASIAISSUED',
    secretAccessKey: 'issued-secret',
    sessionToken: 'issued+token/=',
  },
  expiresAtMs: Date.parse(expiration),
};
const roleAnswer = {
  Code: 'Success',
  AccessKeyId: 'ASIAISSUED',
  SecretAccessKey: 'issued-secret',
  Token: 'issued+token/=',
  Expiration: expiration,
};
const stsAnswer = (action: string) => ({
  body: `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result><Credentials>
    <AccessKeyId>ASIAISSUED</AccessKeyId><SecretAccessKey>issued-secret</SecretAccessKey>
    <SessionToken>issued+token/=</SessionToken><Expiration>${expiration}</Expiration>
  </Credentials></${action}Result></${action}Response>`,
});
const keys = { AWS_ACCESS_KEY_ID: 'AKIASERVICE', AWS_SECRET_ACCESS_KEY: 'service-secret-canary' };
const role = 'arn:aws:iam::123456789012:role/bedrock';
const sts = () => ({ AWS_ENDPOINT_URL_STS: services.url });
const sentParameters = () => Object.fromEntries(new URLSearchParams(services.received.at(-1)?.body));

test('environment: the keys of the service', async () => {
  expect(await acquired(awsSources.environment, surroundingsAt(services, { variables: keys }))).toEqual({
    credential: {
      type: 'aws',
      accessKeyId: 'AKIASERVICE',
      secretAccessKey: 'service-secret-canary',
      sessionToken: undefined,
    },
    expiresAtMs: undefined,
  });
  await expect(acquired(awsSources.environment, surroundingsAt(services))).rejects.toThrow(
    'AWS_ACCESS_KEY_ID is not set',
  );
});

test('instance: IMDSv2 with a session, and never without one', async () => {
  services.answers.set('PUT /latest/api/token', { body: 'session' });
  services.answers.set('GET /latest/meta-data/iam/security-credentials/', { body: 'the-role\n' });
  services.answers.set('GET /latest/meta-data/iam/security-credentials/the-role', { body: roleAnswer });
  const surroundings = surroundingsAt(services, {
    variables: { AWS_EC2_METADATA_SERVICE_ENDPOINT: services.url },
  });
  expect(await acquired(awsSources.instance, surroundings)).toEqual(issued);
  const sent = services.received.map(({ method, headers }) => [
    method,
    headers['x-aws-ec2-metadata-token'] ?? headers['x-aws-ec2-metadata-token-ttl-seconds'],
  ]);
  expect(sent).toEqual([
    ['PUT', '60'],
    ['GET', 'session'],
    ['GET', 'session'],
  ]);
  services.answers.delete('PUT /latest/api/token');
  services.received.length = 0;
  await expect(acquired(awsSources.instance, surroundings)).rejects.toThrow(
    'the EC2 metadata service answered 404',
  );
  expect(services.received).toHaveLength(1);
});

test.each(['instance', 'web_identity'] as const)(
  '%s: the container endpoint, with the token of its file as it is now',
  async (name) => {
    services.answers.set('GET /v1/credentials', { body: roleAnswer });
    const files: Record<string, string> = { '/pod/token': 'first\n' };
    const surroundings = surroundingsAt(services, {
      variables: {
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${services.url}/v1/credentials`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/pod/token',
      },
      files,
    });
    expect(await acquired(awsSources[name], surroundings)).toEqual(issued);
    files['/pod/token'] = 'second';
    await acquired(awsSources[name], surroundings);
    expect(services.received.map(({ headers }) => headers.authorization)).toEqual(['first', 'second']);
  },
);

test('web_identity: the token of the service account for the role of the environment', async () => {
  services.answers.set('POST /', stsAnswer('AssumeRoleWithWebIdentity'));
  const surroundings = surroundingsAt(services, {
    variables: { ...sts(), AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: '/irsa/token' },
    files: { '/irsa/token': 'oidc.token.canary' },
  });
  expect(await acquired(awsSources.web_identity, surroundings)).toEqual(issued);
  expect(sentParameters()).toEqual({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: 'purser-team',
    WebIdentityToken: 'oidc.token.canary',
  });
  expect(services.received[0]?.headers.authorization).toBeUndefined();
});

test('assume_role: the service sends the id of the organization as external id and tag, and signs the request', async () => {
  services.answers.set('POST /', stsAnswer('AssumeRole'));
  const surroundings = surroundingsAt(services, { variables: { ...sts(), ...keys } });
  const fields = { role_arn: role, session_tags: { team: 'search' } };
  expect(await acquired(awsSources.assume_role, surroundings, fields)).toEqual(issued);
  expect(sentParameters()).toEqual({
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: 'purser-team',
    DurationSeconds: '3600',
    ExternalId: 'org_1',
    'Tags.member.1.Key': 'team',
    'Tags.member.1.Value': 'search',
    'Tags.member.2.Key': 'purser-org',
    'Tags.member.2.Value': 'org_1',
    'Tags.member.3.Key': 'purser-connection',
    'Tags.member.3.Value': 'team',
  });
  expect(services.received[0]?.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIASERVICE\/\d{8}\/eu-west-1\/sts\/aws4_request, SignedHeaders=content-type;host;x-amz-date, /,
  );
});

test('assume_role: keys of the connection send its own external id, and no tags if there are to be none', async () => {
  services.answers.set('POST /', stsAnswer('AssumeRole'));
  const surroundings = surroundingsAt(services, { variables: { ...sts(), ...keys } });
  await acquired(awsSources.assume_role, surroundings, {
    role_arn: role,
    external_id: 'theirs',
    session_tags: null,
    access_key_id: 'AKIATHEIRS',
    secret_access_key: 'their-secret',
  });
  expect(services.received[0]?.headers.authorization).toContain('Credential=AKIATHEIRS/');
  expect(sentParameters()).toMatchObject({ ExternalId: 'theirs' });
  expect(services.received[0]?.body).not.toContain('Tags.member');
});

test('assume_role: the service takes its own identity in the order of the SDKs', async () => {
  services.answers.set('POST /', ({ body }) =>
    stsAnswer(body.includes('WebIdentity') ? 'AssumeRoleWithWebIdentity' : 'AssumeRole'),
  );
  const surroundings = surroundingsAt(services, {
    variables: { ...sts(), AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: '/irsa/token' },
    files: { '/irsa/token': 'oidc' },
  });
  await acquired(awsSources.assume_role, surroundings, { role_arn: role });
  expect(services.received[1]?.headers).toMatchObject({ 'x-amz-security-token': 'issued+token/=' });
});

test.each([
  ['a role', { role_arn: 'role/name' }, 'role_arn'],
  [
    'an external id that the service does not choose',
    { role_arn: role, external_id: 'org_2' },
    'external_id',
  ],
  ['a key without its secret', { role_arn: role, access_key_id: 'AKIA' }, 'secret_access_key'],
  ['a secret without its key', { role_arn: role, secret_access_key: 's' }, 'access_key_id'],
  ['a tag of the service', { role_arn: role, session_tags: { 'purser-org': 'org_2' } }, 'session_tags'],
  ['a tag with other characters', { role_arn: role, session_tags: { team: 'a&b' } }, 'session_tags'],
])('assume_role rejects %s', (_, fields, field) => {
  expect(awsSources.assume_role.check?.(fields)?.field).toBe(field);
});

test('a refusal names the service and its code, and contains no secret and no text of the answer', async () => {
  services.answers.set('POST /', {
    status: 403,
    body: '<ErrorResponse><Error><Code>AccessDenied</Code><Message>canary-text</Message></Error></ErrorResponse>',
  });
  const surroundings = surroundingsAt(services, { variables: { ...sts(), ...keys } });
  const error = await acquired(awsSources.assume_role, surroundings, { role_arn: role }).catch(String);
  expect(error).toBe('CredentialUnavailable: AWS STS answered 403 AccessDenied');
});

test.each([
  ['is not XML', 'oops'],
  ['lacks the token', '<AccessKeyId>a</AccessKeyId><SecretAccessKey>b</SecretAccessKey>'],
])('an answer that %s is no credential', async (_, body) => {
  services.answers.set('POST /', { body });
  const surroundings = surroundingsAt(services, { variables: { ...sts(), ...keys } });
  await expect(acquired(awsSources.assume_role, surroundings, { role_arn: role })).rejects.toThrow(
    'AWS STS answered without credentials',
  );
});

test('a service that cannot be reached is named, without its address', async () => {
  const gone = await startTokenServices();
  await gone.close();
  const surroundings = surroundingsAt(gone, { variables: { AWS_ENDPOINT_URL_STS: gone.url, ...keys } });
  await expect(acquired(awsSources.assume_role, surroundings, { role_arn: role })).rejects.toThrow(
    'AWS STS could not be reached (ECONNREFUSED)',
  );
});
