/** Parsers of settings. Each returns the value, or throws an error whose message describes a valid value. */
import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseDatabaseUrl } from '../platform/db/postgres/database-url.ts';
import { type AddressList, addressList, parseCidr } from '../platform/http/message/address.ts';
import { isWellFormedKey } from '../platform/http/routes/key-format.ts';
import { parseSecretsKeys } from '../platform/secrets/key-ring.ts';

export function parseInteger(value: string, min: number, max: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new Error(`an integer from ${min} to ${max}`);
  }
  return number;
}

export function parseBoolean(value: string): boolean {
  if (value !== 'true' && value !== 'false') {
    throw new Error('`true` or `false`');
  }
  return value === 'true';
}

export function parseChoice(value: string, choices: readonly string[]): string {
  if (!choices.includes(value)) {
    throw new Error(`one of ${choices.join(', ')}`);
  }
  return value;
}

export function parseUrl(value: string, protocols: readonly string[]): string {
  if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
    throw new Error(
      `an absolute URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    );
  }
  return value;
}

export function parsePostgresUrl(value: string): string {
  parseDatabaseUrl(value);
  return value;
}

/** Parses the URL of Redis. Its path is the database number, as for the Redis client. */
export function parseRedisUrl(value: string): string {
  const url = parseUrl(value, ['redis:', 'rediss:']);
  if (!/^\/?\d*$/.test(new URL(url).pathname)) {
    throw new Error('an absolute URL whose path is empty or a database number');
  }
  return url;
}

export function parseWritableDirectory(value: string): string {
  const directory = resolve(value);
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    if (statSync(directory).isDirectory()) {
      return directory;
    }
  } catch {
    // Reported in the same way as a path that is not a directory.
  }
  throw new Error('a writable directory');
}

export function parseOrigins(value: string): readonly string[] {
  return splitList(value).map(parseOrigin);
}

function parseOrigin(value: string): string {
  if (!URL.canParse(value) || new URL(value).origin !== value) {
    throw new Error('a list of origins such as https://app.example.com');
  }
  return value;
}

/** Parses the list of proxies. Returns undefined for an empty list, so that most requests skip the check. */
export function parseProxies(value: string): AddressList | undefined {
  const items = splitList(value);
  if (items.some((item) => parseCidr(item) === undefined)) {
    throw new Error('a list of IP addresses or CIDR ranges');
  }
  return items.length === 0 ? undefined : addressList(items);
}

export function parseRegion(value: string): string {
  return matching(
    value,
    /^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/,
    'lowercase letters, digits and single hyphens',
  );
}

export function parsePeerSecret(value: string): string {
  return matching(value, /^[\x21-\x7e]{32,512}$/, '32 to 512 printable characters, without spaces');
}

export function parsePeers(value: string): ReadonlyMap<string, string> {
  const peers = new Map<string, string>();
  for (const item of splitList(value)) {
    const [, region, url = ''] = /^([^=]+)=(.+)$/.exec(item) ?? [];
    const origin = url.replace(/\/$/, '');
    const isOrigin = URL.canParse(origin) && /^https?:$/.test(new URL(origin).protocol);
    if (region === undefined || peers.has(region) || !isOrigin || new URL(origin).origin !== origin) {
      throw new Error(
        'a list such as eu=https://eu.example.com, with each region once and without paths in the URLs',
      );
    }
    peers.set(parseRegion(region), origin);
  }
  return peers;
}

export function parseEncryptionKeys(value: string): Buffer[] {
  const keys = parseSecretsKeys(value);
  if (keys === undefined) {
    throw new Error(
      '32 bytes, such as the output of `openssl rand -base64 32`, or several such keys separated by commas',
    );
  }
  return keys;
}

export function parseKeyEnvironment(value: string): string {
  return matching(value, /^[a-z0-9]{1,16}$/, '1 to 16 lowercase letters or digits');
}

export function parseOperatorKey(value: string): string {
  if (!isWellFormedKey(value)) {
    throw new Error('a key as printed by `purser keys generate`');
  }
  return value;
}

function matching(value: string, pattern: RegExp, expected: string): string {
  if (!pattern.test(value)) {
    throw new Error(expected);
  }
  return value;
}

function splitList(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** An environment variable with a provider's key. */
export interface ProviderKeyVariable {
  /** Value of the variable; undefined if it is not set. */
  readonly value: string | undefined;
  /** The only URL that may receive the key; undefined: the default URL of the kind of connection. */
  readonly baseUrl: string | undefined;
}

/** Parses `NAME` and `NAME=https://…` and reads these variables, so that no other part of the program reads the environment. */
export function parseKeyVariables(
  value: string,
  env: NodeJS.ProcessEnv,
): ReadonlyMap<string, ProviderKeyVariable> {
  return new Map(
    listOf(value).map((entry) => {
      const [, name = '', baseUrl] = /^([A-Za-z_][A-Za-z0-9_]*)(?:=(.+))?$/.exec(entry) ?? [];
      const isUrl = baseUrl === undefined || (URL.canParse(baseUrl) && /^https?:/.test(baseUrl));
      if (name === '' || name.startsWith('SVC_') || !isUrl) {
        throw new Error(
          'names of environment variables that do not start with SVC_, each with or without `=` and a URL, separated by commas',
        );
      }
      return [name, { value: env[name] || undefined, baseUrl: baseUrl?.replace(/\/+$/, '') }];
    }),
  );
}

/** Returns the values of a list that is separated by commas. */
export function listOf(value: string): readonly string[] {
  return value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
