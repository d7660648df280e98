/** The connections of orgs as the gateway uses them: cached, with decrypted keys, in the order in which to try them. */
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Credential } from '../../../platform/cloud-credentials/credential.ts';
import type { Database } from '../../../platform/db/database.ts';
import { isWellFormedKey } from '../../../platform/http/routes/key-format.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { maySendVariable } from './base-url.ts';
import type { Breakers } from './breakers.ts';
import { type LoadedConnection, orderCandidates, parseModels } from './candidates.ts';
import { ConnectionKeyUnavailable, type Connections, type KeyVariable } from './connection.ts';
import { keyContext } from './encrypted-columns.ts';
import { calledAtOf, type DefaultUrls, isOfKnownKind } from './kinds/index.ts';
import { type ConnectionRow, connectionsChanged, connectionsOf } from './queries.ts';

export interface ConnectionCacheDependencies {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly keyVariables: ReadonlyMap<string, KeyVariable>;
  readonly defaultUrls: DefaultUrls;
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
    failed: breakers.failed,
  };
}

function loaded(deps: ConnectionCacheDependencies, row: ConnectionRow): LoadedConnection {
  const { timeouts } = row;
  const calledAt = calledAtOf({ kind: row.kind, baseUrl: row.base_url });
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    baseUrl: row.base_url,
    calledAt,
    region: calledAt.region ?? undefined,
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
    ...credentialsOf(deps, row),
  };
}

/** Decrypts the keys once. They are only reachable through functions, so that a logged connection does not contain them. */
function credentialsOf(
  { secrets, keyVariables, defaultUrls, nowMs }: ConnectionCacheDependencies,
  row: ConnectionRow,
): Pick<LoadedConnection, 'credential' | 'previousCredential'> {
  const context = keyContext(row.org_id, row.id);
  const decrypted = (sealed: Uint8Array | null) => {
    try {
      return sealed === null ? undefined : secrets.decrypt(sealed, context);
    } catch {
      return undefined;
    }
  };
  const variable = row.api_key_env === null ? undefined : keyVariables.get(row.api_key_env);
  const target = { kind: row.kind, baseUrl: row.base_url };
  const isAllowed = variable !== undefined && maySendVariable(variable, target, defaultUrls);
  const key = row.api_key_env === null ? decrypted(row.api_key) : isAllowed ? variable.value : undefined;
  const current = keyCredential(key);
  const previousKey = decrypted(row.previous_api_key);
  const previous = keyCredential(previousKey);
  const previousUntilMs = row.previous_until?.getTime() ?? 0;
  const [isOwn, isPreviousOwn] = [isPurserKey(key), isPurserKey(previousKey)];
  return {
    credential() {
      if (isOwn) {
        throw new ConnectionKeyUnavailable(
          `${row.api_key_env === null ? 'the key' : `the variable ${row.api_key_env}`} of the connection ${row.id} is a key of Purser, not of the provider`,
        );
      }
      if (current === undefined) {
        throw new ConnectionKeyUnavailable(
          row.api_key_env === null
            ? `the key of the connection ${row.id} cannot be decrypted`
            : `the variable ${row.api_key_env} of the connection ${row.id} is not set, or not allowed for its URL`,
        );
      }
      return current;
    },
    previousCredential: () => (nowMs() < previousUntilMs && !isPreviousOwn ? previous : undefined),
  };
}

function keyCredential(key: string | undefined): Credential | undefined {
  return key === undefined ? undefined : { type: 'key', key };
}

/** Such a key is never sent: the provider could call this service with it. */
function isPurserKey(key: string | undefined): boolean {
  return key !== undefined && isWellFormedKey(key);
}
