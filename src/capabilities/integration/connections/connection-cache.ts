/** The connections of orgs as the gateway uses them: cached, with decrypted keys, in the order in which to try them. */
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Credential } from '../../../platform/cloud-credentials/credential.ts';
import type { Database } from '../../../platform/db/database.ts';
import { isWellFormedKey } from '../../../platform/http/routes/key-format.ts';
import { maySendVariable } from './base-url.ts';
import type { Breakers } from './breakers.ts';
import { type LoadedConnection, orderCandidates, parseModels } from './candidates.ts';
import { ConnectionKeyUnavailable, type Connections, type KeyVariable } from './connection.ts';
import { type CredentialDependencies, credentialOf } from './credentials.ts';
import { keyContext } from './encrypted-columns.ts';
import { calledAtOf, isOfKnownKind } from './kinds/index.ts';
import { type ConnectionRow, connectionsChanged, connectionsOf } from './queries.ts';

export interface ConnectionCacheDependencies extends CredentialDependencies {
  readonly db: Database;
  readonly keyVariables: ReadonlyMap<string, KeyVariable>;
  readonly breakers: Breakers;
  nowMs(): number;
  /** Returns a number from 0 to below 1. Default: `Math.random`. */
  random?(): number;
}

const cachedOrgsMax = 10_000;

export function createConnections(deps: ConnectionCacheDependencies): Connections {
  const { db, breakers, random = Math.random } = deps;
  const cache = new NotifiedCache<readonly LoadedConnection[]>(db, {
    maxEntries: cachedOrgsMax,
    onChange: connectionsChanged.on,
    // A newer version may have stored a kind that this one does not know.
    load: async (orgId) =>
      (await connectionsOf(db, orgId)).filter(isOfKnownKind).map((row) => loaded(deps, row)),
  });
  const choice = { mayTry: breakers.mayTry, random };
  return {
    candidates(orgId, wanted, model) {
      const all = cache.get(orgId);
      return all instanceof Promise
        ? all.then((connections) => orderCandidates(connections, wanted, model, choice))
        : orderCandidates(all, wanted, model, choice);
    },
    succeeded: breakers.succeeded,
    failed(connectionId, failure) {
      if (failure.reason === 'status' && (failure.status === 401 || failure.status === 403)) {
        deps.tokens.renewEarly(connectionId);
      }
      breakers.failed(connectionId, failure);
    },
  };
}

function loaded(deps: ConnectionCacheDependencies, row: ConnectionRow): LoadedConnection {
  const { timeouts } = row;
  const calledAt = calledAtOf({ kind: row.kind, baseUrl: row.base_url, region: row.region });
  const region = row.region ?? calledAt.region ?? undefined;
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    baseUrl: row.base_url,
    calledAt,
    region,
    priority: Number(row.priority),
    weight: Number(row.weight),
    headers: row.headers,
    deploymentModels: row.deployment_models,
    timeouts: {
      connectMs: timeouts.connect_ms,
      firstByteMs: timeouts.first_byte_ms,
      idleMs: timeouts.idle_ms,
      totalMs: timeouts.total_ms,
    },
    ...parseModels(row.models),
    credential: currentCredential(deps, row, region),
    previousCredential: previousCredential(deps, row, region),
  };
}

type CredentialFunctions = Pick<LoadedConnection, 'credential' | 'previousCredential'>;

/** Decrypts the key once. It is only reachable through a function, so that a logged connection does not contain it. */
function currentCredential(
  deps: ConnectionCacheDependencies,
  row: ConnectionRow,
  region: string | undefined,
): CredentialFunctions['credential'] {
  const { id, api_key, api_key_env, encrypted_credentials } = row;
  if (api_key === null && api_key_env === null && encrypted_credentials !== null) {
    return credentialOf(deps, row, region, encrypted_credentials);
  }
  const key = api_key_env === null ? decryptedKey(deps, row, api_key) : keyOfVariable(deps, row, api_key_env);
  const credential = keyCredential(key);
  const isOwn = isPurserKey(key);
  return () => {
    if (isOwn) {
      throw new ConnectionKeyUnavailable(
        `${api_key_env === null ? 'the key' : `the variable ${api_key_env}`} of the connection ${id} is a key of Purser, not of the provider`,
      );
    }
    if (credential === undefined) {
      throw new ConnectionKeyUnavailable(
        api_key_env === null
          ? `the key of the connection ${id} cannot be decrypted`
          : `the variable ${api_key_env} of the connection ${id} is not set, or not allowed for its URL`,
      );
    }
    return credential;
  };
}

/** A previous credential that cannot be used is none: the response to the current one is passed on then. */
function previousCredential(
  deps: ConnectionCacheDependencies,
  row: ConnectionRow,
  region: string | undefined,
): CredentialFunctions['previousCredential'] {
  const untilMs = row.previous_until?.getTime() ?? 0;
  if (row.previous_credentials !== null) {
    const find = credentialOf(deps, row, region, row.previous_credentials, `${row.id} previous`);
    return () => (deps.nowMs() < untilMs ? (async () => find())().catch(() => undefined) : undefined);
  }
  const key = decryptedKey(deps, row, row.previous_api_key);
  const credential = isPurserKey(key) ? undefined : keyCredential(key);
  return () => (deps.nowMs() < untilMs ? credential : undefined);
}

function decryptedKey(
  { secrets }: ConnectionCacheDependencies,
  { org_id, id }: ConnectionRow,
  encrypted: Uint8Array | null,
): string | undefined {
  try {
    return encrypted === null ? undefined : secrets.decrypt(encrypted, keyContext(org_id, id));
  } catch {
    return undefined;
  }
}

function keyOfVariable(
  { keyVariables, defaultUrls }: ConnectionCacheDependencies,
  { kind, base_url: baseUrl }: ConnectionRow,
  name: string,
): string | undefined {
  const variable = keyVariables.get(name);
  return variable !== undefined && maySendVariable(variable, { kind, baseUrl }, defaultUrls)
    ? variable.value
    : undefined;
}

function keyCredential(key: string | undefined): Credential | undefined {
  return key === undefined ? undefined : { type: 'key', key };
}

/** Such a key is never sent: the provider could call this service with it. */
function isPurserKey(key: string | undefined): boolean {
  return key !== undefined && isWellFormedKey(key);
}
