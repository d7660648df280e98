/** Connections as stored: create, change, rotate the key, delete, view. */
import { apiError, found, invalidField } from '../../../contract/api-error.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { isWellFormedKey } from '../../../platform/http/routes/key-format.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { lockOrg } from '../../access/orgs/index.ts';
import { type BaseUrlRules, checkBaseUrl, maySendVariable } from './base-url.ts';
import type { CloudIdentityRules } from './cloud-identities.ts';
import type { KeyVariable } from './connection.ts';
import { checkCredentials, encryptedCredentials, publicCredentials } from './credentials.ts';
import type { ConnectionCredentials } from './credentials-schema.ts';
import { keyContext } from './encrypted-columns.ts';
import { checkHeaders } from './extra-headers.ts';
import { type ConnectionKind, kindOf } from './kinds/index.ts';
import {
  type ConnectionRow,
  connectionsChanged,
  connectionsOf,
  deleteConnection,
  findConnection,
  insertConnection,
  lockConnection,
  updateConnection,
} from './queries.ts';
import {
  type CreateConnection,
  defaultPriority,
  defaultTimeouts,
  defaultWeight,
  overlapSecondsDefault,
  type PatchConnection,
  type RotateConnectionKey,
  type StoredConnectionView,
} from './schema.ts';

export interface ConnectionRules extends BaseUrlRules, CloudIdentityRules {
  readonly secrets: Secrets;
  /** Environment variables that connections may take their key from. */
  readonly keyVariables: ReadonlyMap<string, KeyVariable>;
}

export interface ConnectionName {
  readonly orgId: string;
  readonly id: string;
}

export interface ConnectionChange {
  readonly before: ConnectionRow;
  readonly after: ConnectionRow;
}

export const connectionsPerOrgMax = 50;
/** Four characters of a shorter key would reveal too much of it. */
const shownKeyLengthMin = 12;

