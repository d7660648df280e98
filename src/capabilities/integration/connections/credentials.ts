/** The credentials of connections that have no key: checked, stored, and as the gateway gets them. */
import { createHash } from 'node:crypto';
import { invalidField } from '../../../contract/api-error.ts';
import type { Credential } from '../../../platform/cloud-credentials/credential.ts';
import {
  type CredentialField,
  type CredentialFields,
  type CredentialSource,
  CredentialUnavailable,
  type Surroundings,
  secretFields,
} from '../../../platform/cloud-credentials/credential-source.ts';
import type { TokenCache } from '../../../platform/cloud-credentials/token-cache.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { type CloudIdentityRules, maySendIdentity, mayUseIdentity } from './cloud-identities.ts';
import { ConnectionKeyUnavailable } from './connection.ts';
import type { ConnectionCredentials, PublicCredentials } from './credentials-schema.ts';
import { credentialsContext } from './encrypted-columns.ts';
import { type ConnectionKind, kindOf } from './kinds/index.ts';
import type { ConnectionRow } from './queries.ts';
import type { CredentialView } from './schema.ts';

export interface CredentialDependencies extends CloudIdentityRules {
  readonly secrets: Secrets;
  readonly tokens: TokenCache;
  readonly surroundings: Surroundings;
}

interface CredentialTarget {
  readonly orgId: string;
  readonly kind: ConnectionKind;
  readonly baseUrl: string;
}

const secretNames: ReadonlySet<string> = new Set(secretFields);

/** Rejects credentials that the kind does not take, that lack a field, or that the operator does not allow. */
export function checkCredentials(
  rules: CloudIdentityRules,
  target: CredentialTarget,
  { source: name, ...fields }: ConnectionCredentials,
): void {
  const source = sourceOf(target.kind, name);
  const names = Object.keys(kindOf(target).credentialSources);
  if (source === undefined) {
    throw invalidField(
      'credentials.source',
      'invalid_value',
      names.length === 0
        ? `The kind \`${target.kind}\` takes a key only.`
        : `The kind \`${target.kind}\` takes ${names.map((one) => `\`${one}\``).join(', ')}.`,
    );
  }
  const known: readonly CredentialField[] = [...source.required, ...source.optional];
  for (const field of source.required) {
    if (fields[field] === undefined) {
      throw invalidField(`credentials.${field}`, 'required', `Required for \`${name}\`.`);
    }
  }
  for (const field of Object.keys(fields) as CredentialField[]) {
    if (!known.includes(field)) {
      throw invalidField(`credentials.${field}`, 'invalid_value', `Not used by \`${name}\` of this kind.`);
    }
  }
  const invalid = source.check?.(fields);
  if (invalid !== undefined) {
    throw invalidField(`credentials.${invalid.field}`, 'invalid_value', invalid.message);
  }
  const problem = identityProblem(rules, target, source, fields);
  if (problem !== undefined) {
    throw invalidField('credentials.source', 'invalid_value', problem);
  }
}

function sourceOf(kind: ConnectionKind, name: string): CredentialSource | undefined {
  const { credentialSources } = kindOf({ kind });
  return Object.hasOwn(credentialSources, name) ? credentialSources[name] : undefined;
}

function identityProblem(
  rules: CloudIdentityRules,
  { orgId, kind, baseUrl }: CredentialTarget,
  source: CredentialSource,
  fields: CredentialFields,
): string | undefined {
  if (!source.usesService(fields)) {
    return undefined;
  }
  if (!mayUseIdentity(rules, orgId, source.targetOf(fields))) {
    return 'The operator does not allow this identity for the organization in SVC_GATEWAY_CLOUD_IDENTITIES.';
  }
  return maySendIdentity(rules, { kind, baseUrl })
    ? undefined
    : 'An identity of the service is only used at the hosts of its cloud, or at a URL in SVC_GATEWAY_CLOUD_IDENTITY_URLS.';
}

/** Returns what is shown of credentials. */
export function publicCredentials(credentials: ConnectionCredentials): PublicCredentials {
  return Object.fromEntries(
    Object.entries(credentials).filter(([name]) => !secretNames.has(name)),
  ) as PublicCredentials;
}

