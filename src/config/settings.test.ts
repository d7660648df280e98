import { expect, test } from 'vitest';
import { generateKey } from '../platform/http/routes/key-format.ts';
import { deprecatedSettings, describeSettings, loadConfig, unknownSettings } from './settings.ts';

test('every setting has a valid default', () => {
  const config = loadConfig({});
  expect(config).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    bodyLimitBytes: 33_554_432,
    idempotencyTakeoverSeconds: 60,
    authBackoffAttempts: 20,
    corsOrigins: [],
  });
  expect(config.databaseUrl).toBeUndefined();
  expect(Object.isFrozen(config)).toBe(true);
});

test.each([
  ['SVC_PORT', '65536'],
  ['SVC_PORT', '80a'],
  ['SVC_BASE_URL', 'ftp://example.com'],
  ['SVC_BASE_URL', 'example.com'],
  ['SVC_DATABASE_URL', 'mysql://user:hunter2@db/x'],
  ['SVC_DATABASE_URL', 'postgres://user:hunter2@a:1,b:2:3/x'],
  ['SVC_DATABASE_URL', 'postgres://user:hunter2@a,b/x?target_session_attrs=standby'],
  ['SVC_DATABASE_LISTEN_URL', 'http://user:hunter2@db/x'],
  ['SVC_DATABASE_POOLER', 'statement'],
  ['SVC_REDIS_URL', 'http://user:hunter2@cache'],
  ['SVC_REDIS_URL', 'redis://:hunter2@cache/name'],
  ['SVC_READ_LIMIT_PER_MINUTE', '0'],
  ['SVC_READ_LIMIT_PER_MINUTE', '1.5'],
  ['SVC_READ_LIMIT_PER_MINUTE', 'none'],
  ['SVC_SPOOL_DIR', '/nowhere/hunter2'],
  ['SVC_SPOOL_DIR', '/dev/null'],
  ['SVC_CORS_ORIGINS', 'https://app.example.com/path'],
  ['SVC_TRUSTED_PROXIES', '10.0.0.0/40'],
  ['SVC_BODY_LIMIT_BYTES', '-1'],
  ['SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS', '0'],
  ['SVC_BOOTSTRAP_OPERATOR_KEY', 'svc_live_short'],
  ['SVC_LOG_LEVEL', 'loud'],
  ['SVC_KEY_ENVIRONMENT', 'Not Lower'],
  ['SVC_REGION', 'EU'],
  ['SVC_REGION_PEERS', 'eu'],
  ['SVC_REGION_PEERS', 'eu=ftp://eu.example.com'],
  ['SVC_REGION_PEERS', 'eu=https://eu.example.com/path'],
  ['SVC_REGION_PEERS', 'eu=https://a.example.com,eu=https://b.example.com'],
  ['SVC_REGION_PEER_SECRET', 'hunter2'],
  ['SVC_REGION_PEER_SECRET_ACCEPTED', 'hunter2'],
  ['SVC_GATEWAY', 'on'],
  ['SVC_GATEWAY_STREAMS_MAX', '0'],
  ['SVC_GATEWAY_API_KEY_ENVS', 'hunter2!'],
  ['SVC_GATEWAY_API_KEY_ENVS', 'OPENAI_API_KEY=hunter2'],
  ['SVC_GATEWAY_API_KEY_ENVS', 'OPENAI_API_KEY=ftp://hunter2'],
  ['SVC_GATEWAY_API_KEY_ENVS', 'OPENAI_API_KEY,SVC_SECRETS_KEY'],
  ['SVC_GATEWAY_CLOUD_IDENTITIES', 'hunter2'],
  ['SVC_GATEWAY_CLOUD_IDENTITIES', 'true'],
  ['SVC_GATEWAY_CLOUD_IDENTITIES', 'org_1='],
  ['SVC_GATEWAY_CLOUD_IDENTITY_URLS', 'https://a.example.com,hunter2'],
  ['SVC_GATEWAY_IDENTITY_TOKEN_FILES', 'google=hunter2'],
  ['SVC_GATEWAY_IDENTITY_TOKEN_FILES', 'hunter2=/token'],
])('rejects %s=%s by name, without repeating the value', (name, value) => {
  const load = () => loadConfig({ [name]: value });
  expect(load).toThrow(new RegExp(`^${name} is invalid: must be `));
  expect(load).not.toThrow(/hunter2/);
});

test('accepts several hosts of a database, and asks for the database that a direct connection belongs to', () => {
  const several = 'postgres://user@a:5432,b:5433/x?target_session_attrs=read-write';
  expect(loadConfig({ SVC_DATABASE_URL: several, SVC_DATABASE_LISTEN_URL: several })).toMatchObject({
    databaseUrl: several,
    databaseListenUrl: several,
    databasePooler: 'auto',
  });
  expect(() => loadConfig({ SVC_DATABASE_LISTEN_URL: several })).toThrow(/^SVC_DATABASE_URL is missing/);
});

