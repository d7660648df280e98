/**
 * Counts the Purser processes that use this database, for limits that are divided among them. Each process has a row that it
 * renews. The embedded engine always has one process and needs no row.
 */
import { randomUUID } from 'node:crypto';
import type { Database, Queryable } from '../db/database.ts';
import type { Job } from './jobs.ts';

export interface Processes {
  /** Number of processes as of the last heartbeat, including this one: at least 1. */
  count(): number;
  readonly jobs: readonly Job[];
  /** Renews the row of this process and counts the others. Called once before the first request; later by the job. */
  beat(): Promise<void>;
  /** Deletes the row of this process. Must be called after the jobs have stopped. */
  leave(): Promise<void>;
}

const beatEveryMs = 2_000;

/** `build` is the version of this process, which `purser migrate --contract` compares. */
export function createProcesses(db: Database, build: string): Processes {
  if (db.engine === 'embedded') {
    return { count: () => 1, jobs: [], async beat() {}, async leave() {} };
  }
  const id = randomUUID();
  let others = 0;

  async function beat(): Promise<void> {
    others = await renew(db, id, build);
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
    // Errors are ignored: the row will soon be too old to count.
    leave: () => remove(db, id).catch(() => undefined),
  };
}

/** A process that has missed five heartbeats is not counted; its row is deleted much later, in case it comes back. */
async function renew(db: Queryable, id: string, build: string): Promise<number> {
  // A separate statement: in one statement with the deletion, two processes could each wait for the row that the other
  // deletes.
  await db.query(
    `INSERT INTO processes (id, seen_at, build) VALUES ($1, now(), $2)
     ON CONFLICT (id) DO UPDATE SET seen_at = now()`,
    [id, build],
  );
  const [row] = await db.query<{ others: bigint }>(
    `WITH deleted AS (
       DELETE FROM processes WHERE id IN (
         SELECT id FROM processes WHERE seen_at < now() - interval '1 minute' AND id <> $1
         -- Does not wait for a process that is renewing or deleting its row.
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