/** Returns true if these are the stored credentials. Secrets that are left out stay as they are. */
export function areStoredCredentials(
  secrets: Secrets,
  row: Pick<ConnectionRow, 'org_id' | 'id' | 'encrypted_credentials'>,
  given: Readonly<Record<string, unknown>>,
): boolean {
  if (row.encrypted_credentials === null) {
    return false;
  }
  const stored: Readonly<Record<string, unknown>> = decryptedCredentials(
    secrets,
    row,
    row.encrypted_credentials,
  );
  const names = new Set([...Object.keys(stored), ...Object.keys(given)]);
  return [...names].every(
    (name) => (secretNames.has(name) && given[name] === undefined) || isSameValue(stored[name], given[name]),
  );
}

function isSameValue(one: unknown, other: unknown): boolean {
  const sorted = (value: unknown) =>
    typeof value === 'object' && value !== null ? JSON.stringify(Object.entries(value).sort()) : value;
  return sorted(one) === sorted(other);
}

export function encryptedCredentials(
  secrets: Secrets,
  { orgId, id }: { readonly orgId: string; readonly id: string },
  credentials: ConnectionCredentials,
): Buffer {
  return secrets.encrypt(JSON.stringify(credentials), credentialsContext(orgId, id));
}

function decryptedCredentials(
  secrets: Secrets,
  { org_id, id }: Pick<ConnectionRow, 'org_id' | 'id'>,
  encrypted: Uint8Array,
): ConnectionCredentials {
  return JSON.parse(secrets.decrypt(encrypted, credentialsContext(org_id, id))) as ConnectionCredentials;
}

type ConnectionWithCredentials = Pick<
  ConnectionRow,
  'org_id' | 'id' | 'name' | 'kind' | 'base_url' | 'region' | 'encrypted_credentials'
>;

/**
 * Returns a function that returns the credential. The fields are decrypted once, and only reachable through it. The operator may have
 * changed the settings since the credentials were written, so that they are checked again.
 */
export function credentialOf(
  deps: CredentialDependencies,
  row: ConnectionWithCredentials,
  region: string | undefined,
  encrypted: Uint8Array,
  cacheId: string = row.id,
): () => Credential | Promise<Credential> {
  const { org_id: orgId, kind, base_url: baseUrl } = row;
  const unavailable = (reason: string) =>
    new ConnectionKeyUnavailable(`the credentials of the connection ${row.id}: ${reason}`);
  let stored: ConnectionCredentials;
  try {
    stored = decryptedCredentials(deps.secrets, row, encrypted);
  } catch {
    return () => {
      throw unavailable('they cannot be decrypted');
    };
  }
  const { source: name, ...fields } = stored;
  const source = sourceOf(kind, name);
  const problem =
    source === undefined
      ? 'their source is not known'
      : identityProblem(deps, { orgId, kind, baseUrl }, source, fields);
  if (source === undefined || problem !== undefined) {
    return () => {
      throw unavailable(problem ?? '');
    };
  }
  const version = versionOf(row, encrypted);
  const request = {
    fields,
    owner: { orgId, connection: row.name },
    region,
    surroundings: deps.surroundings,
  };
  const acquire = () => source.acquire(request);
  const rethrow = (error: unknown): never => {
    throw error instanceof CredentialUnavailable ? unavailable(error.message) : error;
  };
  return () => {
    try {
      const found = deps.tokens.find(cacheId, version, acquire);
      return found instanceof Promise ? found.catch(rethrow) : found;
    } catch (error) {
      return rethrow(error);
    }
  };
}

/** Tokens stay cached while other fields of their connection change. */
function versionOf(
  { name, region }: Pick<ConnectionWithCredentials, 'name' | 'region'>,
  encrypted: Uint8Array,
): string {
  return JSON.stringify([name, region, createHash('sha256').update(encrypted).digest('base64url')]);
}

/** Returns the state of the credential in this process; null if the connection has a key. */
export function viewCredential(tokens: TokenCache, row: ConnectionWithCredentials): CredentialView | null {
  if (row.encrypted_credentials === null) {
    return null;
  }
  const state = tokens.state(row.id, versionOf(row, row.encrypted_credentials));
  const time = (atMs: number | null | undefined) => (atMs == null ? null : new Date(atMs).toISOString());
  const last = state?.lastFailure ?? null;
  return {
    is_failing: state?.isFailing ?? false,
    renewed_at: time(state?.renewedAtMs),
    expires_at: time(state?.expiresAtMs),
    last_failure: last && { at: new Date(last.atMs).toISOString(), reason: last.reason },
  };
}
