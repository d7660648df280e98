/** Change notifications for connections and settings of the gateway, across processes. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const connectionsChannel = 'connections_changed';
const settingsChannel = 'gateway_settings_changed';

export function notifyConnectionsChange(tx: Transaction, orgId: string): Promise<void> {
  return tx.notify(connectionsChannel, orgId);
}

export function notifyGatewaySettingsChange(tx: Transaction, orgId: string): Promise<void> {
  return tx.notify(settingsChannel, orgId);
}

/** Calls `listener` with the id of the org that changed; null means that any org may have changed. */
export function onConnectionsChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(connectionsChannel, listener);
}

export function onGatewaySettingsChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(settingsChannel, listener);
}
