/**
 * Open holds in an embedded data directory that no service has open. A backup or a move reads them; a snapshot or a restore writes
 * them.
 */
import type { Database } from '../../platform/db/database.ts';
import { type Hold, holdOfRecord, holdRecord } from '../holds/hold.ts';
import { requireSameGeneration } from './hold-generation.ts';
import { openHoldLog } from './hold-log.ts';
import { restoreHolds } from './restore-holds.ts';

const holdsPerLine = 500;

/** Returns the holds that a start would restore. */
export async function readStoredHolds(db: Database, directory: string): Promise<Hold[]> {
  const log = openHoldLog(directory, { durability: 'sync' });
  try {
    await requireSameGeneration(db, log);
    return (await restoreHolds(db, log)).map(({ hold }) => hold);
  } finally {
    log.close();
  }
}

/**
 * Writes a hold log. Without a generation the log belongs to no database yet. The next start then gives log and database a new
 * generation, so that a hold log from before the restore does not match any more.
 */
export async function writeHoldLog(
  directory: string,
  holds: readonly Hold[],
  generation?: string,
): Promise<void> {
  const log = openHoldLog(directory, { durability: 'sync' });
  try {
    for (let at = 0; at < holds.length; at += holdsPerLine) {
      await log.append(holds.slice(at, at + holdsPerLine));
    }
    if (generation !== undefined) {
      log.writeGeneration({ now: generation });
    }
  } finally {
    log.close();
  }
}

const recordsPerBatch = 1_000;

/** Returns holds as JSON, in batches for a transfer. */
export function* recordBatches(holds: readonly Hold[]): Generator<string[]> {
  for (let at = 0; at < holds.length; at += recordsPerBatch) {
    yield holds.slice(at, at + recordsPerBatch).map(holdRecord);
  }
}

export function holdsOfRecords(records: readonly string[]): Hold[] {
  return records.map(holdOfRecord);
}
