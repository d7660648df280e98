/** Runs pending backfills while the service runs. The pauses are as long as the batches, so that half of the time is left to requests. */
import { runNextBatch } from '../db/backfill.ts';
import type { Database } from '../db/database.ts';
import type { Migration } from '../db/migrate.ts';
import type { Job } from './jobs.ts';

export function backfillJob(db: Database, migrations: readonly Migration[]): Job {
  return {
    id: 'run-backfills',
    everyMs: 5_000,
    runOnce: () => runNextBatch(db, migrations),
    restMs: (tookMs) => tookMs,
  };
}
