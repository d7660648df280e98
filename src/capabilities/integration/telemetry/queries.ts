import type { Queryable } from '../../../platform/db/database.ts';

/** Returns the chains that have a run other than reported ones: a call that was admitted, such as one through the gateway. */
export async function findAdmittedChains(
  db: Queryable,
  orgId: string,
  chainIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.query<{ readonly chain_id: string }>(
    `SELECT DISTINCT chain_id FROM ledger_entries WHERE org_id = $1 AND chain_id = ANY($2) AND kind = 'charge'`,
    [orgId, chainIds],
  );
  return new Set(rows.map(({ chain_id }) => chain_id));
}
