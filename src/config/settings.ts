/**
 * Every setting: its name, meaning, default and how its text becomes a value. The only reader of the
 * environment; the rest of the program gets one frozen `Config`.
 */
import { resolve } from 'node:path';
import type { AddressList } from '../platform/http/message/address.ts';
import {
  parseBoolean,
  parseChoice,
  parseEncryptionKey,
  parseInteger,
  parseKeyEnvironment,
  parseOperatorKey,
  parseOrigins,
  parsePeerSecret,
  parsePeers,
  parseProxies,
  parseRedisUrl,
  parseRegion,
  parseUrl,
  parseWritableDirectory,
} from './parsers.ts';

interface Setting<Value> {
  readonly name: string;
  readonly meaning: string;
  /** As text, the way an operator would write it; undefined when the setting may be absent. */
  readonly fallback: string | undefined;
  readonly secret?: boolean;
  /** Since when, what to use instead, and how long it still works: a sentence that goes on after the name. */
  readonly deprecated?: string;
  /** Returns the value, or throws a sentence that says what is wanted. */
  parse(text: string): Value;
}

const settings = {
  host: text('SVC_HOST', '127.0.0.1', 'The address to listen on; `0.0.0.0` for every interface.'),
  port: whole('SVC_PORT', '8080', 'The port to listen on; 0 picks a free one.', 0, 65_535),
  baseUrl: optional(
    url(
      'SVC_BASE_URL',
      undefined,
      'The address clients reach the service at. Default: the one it listens on, by the name `localhost` on this machine.',
    ),
  ),
  docsUrl: optional(
    url(
      'SVC_DOCS_URL',
      undefined,
      'The address of the documentation. Default: `/docs` under the base address.',
    ),
  ),
  dataDir: {
    name: 'SVC_DATA_DIR',
    meaning: 'The directory for the embedded database and generated secrets.',
    fallback: '.purser',
    parse: (value) => resolve(value),
  } as Setting<string>,
  spoolDir: optional({
    name: 'SVC_SPOOL_DIR',
    meaning:
      "The directory where exports of usage are put aside while they are read, in files without a name. Default: the system's for temporary files.",
    fallback: undefined,
    parse: parseWritableDirectory,
  }),
  databaseUrl: optional({
    name: 'SVC_DATABASE_URL',
    meaning: 'PostgreSQL 15 or newer, as `postgres://…`. Without it the embedded database is used.',
    fallback: undefined,
    secret: true,
    parse: (value) => parseUrl(value, ['postgres:', 'postgresql:']),
  }),
  databaseConnections: whole(
    'SVC_DATABASE_CONNECTIONS',
    '10',
    'Connections to PostgreSQL per process.',
    1,
    500,
  ),
  redisUrl: optional({
    name: 'SVC_REDIS_URL',
    meaning:
      'Redis 6 or newer or Valkey, as `redis://…` or `rediss://…`, to count request rates for all processes together. Without it each process counts its share.',
    fallback: undefined,
    secret: true,
    parse: parseRedisUrl,
  }),
  secretsKey: optional({
    name: 'SVC_SECRETS_KEY',
    meaning:
      'Encrypts stored secrets, such as those that sign webhooks: 32 bytes, as 64 hexadecimal digits or in base64. Without it a key is made in the data directory. Processes on one database need the same.',
    fallback: undefined,
    secret: true,
    parse: parseEncryptionKey,
  }),
  corsOrigins: {
    name: 'SVC_CORS_ORIGINS',
    meaning: 'Origins whose browsers may call the API, separated by commas. None by default.',
    fallback: '',
    parse: parseOrigins,
  } as Setting<readonly string[]>,
  region: optional({
    name: 'SVC_REGION',
    meaning: 'The name of the region that this process runs in, such as `eu`. Unset: residency is off.',
    fallback: undefined,
    parse: parseRegion,
  }),
  regionPeers: {
    name: 'SVC_REGION_PEERS',
    meaning:
      'The other regions and where they are reached, such as `eu=https://eu.example.com,us=https://us.example.com`. The own region may be among them.',
    fallback: '',
    parse: parsePeers,
  } as Setting<ReadonlyMap<string, string>>,
  regionPeerSecret: optional({
    name: 'SVC_REGION_PEER_SECRET',
    meaning: 'Signs what regions send each other: at least 32 characters, the same in all of them.',
    fallback: undefined,
    secret: true,
    parse: parsePeerSecret,
  }),
  regionPeerSecretAccepted: optional({
    name: 'SVC_REGION_PEER_SECRET_ACCEPTED',
    meaning:
      'A second secret of the regions that is accepted and signs nothing: the next one, or the last one, while it is changed.',
    fallback: undefined,
    secret: true,
    parse: parsePeerSecret,
  }),
  trustedProxies: {
    name: 'SVC_TRUSTED_PROXIES',
    meaning: 'Addresses or CIDR ranges of proxies whose `X-Forwarded-For` is believed, separated by commas.',
    fallback: '',
    parse: parseProxies,
  } as Setting<AddressList | undefined>,
  bodyLimitBytes: whole(
    'SVC_BODY_LIMIT_BYTES',
    String(32 * 1024 * 1024),
    'The largest request body, also after decompression. Most routes take less: see each operation in the OpenAPI document.',
    1_024,
    1_073_741_824,
  ),
  bulkMaxRuns: whole(
    'SVC_BULK_MAX_RUNS',
    '10000',
    'The most runs that one bulk request may hold.',
    1,
    100_000,
  ),
  benchmarkFloor: whole(
    'SVC_BENCHMARK_K_FLOOR',
    '5',
    'The fewest organizations that a benchmark may be about. More is more private, and answers less.',
    2,
    1_000,
  ),
  edgeFailMode: oneOf(
    'SVC_EDGE_FAIL_MODE',
    'closed',
    'What the edge answers while the books cannot be asked: `closed` is 503; `open` allows, and counts it later.',
    ['closed', 'open'],
  ),
  holdsMax: whole(
    'SVC_HOLDS_MAX',
    '500000',
    'How many holds may be open at once on the embedded engine, which keeps them in memory; beyond it is 503.',
    1,
    10_000_000,
  ),
  idempotencyTakeoverSeconds: whole(
    'SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS',
    '60',
    'How old the reservation of an `Idempotency-Key` must be before a retry takes it over from a crashed call.',
    1,
    86_400,
  ),
  authBackoffAttempts: whole(
    'SVC_AUTH_BACKOFF_ATTEMPTS',
    '20',
    'Failed tokens per minute and address before further failures are answered with 429.',
    1,
    1_000_000,
  ),
  readLimitPerMinute: optional({
    ...whole(
      'SVC_READ_LIMIT_PER_MINUTE',
      undefined,
      'Deprecated. Reads per minute of each org that has no `read_rpm` of its own. Unset: none.',
      1,
      1_000_000_000,
    ),
    deprecated:
      'is deprecated since 2026-07-22: set `read_rpm` or policies of each org with `PUT /v1/admin/orgs/{org_id}/rate-limits`. Until it is removed, no earlier than two releases after that date, it holds for orgs without a `read_rpm`.',
  }),
  sessionIdleSeconds: whole(
    'SVC_SESSION_IDLE_SECONDS',
    String(8 * 3_600),
    'How long somebody who is signed in to the console may do nothing before the session is over.',
    60,
    31_536_000,
  ),
  sessionMaxSeconds: whole(
    'SVC_SESSION_MAX_SECONDS',
    String(7 * 24 * 3_600),
    'How long a session of the console lasts at most, however busy it is.',
    60,
    31_536_000,
  ),
  webhookAllowPrivateNetworks: flag(
    'SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS',
    'Whether webhooks may be sent to private and local addresses, and without TLS; and identity providers asked there.',
  ),
  drainSeconds: whole(
    'SVC_DRAIN_SECONDS',
    '20',
    'How long requests in flight may take to finish after SIGTERM.',
    0,
    3_600,
  ),
  keyEnvironment: {
    name: 'SVC_KEY_ENVIRONMENT',
    meaning:
      'The middle part of minted keys (`svc_live_…`), so that people and scanners can tell environments apart.',
    fallback: 'live',
    parse: parseKeyEnvironment,
  } as Setting<string>,
  logLevel: oneOf('SVC_LOG_LEVEL', 'info', 'The least severe log lines to write.', [
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
      'Where to send traces by OTLP over HTTP. Unset: none are made. `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and the standard settings of sampler, batches and exporter are honoured.',
    ),
  ),
  otlpTracesEndpoint: optional(
    url('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', undefined, 'The same, for traces alone.'),
  ),
  otelDisabled: {
    name: 'OTEL_SDK_DISABLED',
    meaning: '`true`: no traces are made, whatever else is set.',
    fallback: 'false',
    parse: (value) => value.toLowerCase() === 'true',
  } as Setting<boolean>,
  bootstrapOperatorKey: optional({
    name: 'SVC_BOOTSTRAP_OPERATOR_KEY',
    meaning:
      'The first operator key, well-formed as `purser keys generate` prints it. Without it the first start makes one.',
    fallback: undefined,
    secret: true,
    parse: parseOperatorKey,
  }),
};

