import { holdSecondsMax } from '../../../ledger/holds/hold-request.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { deleteSome, markPurged, type OrgTable, orgTables, selectUnpurged } from './queries.ts';

/** Number of rows per batch, small enough that other work does not wait long for a batch. */
const rowsPerBatch = 2_000;
const orgsPerRun = 100;
/** Time until every hold that was open at the removal has ended and its end has been recorded. */
const quietAfterMs = (holdSecondsMax + 3_600) * 1_000;

/** Purges the data of removed orgs, one batch at a time. */
export function purgeRemovedOrgs(db: Database, clock: Clock): Job {
  async function deleteBatch(tables: readonly OrgTable[], orgId: string): Promise<boolean> {
    for (const table of tables) {
      if ((await deleteSome(db, table, orgId, rowsPerBatch)) > 0) {
        return true;
      }
    }
    return false;
  }

  return {
    id: 'purge-removed-orgs',
    everyMs: 30_000,
    async runOnce() {
      const orgs = await selectUnpurged(db, orgsPerRun);
      const tables = orgs.length === 0 ? [] : await orgTables(db);
      const failures: unknown[] = [];
      for (const { id, removed_at } of orgs) {
        try {
          if (await deleteBatch(tables, id)) {
            return true;
          }
          if (clock.now().getTime() > removed_at.getTime() + quietAfterMs) {
            await markPurged(db, id, clock.now());
          }
        } catch (error) {
          // An org that cannot be purged does not delay the others.
          failures.push(error);
        }
      }
      if (failures.length > 0) {
        throw new AggregateError(failures, `${failures.length} removed organizations could not be purged`);
      }
      return false;
    },
  };
}
