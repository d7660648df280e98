/**
 * Checkpoints of the embedded engine. PostgreSQL in single-user mode does not make any by itself: the write-ahead log would grow
 * without bound, and the next start would have to replay all of it.
 */

import type { Database } from '../db/database.ts';
import type { Job } from './jobs.ts';

export interface CheckpointOptions {
  /**
   * Size of the write-ahead log since the last checkpoint at which the next one is made. The size is small, because a checkpoint
   * blocks other statements for longer the more has changed.
   */
  readonly walBytesMax?: number;
  /** Age of the last checkpoint at which the next one is made if anything was written since. */
  readonly ageSecondsMax?: number;
}

const mebibyte = 1_048_576;
/** A checkpoint itself writes some records. They must not cause the next one. */
const walBytesMin = 16_384;
const lookEveryMs = 1_000;

export function checkpointJob(
  db: Database,
  { walBytesMax = 32 * mebibyte, ageSecondsMax = 300 }: CheckpointOptions = {},
): Job {
  return {
    id: 'checkpoint-database',
    everyMs: lookEveryMs,
    async runOnce() {
      const { walBytes, ageSeconds } = await sinceLastCheckpoint(db);
      if (walBytes >= walBytesMax || (ageSeconds >= ageSecondsMax && walBytes >= walBytesMin)) {
        // No statement timeout, because a checkpoint may take long on a slow disk, and aborting it would lose the work.
        await db.transaction((tx) => tx.query('CHECKPOINT'), { patient: true });
      }
      return false;
    },
  };
}

async function sinceLastCheckpoint(db: Database): Promise<{ walBytes: number; ageSeconds: number }> {
  const [row] = await db.query<{ wal_bytes: string; age_seconds: string }>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) AS wal_bytes,
            extract(epoch FROM clock_timestamp() - checkpoint_time) AS age_seconds
     FROM pg_control_checkpoint()`,
    [],
  );
  return { walBytes: Number(row?.wal_bytes), ageSeconds: Number(row?.age_seconds) };
}
