export {
  type Connection,
  ConnectionKeyUnavailable,
  type ConnectionKind,
  type Connections,
  type ConnectionTimeouts,
  type Dialect,
  type WantedConnection,
} from './connection.ts';
export type { GatewaySettings, GatewaySettingsCache } from './gateway-settings.ts';
