/** How every process learns that the limits of an org changed. */
import type { Database, Transaction } from '../db/database.ts';

const channel = 'limits';

/** Also for what else the decisions of an org depend on: its time zone, its read limit. */
export async function announceLimits(tx: Transaction, orgId: string): Promise<void> {
  await tx.query(
    `INSERT INTO ledger_orgs (org_id, limits_version) VALUES ($1, 1)
     ON CONFLICT (org_id) DO UPDATE SET limits_version = ledger_orgs.limits_version + 1`,
    [orgId],
  );
  await tx.notify(channel, orgId);
}

/** `null`: notices may have been missed, so anything may have changed. */
export function onLimitsChange(db: Database, listener: (orgId: string | null) => void): void {
  db.listen(channel, listener);
}
