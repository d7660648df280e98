/**
 * Ties the hold log to its database. Each start begins a new generation that both carry; if they disagree, one of them
 * was restored from a backup beside the other, and holds could be missing or come back from the dead: the start stops.
 */
import { randomUUID } from 'node:crypto';
import type { Database } from '../../platform/db/database.ts';
import type { HoldLog } from './hold-log.ts';

export class HoldLogMismatch extends Error {
  constructor() {
    super(
      'the holds in the data directory and the database belong to different moments (was one of them restored from a ' +
        'backup?); restore both together, or move the directory `holds` away to give up the holds that were open',
    );
    this.name = 'HoldLogMismatch';
  }
}

export async function beginGeneration(db: Database, log: HoldLog): Promise<void> {
  const inLog = log.readGeneration();
  const inDatabase = await readGeneration(db);
  if (inLog !== undefined && inDatabase !== inLog.now && inDatabase !== inLog.before) {
    throw new HoldLogMismatch();
  }
  const next = randomUUID();
  // In this order a crash at any point leaves two that agree, and a backup from before the last step does not.
  log.writeGeneration({ now: next, before: inDatabase });
  await db.query(
    `INSERT INTO hold_log_generation (only_row, generation) VALUES (true, $1)
     ON CONFLICT (only_row) DO UPDATE SET generation = excluded.generation`,
    [next],
  );
  log.writeGeneration({ now: next });
}

/** Null in a database that no holds belong to yet. */
async function readGeneration(db: Database): Promise<string | null> {
  const [row] = await db.query<{ generation: string }>('SELECT generation FROM hold_log_generation', []);
  return row?.generation ?? null;
}