export function viewStored(row: ConnectionRow, now: Date): StoredConnectionView {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    base_url: row.base_url,
    api_key_last_four: row.api_key_last_four,
    api_key_env: row.api_key_env,
    api_key_set_at: row.api_key_set_at.toISOString(),
    credentials: row.credentials,
    region: row.region,
    previous_key_until:
      row.previous_until !== null && now < row.previous_until ? row.previous_until.toISOString() : null,
    models: row.models === null ? null : [...row.models],
    priority: Number(row.priority),
    weight: Number(row.weight),
    timeouts: row.timeouts,
    headers: row.headers,
    deployment_models: row.deployment_models,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export async function createConnection(
  tx: Transaction,
  ids: Ids,
  rules: ConnectionRules,
  now: Date,
  orgId: string,
  body: CreateConnection,
): Promise<ConnectionRow> {
  const id = ids.next('con');
  const base_url = checkBaseUrl(body.base_url, body.kind, rules);
  const key = keyColumns(rules, { orgId, id }, { kind: body.kind, base_url }, body, now);
  if (key === undefined) {
    throw keyRequired(body.kind);
  }
  const row: ConnectionRow = {
    org_id: orgId,
    id,
    name: body.name,
    kind: body.kind,
    base_url,
    ...key,
    region: body.region ?? null,
    ...noPreviousKey,
    models: body.models ?? null,
    priority: BigInt(body.priority ?? defaultPriority),
    weight: BigInt(body.weight ?? defaultWeight),
    timeouts: { ...defaultTimeouts, ...body.timeouts },
    headers: checkHeaders(body.headers ?? {}),
    deployment_models: checkDeployments(body.deployment_models ?? {}, body.kind),
    created_at: now,
    updated_at: now,
  };
  await lockOrg(tx, orgId);
  const others = await connectionsOf(tx, orgId);
  checkNameIsFree(others, row);
  if (others.length >= connectionsPerOrgMax) {
    throw apiError(
      'conflict',
      `The limit of ${connectionsPerOrgMax} connections is reached. Delete a connection first.`,
    );
  }
  await insertConnection(tx, row);
  await connectionsChanged.notify(tx, orgId);
  return row;
}

export async function patchConnection(
  tx: Transaction,
  rules: ConnectionRules,
  name: ConnectionName,
  now: Date,
  body: PatchConnection,
): Promise<ConnectionChange> {
  const headers = body.headers && checkHeaders(body.headers);
  const others = body.name === undefined ? [] : await lockedConnections(tx, name.orgId);
  return changeConnection(tx, name, now, (before) => {
    const { kind } = before;
    const base_url = body.base_url === undefined ? before.base_url : checkBaseUrl(body.base_url, kind, rules);
    const key = keyColumns(rules, name, { kind, base_url }, body, now);
    if (key === undefined && base_url !== before.base_url) {
      throw invalidField(
        'api_key',
        'required',
        'Send the key again: after this change it is sent to another address.',
      );
    }
    const after: ConnectionRow = {
      ...before,
      name: body.name ?? before.name,
      base_url,
      ...(key !== undefined && { ...key, ...noPreviousKey }),
      region: body.region === undefined ? before.region : body.region,
      models: body.models === undefined ? before.models : body.models,
      priority: body.priority === undefined ? before.priority : BigInt(body.priority),
      weight: body.weight === undefined ? before.weight : BigInt(body.weight),
      timeouts: { ...before.timeouts, ...body.timeouts },
      headers: headers ?? before.headers,
      deployment_models:
        body.deployment_models === undefined
          ? before.deployment_models
          : checkDeployments(body.deployment_models, kind),
    };
    checkNameIsFree(others, after);
    return after;
  });
}

/** Replaces the key. The old one may be used during the overlap if the provider refuses the new one. */
export function rotateConnectionKey(
  tx: Transaction,
  rules: ConnectionRules,
  name: ConnectionName,
  now: Date,
  body: RotateConnectionKey,
): Promise<ConnectionChange> {
  return changeConnection(tx, name, now, (before) => {
    const key = keyColumns(rules, name, before, body, now);
    if (key === undefined) {
      throw keyRequired(before.kind);
    }
    const overlapMs = (body.overlap_seconds ?? overlapSecondsDefault) * 1_000;
    const overlap =
      (before.api_key ?? before.encrypted_credentials) === null || overlapMs === 0
        ? noPreviousKey
        : {
            previous_api_key: before.api_key,
            previous_credentials: before.encrypted_credentials,
            previous_until: new Date(now.getTime() + overlapMs),
          };
    return { ...before, ...key, ...overlap };
  });
}

export async function removeConnection(
  tx: Transaction,
  { orgId, id }: ConnectionName,
): Promise<ConnectionRow> {
  const row = found(await lockConnection(tx, orgId, id));
  await deleteConnection(tx, orgId, id);
  await connectionsChanged.notify(tx, orgId);
  return row;
}

export async function requireConnection(
  db: Queryable,
  { orgId, id }: ConnectionName,
): Promise<ConnectionRow> {
  return found(await findConnection(db, orgId, id));
}

const noPreviousKey = { previous_api_key: null, previous_credentials: null, previous_until: null } as const;

function keyRequired(kind: ConnectionKind) {
  const hasSources = Object.keys(kindOf({ kind }).credentialSources).length > 0;
  const sources = hasSources ? '`api_key`, `api_key_env` or `credentials`' : '`api_key` or `api_key_env`';
  return invalidField('api_key', 'required', `Send ${sources}.`);
}

async function changeConnection(
  tx: Transaction,
  { orgId, id }: ConnectionName,
  now: Date,
  decide: (before: ConnectionRow) => ConnectionRow,
): Promise<ConnectionChange> {
  const before = found(await lockConnection(tx, orgId, id));
  const after = { ...decide(before), updated_at: now };
  await updateConnection(tx, after);
  await connectionsChanged.notify(tx, orgId);
  return { before, after };
}

async function lockedConnections(tx: Transaction, orgId: string): Promise<ConnectionRow[]> {
  await lockOrg(tx, orgId);
  return connectionsOf(tx, orgId);
}

function checkNameIsFree(others: readonly ConnectionRow[], { id, name }: ConnectionRow): void {
  if (others.some((other) => other.name === name && other.id !== id)) {
    throw apiError('conflict', `A connection named "${name}" already exists.`);
  }
}

function checkDeployments(models: Readonly<Record<string, string>>, kind: ConnectionKind) {
  if (Object.keys(models).length > 0 && !kindOf({ kind }).servesDeployments) {
    throw invalidField(
      'deployment_models',
      'invalid_value',
      'Only `azure_openai` and `bedrock` have deployments.',
    );
  }
  return models;
}

/** Returns true if this is the key in use. */
export function isStoredKey(
  { secrets }: Pick<ConnectionRules, 'secrets'>,
  { org_id, id, api_key }: Pick<ConnectionRow, 'org_id' | 'id' | 'api_key'>,
  given: string,
): boolean {
  return api_key !== null && secrets.decrypt(api_key, keyContext(org_id, id)) === given;
}

type KeyColumns = Pick<
  ConnectionRow,
  'api_key' | 'api_key_last_four' | 'api_key_env' | 'api_key_set_at' | 'credentials' | 'encrypted_credentials'
>;

const noKey = {
  api_key: null,
  api_key_last_four: null,
  api_key_env: null,
  credentials: null,
  encrypted_credentials: null,
} as const;

interface GivenKey {
  readonly api_key?: string;
  readonly api_key_env?: string;
  readonly credentials?: ConnectionCredentials;
}

/** Returns the columns of the new key; undefined if the request has none. */
function keyColumns(
  rules: ConnectionRules,
  { orgId, id }: ConnectionName,
  target: { readonly kind: ConnectionKind; readonly base_url: string },
  { api_key, api_key_env, credentials }: GivenKey,
  now: Date,
): KeyColumns | undefined {
  const { secrets, keyVariables, defaultUrls } = rules;
  if (api_key !== undefined && api_key_env !== undefined) {
    throw invalidField('api_key_env', 'invalid_value', 'Send either `api_key` or `api_key_env`.');
  }
  if (credentials !== undefined && (api_key ?? api_key_env) !== undefined) {
    throw invalidField('credentials', 'invalid_value', 'Send either a key or `credentials`.');
  }
  if (credentials !== undefined) {
    checkCredentials(rules, { orgId, kind: target.kind, baseUrl: target.base_url }, credentials);
    return {
      ...noKey,
      api_key_set_at: now,
      credentials: publicCredentials(credentials),
      encrypted_credentials: encryptedCredentials(secrets, { orgId, id }, credentials),
    };
  }
  if (api_key !== undefined && isWellFormedKey(api_key)) {
    throw invalidField('api_key', 'invalid_value', 'This is a key of Purser. Use the key of the provider.');
  }
  if (api_key_env !== undefined) {
    const variable = keyVariables.get(api_key_env);
    if (variable === undefined) {
      throw invalidField(
        'api_key_env',
        'invalid_value',
        'The operator has not listed this variable in SVC_GATEWAY_API_KEY_ENVS.',
      );
    }
    if (!maySendVariable(variable, { kind: target.kind, baseUrl: target.base_url }, defaultUrls)) {
      throw invalidField(
        'api_key_env',
        'invalid_value',
        'The key of this variable is for another `base_url`.',
      );
    }
    if (variable.value !== undefined && isWellFormedKey(variable.value)) {
      throw invalidField(
        'api_key_env',
        'invalid_value',
        'This variable has a key of Purser. It must have the key of the provider.',
      );
    }
    return { ...noKey, api_key_env, api_key_set_at: now };
  }
  return api_key === undefined
    ? undefined
    : {
        ...noKey,
        api_key: secrets.encrypt(api_key, keyContext(orgId, id)),
        api_key_last_four: api_key.length < shownKeyLengthMin ? null : api_key.slice(-4),
        api_key_set_at: now,
      };
}
