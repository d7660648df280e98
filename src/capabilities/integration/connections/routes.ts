import type { TokenCache } from '../../../platform/cloud-credentials/token-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changed, removed, settingChanged } from '../../../platform/http/routes/outcomes.ts';
import { bodyLimits, type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Breakers } from './breakers.ts';
import { viewCredential } from './credentials.ts';
import { GatewayView, PutGateway } from './gateway-schema.ts';
import { putGatewaySettings, readGatewaySettings } from './gateway-settings.ts';
import { formatsOf, kindOf } from './kinds/index.ts';
import { type ConnectionRow, listConnections } from './queries.ts';
import {
  ConnectionFilters,
  ConnectionView,
  CreateConnection,
  PatchConnection,
  RotateConnectionKey,
} from './schema.ts';
import {
  type ConnectionName,
  type ConnectionRules,
  createConnection,
  patchConnection,
  removeConnection,
  requireConnection,
  rotateConnectionKey,
  viewStored,
} from './stored-connections.ts';

export interface ConnectionRouteDependencies extends ConnectionRules {
  readonly db: Database;
  readonly ids: Ids;
  readonly breakers: Breakers;
  readonly tokens: TokenCache;
}

const reader = { kind: 'org', scope: 'connections:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'connections:write', role: 'admin' } as const;

export function connectionRoutes(deps: ConnectionRouteDependencies): Route[] {
  return [...storedConnectionRoutes(deps), ...gatewaySettingsRoutes(deps)];
}

function storedConnectionRoutes({
  db,
  ids,
  breakers,
  tokens,
  ...rules
}: ConnectionRouteDependencies): Route[] {
  const view = (row: ConnectionRow, now: Date): ConnectionView => ({
    ...viewStored(row, now),
    formats: formatsOf(kindOf(row)).map(({ name }) => name),
    breaker: breakers.view(row.id),
    credential_state: viewCredential(tokens, row),
  });
  const outcome = (change: { before?: ConnectionRow; after: ConnectionRow }, now: Date) => ({
    ...changed('connection', change, (row) => viewStored(row, now)),
    body: view(change.after, now),
  });
  return [
    write({
      id: 'connections.create',
      method: 'POST',
      path: '/v1/orgs/{id}/connections',
      summary: 'Create a connection to a provider',
      description:
        "The gateway sends calls to it from then on, with the provider's key. Send the key as `api_key`, name an environment " +
        'variable of the service as `api_key_env`, or an identity in a cloud as `credentials`.',
      access: admin,
      body: CreateConnection,
      bodyLimitBytes: bodyLimits.lists,
      success: 201,
      response: ConnectionView,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const row = await createConnection(tx, ids, rules, now, params.id, body);
        return outcome({ after: row }, now);
      },
    }),
    read({
      id: 'connections.list',
      path: '/v1/orgs/{id}/connections',
      summary: 'List connections',
      description: 'The states of the breaker and of the credentials are those of the process that answers.',
      access: reader,
      query: ConnectionFilters,
      response: page(ConnectionView),
      handler: ({ params, query, now }) =>
        viewPage(listConnections(db, params.id, query), (row) => view(row, now)),
    }),
    read({
      id: 'connections.read',
      path: '/v1/orgs/{id}/connections/{connection_id}',
      summary: 'Get a connection',
      description: 'The states of the breaker and of the credentials are those of the process that answers.',
      access: reader,
      response: ConnectionView,
      handler: async ({ params, now }) => view(await requireConnection(db, connectionName(params)), now),
    }),
    write({
      id: 'connections.change',
      method: 'PATCH',
      path: '/v1/orgs/{id}/connections/{connection_id}',
      summary: 'Update a connection',
      description:
        'Applies to the next call. A new `base_url` needs the key in the same request, so that a stored key is never sent to ' +
        'another address. A key that is sent here replaces the old one at once; use `rotate` for an overlap.',
      access: admin,
      body: PatchConnection,
      bodyLimitBytes: bodyLimits.lists,
      response: ConnectionView,
      unversionedFields: ['breaker', 'previous_key_until', 'formats', 'credential_state'],
      errors: ['conflict'],
      handler: async ({ params, body, now }, tx) =>
        outcome(await patchConnection(tx, rules, connectionName(params), now, body), now),
    }),
    write({
      id: 'connections.rotate',
      method: 'POST',
      path: '/v1/orgs/{id}/connections/{connection_id}/rotate',
      summary: "Rotate the provider's key",
      description:
        'The new key is used from the next call. If the provider refuses it with 401 or 403, the old one is used, for ' +
        '`overlap_seconds` at most. Another rotation within that time ends the older key.',
      access: admin,
      body: RotateConnectionKey,
      bodyLimitBytes: bodyLimits.lists,
      response: ConnectionView,
      handler: async ({ params, body, now }, tx) =>
        outcome(await rotateConnectionKey(tx, rules, connectionName(params), now, body), now),
    }),
    write({
      id: 'connections.delete',
      method: 'DELETE',
      path: '/v1/orgs/{id}/connections/{connection_id}',
      summary: 'Delete a connection',
      description: 'Calls in progress go on. Its key is deleted.',
      access: admin,
      async handler({ params, now }, tx) {
        const row = await removeConnection(tx, connectionName(params));
        return removed('connection', row, (stored) => viewStored(stored, now), now);
      },
    }),
  ];
}

function gatewaySettingsRoutes({ db }: ConnectionRouteDependencies): Route[] {
  return [
    read({
      id: 'gateway.read',
      path: '/v1/orgs/{id}/gateway',
      summary: 'Get the settings of the gateway',
      description: 'Returns the defaults, with `updated_at` null, if they were never set.',
      access: reader,
      response: GatewayView,
      handler: ({ params }) => readGatewaySettings(db, params.id),
    }),
    write({
      id: 'gateway.put',
      method: 'PUT',
      path: '/v1/orgs/{id}/gateway',
      summary: 'Set the settings of the gateway',
      description: 'Replaces them: a field that is left out gets its default.',
      access: admin,
      body: PutGateway,
      response: GatewayView,
      async handler({ params, body, now }, tx) {
        const change = await putGatewaySettings(tx, params.id, now, body);
        return settingChanged('gateway_settings', params.id, change);
      },
    }),
  ];
}

function connectionName({ id, connection_id }: { id: string; connection_id: string }): ConnectionName {
  return { orgId: id, id: connection_id };
}
