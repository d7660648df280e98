/**
 * How many Purser processes are alive on this database, for what they divide among each other. Each has a row that it
 * renews; the embedded engine has one process by its nature, and needs none.
 */
import { randomUUID } from 'node:crypto';
import type { Database, Queryable } from '../db/database.ts';
import type { Job } from './jobs.ts';

export interface Processes {
  /** As of the last beat; this one included, so at least 1. */
  count(): number;
  readonly jobs: readonly Job[];
  /** Says that this process is here, and looks for the others. Once before the first request; then the job does it. */
  beat(): Promise<void>;
  /** Says that it is gone. To be called after the jobs have stopped. */
  leave(): Promise<void>;
}

const beatEveryMs = 2_000;

export function createProcesses(db: Database): Processes {
  if (db.engine === 'embedded') {
    return { count: () => 1, jobs: [], async beat() {}, async leave() {} };
  }
  const id = randomUUID();
  let others = 0;

  async function beat(): Promise<void> {
    others = await renew(db, id);
  }
  return {
    count: () => others + 1,
    beat,
    jobs: [
      {
        id: 'send-process-heartbeat',
        everyMs: beatEveryMs,
        async runOnce() {
          await beat();
          return false;
        },
      },
    ],
    // A database that is away keeps nobody from leaving: the row will be too old to count.
    leave: () => remove(db, id).catch(() => undefined),
  };
}

/** A process that has missed five beats is not counted; its row is deleted long after, in case that it comes back. */
async function renew(db: Queryable, id: string): Promise<number> {
  // By itself: in one statement with the deletion, two processes could each wait for the row that the other deletes.
  await db.query(
    'INSERT INTO processes (id, seen_at) VALUES ($1, now()) ON CONFLICT (id) DO UPDATE SET seen_at = now()',
    [id],
  );
  const [row] = await db.query<{ others: bigint }>(
    `WITH deleted AS (
       DELETE FROM processes WHERE id IN (
         SELECT id FROM processes WHERE seen_at < now() - interval '1 minute' AND id <> $1
         -- Whoever is renewing or deleting a row at this moment is not waited for.
         FOR UPDATE SKIP LOCKED
       )
     )
     SELECT count(*) AS others FROM processes WHERE seen_at > now() - interval '10 seconds' AND id <> $1`,
    [id],
  );
  return Number(row?.others ?? 0n);
}

async function remove(db: Queryable, id: string): Promise<void> {
  await db.query('DELETE FROM processes WHERE id = $1', [id]);
}
