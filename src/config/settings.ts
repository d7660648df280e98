/**
 * Declarations of all settings: name, meaning, default and parser. Only this folder reads the environment; the rest of the program
 * gets one frozen `Config`.
 */
import { resolve } from 'node:path';
import type { Durability } from '../platform/files/durable-files.ts';
import type { AddressList } from '../platform/http/message/address.ts';
import { parseMailbox } from '../platform/mail/addresses.ts';
import { parseSmtpUrl } from '../platform/mail/smtp-url.ts';
import { gatewaySettings } from './gateway-settings.ts';
import {
  parseEncryptionKeys,
  parseKeyEnvironment,
  parseOperatorKey,
  parseOrigins,
  parsePeerSecret,
  parsePeers,
  parsePostgresUrl,
  parseProxies,
  parseRedisUrl,
  parseRegion,
  parseWritableDirectory,
} from './parsers.ts';
import { flag, integer, oneOf, optional, type Setting, text, url } from './setting.ts';

const settings = {
  host: text('SVC_HOST', '127.0.0.1', 'Address to listen on; `0.0.0.0` for all interfaces.'),
  port: integer('SVC_PORT', '8080', 'Port to listen on; 0 selects a free one.', 0, 65_535),
  healthPort: optional(
    integer(
      'SVC_HEALTH_PORT',
      undefined,
      'Port for `/healthz` and `/readyz` alone, on the same address; 0 selects a free one. They are answered by a thread of its own, also while all other connections wait. The main port serves them too. Unset: no such port.',
      0,
      65_535,
    ),
  ),
  baseUrl: optional(
    url(
      'SVC_BASE_URL',
      undefined,
      'Public URL of the service, as clients use it. Default: the address it listens on, with the name `localhost` on this machine.',
    ),
  ),
  docsUrl: optional(
    url('SVC_DOCS_URL', undefined, 'URL of the documentation. Default: `/docs` under the base URL.'),
  ),
  dataDir: {
    name: 'SVC_DATA_DIR',
    meaning: 'Directory for the embedded database and generated secrets.',
    fallback: '.purser',
    parse: (value) => resolve(value),
  } as Setting<string>,
  durability: oneOf(
    'SVC_DURABILITY',
    'sync',
    'Durability of the embedded engine: `sync` writes to the disk before a response is sent, so that a power cut loses nothing that was acknowledged; `os` leaves that to the operating system, which is faster.',
    ['sync', 'os'],
  ) as Setting<Durability>,
  spoolDir: optional({
    name: 'SVC_SPOOL_DIR',
    meaning:
      "Directory for usage exports while they are being sent, in unlinked files. Default: the system's temporary directory.",
    fallback: undefined,
    parse: parseWritableDirectory,
  }),
  databaseUrl: optional({
    name: 'SVC_DATABASE_URL',
    meaning:
      'URL of PostgreSQL 15 or newer, as `postgres://…`. It may name a primary and its standbys: `postgres://user@a:5432,b:5432/name`. Without it the embedded database is used.',
    fallback: undefined,
    secret: true,
    parse: parsePostgresUrl,
  }),
  databaseListenUrl: optional({
    name: 'SVC_DATABASE_LISTEN_URL',
    meaning:
      'Direct URL of the same database, for change notifications, if `SVC_DATABASE_URL` leads to a pooler in transaction mode.',
    fallback: undefined,
    secret: true,
    parse: parsePostgresUrl,
  }),
  databasePooler: oneOf(
    'SVC_DATABASE_POOLER',
    'auto',
    'Use of a connection pooler: `auto` detects one and works with any mode; `session` also prepares statements; `transaction` is for a pooler that is not detected.',
    ['auto', 'session', 'transaction'],
  ) as Setting<'auto' | 'session' | 'transaction'>,
  databaseConnections: integer(
    'SVC_DATABASE_CONNECTIONS',
    '10',
    'Maximum number of connections to PostgreSQL per process.',
    1,
    500,
  ),
  redisUrl: optional({
    name: 'SVC_REDIS_URL',
    meaning:
      'URL of Redis 6 or newer, or Valkey, as `redis://…` or `rediss://…`, to count request rates across all processes. Without it they are counted in PostgreSQL, which takes a short transaction for the requests of organizations with rates.',
    fallback: undefined,
    secret: true,
    parse: parseRedisUrl,
  }),
  secretsKeys: optional({
    name: 'SVC_SECRETS_KEY',
    meaning:
      'Encrypts stored secrets, such as webhook secrets: 32 bytes, as 64 hexadecimal digits or in base64. Several keys, separated by commas, allow a rotation: the first one encrypts, all decrypt. Without it a key is created in the data directory. All processes on one database need the same keys.',
    fallback: undefined,
    secret: true,
    parse: parseEncryptionKeys,
  }),
  corsOrigins: {
    name: 'SVC_CORS_ORIGINS',
    meaning: 'Origins from which browsers may call the API, separated by commas. Default: none.',
    fallback: '',
    parse: parseOrigins,
  } as Setting<readonly string[]>,
  region: optional({
    name: 'SVC_REGION',
    meaning: 'Name of the region of this process, such as `eu`. Unset: residency is off.',
    fallback: undefined,
    parse: parseRegion,
  }),
  regionPeers: {
    name: 'SVC_REGION_PEERS',
    meaning:
      'URLs of the other regions, such as `eu=https://eu.example.com,us=https://us.example.com`. The list may include this region.',
    fallback: '',
    parse: parsePeers,
  } as Setting<ReadonlyMap<string, string>>,
  regionPeerSecret: optional({
    name: 'SVC_REGION_PEER_SECRET',
    meaning: 'Signs the requests between regions: at least 32 characters, the same in all regions.',
    fallback: undefined,
    secret: true,
    parse: parsePeerSecret,
  }),
  regionPeerSecretAccepted: optional({
    name: 'SVC_REGION_PEER_SECRET_ACCEPTED',
    meaning:
      'Second region secret that is accepted but not used for signing: the new or the old one while the secret is changed.',
    fallback: undefined,
    secret: true,
    parse: parsePeerSecret,
  }),
  trustedProxies: {
    name: 'SVC_TRUSTED_PROXIES',
    meaning: 'Addresses or CIDR ranges of proxies whose `X-Forwarded-For` is trusted, separated by commas.',
    fallback: '',
    parse: parseProxies,
  } as Setting<AddressList | undefined>,
  bodyLimitBytes: integer(
    'SVC_BODY_LIMIT_BYTES',
    String(32 * 1024 * 1024),
    'Maximum size of a request body, also after decompression. Most routes accept less: see the operations in the OpenAPI document.',
    1_024,
    1_073_741_824,
  ),
  bulkMaxRuns: integer(
    'SVC_BULK_MAX_RUNS',
    '10000',
    'Maximum number of runs in one bulk request.',
    1,
    100_000,
  ),
  benchmarkFloor: integer(
    'SVC_BENCHMARK_K_FLOOR',
    '5',
    'Minimum number of organizations in a benchmark. A higher number is more private, and more cohorts are too small.',
    2,
    1_000,
  ),
  edgeFailMode: oneOf(
    'SVC_EDGE_FAIL_MODE',
    'closed',
    'Response of the edge while the ledger is unavailable: `closed` returns 503; `open` allows and counts the cost later.',
    ['closed', 'open'],
  ),
  edgeSpoolBytes: integer(
    'SVC_EDGE_SPOOL_BYTES',
    String(64 * 1024 * 1024),
    'Maximum size of the decisions that a process keeps in its data directory while `SVC_EDGE_FAIL_MODE` is `open` and the ledger is unavailable, some 500 bytes each. Above it, decisions return 503.',
    65_536,
    4_294_967_296,
  ),
  holdsMax: integer(
    'SVC_HOLDS_MAX',
    '500000',
    'Maximum number of open holds: of all organizations together on the embedded engine, which keeps them in memory; of each organization on PostgreSQL. Above it, decisions return 503. On the embedded engine the last tenth is reserved for organizations with few holds.',
    1,
    10_000_000,
  ),
  idempotencyTakeoverSeconds: integer(
    'SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS',
    '60',
    'Age in seconds at which a retry takes over an `Idempotency-Key` that is still in flight. If the process of its first request is known to be dead, it is taken over earlier.',
    1,
    86_400,
  ),
  authBackoffAttempts: integer(
    'SVC_AUTH_BACKOFF_ATTEMPTS',
    '20',
    'Failed authentication attempts per minute and address before further failures return 429.',
    1,
    1_000_000,
  ),
  readLimitPerMinute: optional({
    ...integer(
      'SVC_READ_LIMIT_PER_MINUTE',
      undefined,
      'Deprecated. Reads per minute for each org without its own `read_rpm`. Unset: no limit.',
      1,
      1_000_000_000,
    ),
    deprecated:
      'is deprecated since 2026-07-22: set `read_rpm` or policies of each org with `PUT /v1/admin/orgs/{org_id}/rate-limits`. It applies to orgs without a `read_rpm` until it is removed, no earlier than two releases after that date.',
  }),
  sessionIdleSeconds: integer(
    'SVC_SESSION_IDLE_SECONDS',
    String(8 * 3_600),
    'Seconds without a request after which a console session ends.',
    60,
    31_536_000,
  ),
  sessionMaxSeconds: integer(
    'SVC_SESSION_MAX_SECONDS',
    String(7 * 24 * 3_600),
    'Maximum duration of a console session in seconds.',
    60,
    31_536_000,
  ),
  toolTokenSeconds: integer(
    'SVC_TOOL_TOKEN_SECONDS',
    '3600',
    'Lifetime of the access token of a coding tool in seconds. Tools renew it without the person.',
    60,
    86_400,
  ),
  toolSignInMaxSeconds: integer(
    'SVC_TOOL_SIGN_IN_MAX_SECONDS',
    String(30 * 24 * 3_600),
    'Seconds after which a person must sign in again from a coding tool.',
    60,
    31_536_000,
  ),
  webhookAllowPrivateNetworks: flag(
    'SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS',
    'Allow webhooks and identity providers at private and local addresses, and webhooks without TLS.',
  ),
  smtpServer: optional({
    name: 'SVC_SMTP_URL',
    meaning:
      'SMTP server for e-mail alerts, digests and invitations, as `smtp://user:password@host:587` or `smtps://…`. With `smtp`, STARTTLS is required unless the server is on this machine; `?starttls=optional` or `?starttls=never` changes that. Special characters of the password are percent-encoded. Unset: no e-mail is sent.',
    fallback: undefined,
    secret: true,
    parse: parseSmtpUrl,
  }),
  smtpFrom: optional({
    name: 'SVC_SMTP_FROM',
    meaning:
      'Sender of e-mail, as `purser@example.com` or `Purser <purser@example.com>`. Required with `SVC_SMTP_URL`.',
    fallback: undefined,
    parse: parseMailbox,
  }),
  ...gatewaySettings,
  httpFastPath: flag(
    'SVC_HTTP_FAST_PATH',
    "Read plain requests with Purser's own, faster HTTP reader. With `false`, Node's parser reads every request; responses stay the same.",
    'true',
  ),
  drainSeconds: integer(
    'SVC_DRAIN_SECONDS',
    '20',
    'Seconds that requests in flight have to finish after SIGTERM.',
    0,
    3_600,
  ),
  keyEnvironment: {
    name: 'SVC_KEY_ENVIRONMENT',
    meaning:
      'Middle part of new keys (`svc_live_…`), so that people and secret scanners can distinguish environments.',
    fallback: 'live',
    parse: parseKeyEnvironment,
  } as Setting<string>,
  logLevel: oneOf('SVC_LOG_LEVEL', 'info', 'Minimum severity of log lines.', [
    'trace',
    'debug',
    'info',
    'warn',
    'error',
    'silent',
  ]),
  otlpEndpoint: optional(
    url(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      undefined,
      'URL for traces by OTLP over HTTP. Unset: no traces. `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and the standard settings of sampler, batches and exporter are supported.',
    ),
  ),
  otlpTracesEndpoint: optional(
    url('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', undefined, 'The same, for traces only.'),
  ),
  otelDisabled: {
    name: 'OTEL_SDK_DISABLED',
    meaning: '`true` turns traces off, regardless of other settings.',
    fallback: 'false',
    parse: (value) => value.toLowerCase() === 'true',
  } as Setting<boolean>,
  bootstrapOperatorKey: optional({
    name: 'SVC_BOOTSTRAP_OPERATOR_KEY',
    meaning:
      'First operator key, as printed by `purser keys generate`. Without it the first start creates one.',
    fallback: undefined,
    secret: true,
    parse: parseOperatorKey,
  }),
};

