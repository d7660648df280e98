/** Addresses that want no alerts of an organization any more. They get none, whatever subscription names them. */
import type { Queryable } from '../../../platform/db/database.ts';

export interface OrgRecipient {
  readonly orgId: string;
  readonly recipient: string;
}

/** Returns false if the address has unsubscribed before. */
export async function addUnsubscribed(
  tx: Queryable,
  { orgId, recipient }: OrgRecipient,
  now: Date,
): Promise<boolean> {
  const added = await tx.query(
    `INSERT INTO unsubscribed_recipients (org_id, address, unsubscribed_at) VALUES ($1, $2, $3)
     ON CONFLICT (org_id, address) DO NOTHING RETURNING 1 AS one`,
    [orgId, recipient, now],
  );
  return added.length > 0;
}

/** Returns false if the address has not unsubscribed. */
export async function removeUnsubscribed(
  tx: Queryable,
  { orgId, recipient }: OrgRecipient,
): Promise<boolean> {
  const removed = await tx.query(
    'DELETE FROM unsubscribed_recipients WHERE org_id = $1 AND address = $2 RETURNING 1 AS one',
    [orgId, recipient],
  );
  return removed.length > 0;
}

export async function hasUnsubscribed(db: Queryable, { orgId, recipient }: OrgRecipient): Promise<boolean> {
  const found = await db.query(
    'SELECT 1 AS one FROM unsubscribed_recipients WHERE org_id = $1 AND address = $2',
    [orgId, recipient],
  );
  return found.length > 0;
}
