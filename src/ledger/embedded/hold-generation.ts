/**
 * Ties the hold log to its database. Each start begins a new generation and stores its id in both. If the two ids differ, one of
 * them was restored from a backup without the other. Holds could then be missing, or ended holds could reappear, so the start
 * fails. A log without a generation is new and matches every database.
 */
import { randomUUID } from 'node:crypto';
import type { Database, Queryable } from '../../platform/db/database.ts';
import type { HoldLog } from './hold-log.ts';

export class HoldLogMismatch extends Error {
  constructor() {
    super(
      'the hold log in the data directory does not match the database (was one of them restored from a ' +
        'backup?); restore both together, or move the directory `holds` away to discard the open holds',
    );
    this.name = 'HoldLogMismatch';
  }
}

/** Throws unless the log belongs to this database or to none yet. Returns the generation of the database. */
export async function requireSameGeneration(db: Database, log: HoldLog): Promise<string | null> {
  const inLog = log.readGeneration();
  const inDatabase = await readGeneration(db);
  if (inLog !== undefined && inDatabase !== inLog.now && inDatabase !== inLog.before) {
    throw new HoldLogMismatch();
  }
  return inDatabase;
}

export async function beginGeneration(db: Database, log: HoldLog): Promise<void> {
  const inDatabase = await requireSameGeneration(db, log);
  const next = randomUUID();
  // In this order the two match after a crash at any point. They do not match after one of them was restored from a backup of an
  // earlier generation.
  log.writeGeneration({ now: next, before: inDatabase });
  await db.query(
    `INSERT INTO hold_log_generation (only_row, generation) VALUES (true, $1)
     ON CONFLICT (only_row) DO UPDATE SET generation = excluded.generation`,
    [next],
  );
  log.writeGeneration({ now: next });
}

/** Returns null for a database that was never opened with a hold log. */
export async function readGeneration(db: Queryable): Promise<string | null> {
  const [row] = await db.query<{ generation: string }>('SELECT generation FROM hold_log_generation', []);
  return row?.generation ?? null;
}
