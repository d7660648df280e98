/** Background jobs of the ledger. */
import type { Database } from '../platform/db/database.ts';
import type { Job } from '../platform/jobs/jobs.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { Ledger } from './ledger.ts';
import { ensureMonths } from './partitions.ts';
import { deleteOldAlerts, deleteOldEnds } from './postings/ledger-writes.ts';

export interface LedgerJobsDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly ledger: Pick<Ledger, 'expiry' | 'maintenance'>;
}

const rowsPerBatch = 500;
/** Longer than any window, so that an alert is not emitted twice in its window. */
const alertsKeptMs = 400 * 24 * 3_600_000;

export function ledgerJobs({ db, clock, ledger }: LedgerJobsDependencies): Job[] {
  return [
    {
      id: 'expire-holds',
      everyMs: 500,
      runOnce: () => ledger.expiry.expireDue(),
      restMs: () => ledger.expiry.restMs(),
    },
    {
      id: 'evict-unused-counters',
      everyMs: 600_000,
      runOnce: () => ledger.maintenance.evictCounters(),
    },
    {
      id: 'delete-old-hold-ends',
      everyMs: 60_000,
      runOnce: () => deleteOldEnds(db, rowsPerBatch),
    },
    {
      id: 'delete-old-limit-alerts',
      everyMs: 6 * 3_600_000,
      async runOnce() {
        const before = new Date(clock.now().getTime() - alertsKeptMs);
        return deleteOldAlerts(db, before, rowsPerBatch);
      },
    },
    {
      id: 'create-partitions',
      everyMs: 3_600_000,
      async runOnce() {
        await ensureMonths(db, clock.now());
        return false;
      },
    },
  ];
}
