export { urlBelow } from './base-url.ts';
export { type Breakers, createBreakers } from './breakers.ts';
export {
  type AttemptFailure,
  type Connection,
  ConnectionKeyUnavailable,
  type Connections,
  type ConnectionTimeouts,
  type WantedConnection,
} from './connection.ts';
export { createConnections } from './connection-cache.ts';
export { areStoredCredentials } from './credentials.ts';
export { encryptedColumns } from './encrypted-columns.ts';
export { PutGateway } from './gateway-schema.ts';
export {
  createGatewaySettings,
  type GatewaySettings,
  type GatewaySettingsCache,
  gatewayDefaults,
  readGatewaySettings,
} from './gateway-settings.ts';
export type { Envelope, TokenCounting } from './kinds/envelope.ts';
export {
  accountHeaders,
  type ConnectionKind,
  calledAtOf,
  connectionKinds,
  defaultUrlsOf,
  formatsOf,
  keyHeaders,
  kindNames,
  kindOf,
  mayBeDeployment,
  modelIdAt,
  speaks,
} from './kinds/index.ts';
export type { ProviderKind } from './kinds/provider-kind.ts';
export { registerConnectionMetrics } from './metrics.ts';
export { connectionsOf } from './queries.ts';
export { connectionRoutes } from './routes.ts';
export { CreateConnection, defaultPriority, defaultTimeouts, defaultWeight } from './schema.ts';
export { connectionsPerOrgMax, isStoredKey, viewStored } from './stored-connections.ts';