test('treats an empty setting as unset', () => {
  expect(loadConfig({ SVC_PORT: '', SVC_DATABASE_URL: '' })).toMatchObject({
    port: 8080,
    databaseUrl: undefined,
  });
});

test('accepts Redis URLs with a name or address, a password, a database or TLS, and a read limit', () => {
  for (const url of [
    'redis://cache',
    'redis://[::1]:7000/',
    'rediss://user:secret@cache.example.com:6380/3',
  ]) {
    expect(loadConfig({ SVC_REDIS_URL: url }).redisUrl).toBe(url);
  }
  expect(loadConfig({ SVC_READ_LIMIT_PER_MINUTE: '600' }).readLimitPerMinute).toBe(600);
  expect(loadConfig({})).toMatchObject({ redisUrl: undefined, readLimitPerMinute: undefined });
});

test('requires a region and a secret together with peers', () => {
  const peers = { SVC_REGION_PEERS: 'eu=https://eu.example.com, us=http://10.0.0.1:8080/' };
  expect(() => loadConfig(peers)).toThrow(/^SVC_REGION is missing.*\nSVC_REGION_PEER_SECRET is missing/);
  expect(() => loadConfig({ SVC_REGION_PEER_SECRET_ACCEPTED: '0123456789abcdef0123456789abcdef' })).toThrow(
    /^SVC_REGION_PEER_SECRET is missing/,
  );
  const { regionPeers } = loadConfig({
    ...peers,
    SVC_REGION: 'eu',
    SVC_REGION_PEER_SECRET: '0123456789abcdef0123456789abcdef',
  });
  expect([...regionPeers]).toEqual([
    ['eu', 'https://eu.example.com'],
    ['us', 'http://10.0.0.1:8080'],
  ]);
});

test('reports a deprecated setting in use, with its date, replacement and end of support', () => {
  expect(deprecatedSettings({ SVC_PORT: '1', SVC_READ_LIMIT_PER_MINUTE: '' })).toEqual([]);
  const [notice, ...others] = deprecatedSettings({ SVC_READ_LIMIT_PER_MINUTE: '600' });
  expect(others).toEqual([]);
  expect(notice?.name).toBe('SVC_READ_LIMIT_PER_MINUTE');
  expect(notice?.notice).toMatch(
    /^SVC_READ_LIMIT_PER_MINUTE is deprecated since 2026-07-22: .*`read_rpm`.*no earlier than two releases/,
  );
});

test('masks secrets in the report', () => {
  const key = generateKey('live');
  const report = describeSettings({
    SVC_BOOTSTRAP_OPERATOR_KEY: key,
    SVC_REDIS_URL: `redis://:${key}@cache`,
    SVC_PORT: '9',
  });
  const present = (name: string) => report.find((setting) => setting.name === name)?.present;
  expect(present('SVC_BOOTSTRAP_OPERATOR_KEY')).toBe('********');
  expect(present('SVC_PORT')).toBe('9');
  expect(JSON.stringify(report)).not.toContain(key);
});

test('reports unknown variables that start with SVC_', () => {
  expect(unknownSettings({ SVC_PROT: '1', SVC_PORT: '1', PATH: '/' })).toEqual(['SVC_PROT']);
});

test('takes the keys of providers from the variables that are listed, and from no other', () => {
  const { gatewayApiKeys } = loadConfig({
    SVC_GATEWAY_API_KEY_ENVS: 'OPENAI_API_KEY, UNSET_KEY=https://llm.example.com/v1/,',
    OPENAI_API_KEY: 'sk-1',
    OTHER_KEY: 'sk-2',
  });
  expect([...gatewayApiKeys]).toEqual([
    ['OPENAI_API_KEY', { value: 'sk-1', baseUrl: undefined }],
    ['UNSET_KEY', { value: undefined, baseUrl: 'https://llm.example.com/v1' }],
  ]);
});

test('takes the documented variables of clouds, and lets no organization use their identity by default', () => {
  const { gatewayCloud, gatewayIdentityTokenFiles } = loadConfig({
    SVC_GATEWAY_CLOUD_IDENTITIES: 'org_1, org_2=arn:aws:iam::123456789012:role/purser-*,*=service',
    SVC_GATEWAY_IDENTITY_TOKEN_FILES: 'google=/tokens/google',
    AWS_REGION: 'eu-west-1',
    PATH: '/bin',
  });
  expect(gatewayCloud.identities).toEqual([
    { orgId: 'org_1', identity: undefined },
    { orgId: 'org_2', identity: 'arn:aws:iam::123456789012:role/purser-*' },
    { orgId: undefined, identity: 'service' },
  ]);
  expect(gatewayCloud.variables).toMatchObject({ AWS_REGION: 'eu-west-1', AWS_ROLE_ARN: undefined });
  expect(gatewayCloud.variables).not.toHaveProperty('PATH');
  expect([...gatewayIdentityTokenFiles]).toEqual([['google', '/tokens/google']]);
  expect(loadConfig({}).gatewayCloud.identities).toEqual([]);
});
