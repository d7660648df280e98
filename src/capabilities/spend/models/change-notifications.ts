/** How processes learn that a price changed. */
import type { Database, Transaction } from '../../../platform/db/database.ts';

const modelChannel = 'model_price_changed';
const orgChannel = 'org_price_changed';

/** Whoever hears of one model forgets them all, so the notice does not say which it was. */
export function announceModelPriceChange(tx: Transaction): Promise<void> {
  return tx.notify(modelChannel, '');
}

export function announceOrgPriceChange(tx: Transaction, orgId: string): Promise<void> {
  return tx.notify(orgChannel, orgId);
}

export function onModelPriceChange(db: Database, heard: () => void): void {
  db.listen(modelChannel, heard);
}

/** Hears the id of each org whose prices changed; null means that any of them may have. */
export function onOrgPriceChange(db: Database, heard: (orgId: string | null) => void): void {
  db.listen(orgChannel, heard);
}
