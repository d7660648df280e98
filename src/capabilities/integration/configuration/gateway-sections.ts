/** The gateway: connections to providers and its settings. */
import {
  areStoredCredentials,
  connectionsOf,
  defaultPriority,
  defaultTimeouts,
  defaultWeight,
  gatewayDefaults,
  isStoredKey,
  readGatewaySettings,
  viewStored,
} from '../connections/index.ts';
import { type FileFields, type ListSection, pick, type SingleSection } from './section.ts';

const connectionDefaults = {
  models: null,
  priority: defaultPriority,
  weight: defaultWeight,
  timeouts: defaultTimeouts,
  headers: {},
  region: null,
};

/** A connection whose item has no `api_key`, `api_key_env` and `credentials` keeps its key; without `base_url` it keeps its address. */
export const connections: ListSection = {
  shape: 'list',
  name: 'connections',
  label: 'connection',
  key: ['name'],
  readRoute: 'connections.list',
  fixed: ['kind'],
  secretFields: ['api_key', 'credentials'],
  defaults: connectionDefaults,
  async load({ db, orgId, now, secrets }) {
    const fields = [
      'name',
      'kind',
      'base_url',
      'api_key_env',
      'credentials',
      ...Object.keys(connectionDefaults),
    ];
    return (await connectionsOf(db, orgId)).map((row) => ({
      id: row.id,
      fields: pick(viewStored(row, now), fields),
      isStoredSecret: (field, value) =>
        field === 'credentials'
          ? areStoredCredentials(secrets, row, value as FileFields)
          : isStoredKey({ secrets }, row, String(value)),
    }));
  },
  complete: (item) => ({
    ...connectionDefaults,
    ...item,
    timeouts: { ...defaultTimeouts, ...(item.timeouts as object | undefined) },
  }),
  create: (body) => ({ route: 'connections.create', body }),
  // A change of the address needs the key in the same request, also if the key stays the same.
  change: ({ id }, changed, wanted) => ({
    route: 'connections.change',
    params: { connection_id: id },
    body: {
      ...(changed.base_url !== undefined && pick(wanted, ['api_key', 'api_key_env', 'credentials'])),
      ...changed,
    },
  }),
  remove: ({ id }) => ({ route: 'connections.delete', params: { connection_id: id } }),
};

const { updated_at: _, ...settings } = gatewayDefaults;

export const gateway: SingleSection = {
  shape: 'single',
  name: 'gateway',
  label: 'gateway settings',
  readRoute: 'gateway.read',
  defaults: settings,
  async load({ db, orgId }) {
    return [{ id: orgId, fields: pick(await readGatewaySettings(db, orgId), Object.keys(settings)) }];
  },
  change: (_resource, _changed, body) => ({ route: 'gateway.put', body }),
};