type Settings = typeof settings;
export type Config = { readonly [Name in keyof Settings]: ReturnType<Settings[Name]['parse']> };

interface SettingProblem {
  readonly name: string;
  /** The problem and its solution. The text completes a sentence that starts with the name of the setting. */
  readonly problem: string;
}

/** Lists every invalid setting by name. Values are left out, because they may be secrets. */
export class BadSettings extends Error {
  constructor(problems: readonly SettingProblem[]) {
    super(problems.map(({ name, problem }) => `${name} ${problem}`).join('\n'));
    this.name = 'BadSettings';
  }
}

export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const values: Record<string, unknown> = {};
  const problems: SettingProblem[] = [];
  for (const [key, setting] of Object.entries(settings)) {
    try {
      values[key] = read(setting, env);
    } catch (error) {
      problems.push({ name: setting.name, problem: `is invalid: must be ${(error as Error).message}.` });
    }
  }
  problems.push(...combinationProblems(values as Config));
  if (problems.length > 0) {
    throw new BadSettings(problems);
  }
  return Object.freeze(values) as Config;
}

/** Returns the problems of settings that are valid alone but not in combination. */
function combinationProblems(config: Partial<Config>): SettingProblem[] {
  const { region, regionPeers, regionPeerSecret, regionPeerSecretAccepted, port, healthPort } = config;
  const problems: SettingProblem[] = [];
  if (config.databaseListenUrl !== undefined && config.databaseUrl === undefined) {
    problems.push({ name: 'SVC_DATABASE_URL', problem: 'is missing: SVC_DATABASE_LISTEN_URL needs it.' });
  }
  if (healthPort !== undefined && healthPort !== 0 && healthPort === port) {
    problems.push({ name: 'SVC_HEALTH_PORT', problem: 'must differ from SVC_PORT.' });
  }
  const missingWith = (other: string) => `is missing: set it together with ${other}.`;
  if (config.smtpServer !== undefined && config.smtpFrom === undefined) {
    problems.push({ name: 'SVC_SMTP_FROM', problem: missingWith('SVC_SMTP_URL') });
  }
  if (regionPeerSecretAccepted !== undefined && regionPeerSecret === undefined) {
    problems.push({
      name: 'SVC_REGION_PEER_SECRET',
      problem: missingWith('SVC_REGION_PEER_SECRET_ACCEPTED'),
    });
  }
  if (regionPeers !== undefined && regionPeers.size > 0) {
    if (region === undefined) {
      problems.push({ name: 'SVC_REGION', problem: missingWith('SVC_REGION_PEERS') });
    }
    if (regionPeerSecret === undefined) {
      problems.push({ name: 'SVC_REGION_PEER_SECRET', problem: missingWith('SVC_REGION_PEERS') });
    }
  }
  return problems;
}

