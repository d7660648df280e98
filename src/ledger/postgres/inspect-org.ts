/** A consistent snapshot of an org's counters and open holds on PostgreSQL, under the org's lock. */
import type { Database } from '../../platform/db/database.ts';
import type { Inspection, InspectRead } from '../ledger.ts';
import { lockOrg } from './lock-orgs.ts';
import { selectAllHolds } from './postgres-holds.ts';

export function inspectOrg<Result>(
  db: Database,
  orgId: string,
  read: InspectRead<Result>,
): Promise<Inspection<Result>> {
  return db.transaction(async (tx) => {
    await lockOrg(tx, orgId);
    const counters = await tx.query<{ key: string; settled: bigint; held: bigint }>(
      'SELECT key, settled, held FROM counters WHERE org_id = $1',
      [orgId],
    );
    const holds = await selectAllHolds(tx, orgId);
    return { result: await read(tx), counters, holds };
  });
}
