/** Change notifications for prices and model capabilities, across processes. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const modelChannel = 'model_price_changed';
const orgChannel = 'org_price_changed';

/** The notification has no payload: a change of one model invalidates the prices and capabilities of all models. */
export function notifyModelPriceChange(tx: Transaction): Promise<void> {
  return tx.notify(modelChannel, '');
}

export function notifyOrgPriceChange(tx: Transaction, orgId: string): Promise<void> {
  return tx.notify(orgChannel, orgId);
}

export function onModelPriceChange(db: Database, listener: () => void): void {
  db.listen(modelChannel, listener);
}

/** Calls `listener` with the id of the org whose prices changed; null means that those of any org may have changed. */
export function onOrgPriceChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(orgChannel, listener);
}