type Settings = typeof settings;
export type Config = { readonly [Name in keyof Settings]: ReturnType<Settings[Name]['parse']> };

/** Names every setting that is not usable. The values themselves are left out: they may be secrets. */
export class BadSettings extends Error {
  constructor(faults: readonly { readonly name: string; readonly wanted: string }[]) {
    super(faults.map(({ name, wanted }) => `${name} is not usable: it has to be ${wanted}`).join('\n'));
    this.name = 'BadSettings';
  }
}

export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const values: Record<string, unknown> = {};
  const faults: { name: string; wanted: string }[] = [];
  for (const [key, setting] of Object.entries(settings)) {
    try {
      values[key] = read(setting, env);
    } catch (error) {
      faults.push({ name: setting.name, wanted: (error as Error).message });
    }
  }
  faults.push(...faultsTogether(values as Config));
  if (faults.length > 0) {
    throw new BadSettings(faults);
  }
  return Object.freeze(values) as Config;
}

/** What is wrong with settings that are fine one by one. */
function faultsTogether(config: Partial<Config>) {
  const { region, regionPeers, regionPeerSecret, regionPeerSecretAccepted } = config;
  const faults: { name: string; wanted: string }[] = [];
  if (regionPeerSecretAccepted !== undefined && regionPeerSecret === undefined) {
    faults.push({
      name: 'SVC_REGION_PEER_SECRET',
      wanted: 'set where SVC_REGION_PEER_SECRET_ACCEPTED is',
    });
  }
  if (regionPeers !== undefined && regionPeers.size > 0) {
    if (region === undefined) {
      faults.push({ name: 'SVC_REGION', wanted: 'set where SVC_REGION_PEERS is' });
    }
    if (regionPeerSecret === undefined) {
      faults.push({ name: 'SVC_REGION_PEER_SECRET', wanted: 'set where SVC_REGION_PEERS is' });
    }
  }
  return faults;
}