/** Returns variables that start with `SVC_` but are not settings: most likely typing errors. */
export function unknownSettings(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = new Set(Object.values(settings).map(({ name }) => name));
  return Object.keys(env).filter((name) => name.startsWith('SVC_') && !known.has(name));
}

/** Returns a notice for each deprecated setting in use. */
export function deprecatedSettings(env: NodeJS.ProcessEnv = process.env): { name: string; notice: string }[] {
  return Object.values<Setting<unknown>>(settings).flatMap(({ name, deprecated }) =>
    deprecated !== undefined && env[name] !== undefined && env[name] !== ''
      ? [{ name, notice: `${name} ${deprecated}` }]
      : [],
  );
}

export interface SettingReport {
  readonly name: string;
  readonly meaning: string;
  readonly fallback: string;
  readonly present: string;
}

/** Returns all settings for `purser config`, with secrets masked. */
export function describeSettings(env: NodeJS.ProcessEnv = process.env): SettingReport[] {
  return Object.values<Setting<unknown>>(settings).map(({ name, meaning, fallback, secret }) => {
    const given = env[name];
    return {
      name,
      meaning,
      fallback: fallback === undefined || fallback === '' ? '(unset)' : fallback,
      present: given === undefined || given === '' ? '(default)' : secret === true ? '********' : given,
    };
  });
}

function read(setting: Setting<unknown>, env: NodeJS.ProcessEnv): unknown {
  const given = env[setting.name];
  const value = given === undefined || given === '' ? setting.fallback : given;
  return value === undefined ? undefined : setting.parse(value, env);
}
