/** Counts the open holds of limits, for changes that end a limit. */
import type { Hold } from '../../../ledger/holds/hold.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import { selectHoldsPage } from '../../../ledger/postgres/postgres-holds.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { limitIdOf } from './counter-keys.ts';

const pageSize = 1_000;

/** Returns the number of open holds of each of these limits that has any. Reads those in the database in the transaction `tx`. */
export async function countOpenHolds(
  tx: Queryable,
  ledger: Pick<LedgerReads, 'holdsInMemory'>,
  orgId: string,
  limitIds: ReadonlySet<string>,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const count = (holds: readonly Hold[]) => {
    for (const { shares } of holds) {
      for (const limitId of new Set(shares.map(({ key }) => limitIdOf(key)))) {
        if (limitIds.has(limitId)) {
          counts.set(limitId, (counts.get(limitId) ?? 0) + 1);
        }
      }
    }
  };
  const inMemory = ledger.holdsInMemory();
  if (inMemory !== undefined) {
    count(inMemory.filter((hold) => hold.orgId === orgId));
    return counts;
  }
  let page: Hold[];
  let after: string | undefined;
  do {
    page = await selectHoldsPage(tx, orgId, { limit: pageSize, after });
    count(page);
    after = page.at(-1)?.id;
  } while (page.length === pageSize);
  return counts;
}