/** Settings whose name starts like ours but is none of ours: most likely a typing error. */
export function unknownSettings(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = new Set(Object.values(settings).map(({ name }) => name));
  return Object.keys(env).filter((name) => name.startsWith('SVC_') && !known.has(name));
}

/** A sentence for each deprecated setting that is in use. */
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

/** For `purser config`. Secrets are masked. */
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
  return value === undefined ? undefined : setting.parse(value);
}

function text(name: string, fallback: string, meaning: string): Setting<string> {
  return { name, meaning, fallback, parse: (value) => value };
}

function whole(
  name: string,
  fallback: string | undefined,
  meaning: string,
  min: number,
  max: number,
): Setting<number> {
  return {
    name,
    meaning,
    fallback,
    parse: (value) => parseInteger(value, min, max),
  };
}

function flag(name: string, meaning: string): Setting<boolean> {
  return {
    name,
    meaning: `${meaning} \`true\` or \`false\`.`,
    fallback: 'false',
    parse: parseBoolean,
  };
}

function oneOf(name: string, fallback: string, meaning: string, choices: readonly string[]): Setting<string> {
  return {
    name,
    meaning: `${meaning} One of ${choices.join(', ')}.`,
    fallback,
    parse: (value) => parseChoice(value, choices),
  };
}

function url(name: string, fallback: string | undefined, meaning: string): Setting<string> {
  return {
    name,
    meaning,
    fallback,
    parse: (value) => parseUrl(value, ['http:', 'https:']).replace(/\/+$/, ''),
  };
}

/** A setting that may be absent: `read` gives undefined without asking the parser. */
function optional<Value>(setting: Setting<Value>): Setting<Value | undefined> {
  return setting;
}
