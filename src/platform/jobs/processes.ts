/**
 * The Purser processes that use this database: how many there are, for limits that are divided among them, and which are dead,
 * so that others can take over their work. Each process has a row in `processes`: a process without a row is dead.
 *
 * On PostgreSQL a process renews its row every second and deletes it when it stops. A row is deleted by another process that
 * finds it silent for too long and has itself read and written the table several times since: while the database is
 * unavailable or stalled, no process can renew its row, and none of them is dead. A process whose row was deleted although it
 * lives (it was paused) inserts it again; work that was taken over meanwhile must be fenced by its owner. The liveness of a
 * process is not tied to a database session, because a session may end while its process lives, and behind a pooler it
 * belongs to no process ([0128](../../../docs/design/records/0128-takeover-from-dead-processes.md)).
 *
 * The embedded engine has one process: all rows of earlier ones are deleted when it starts.
 */
import { randomUUID } from 'node:crypto';
import type { Database, Queryable } from '../db/database.ts';
import { everySecretsKey } from '../secrets/key-queries.ts';
import type { Job } from './jobs.ts';

export interface Processes {
  /** Id of this process, which marks the work that it owns. */
  readonly id: string;
  /** Number of processes as of the last heartbeat, including this one: at least 1. */
  count(): number;
  readonly jobs: readonly Job[];
  /** Renews the row of this process and observes the others. Called once before the first request; later by the job. */
  beat(): Promise<void>;
  /** Deletes the row of this process. Must be called after the jobs have stopped. */
  leave(): Promise<void>;
}

const beatEveryMs = 1_000;
/** By the database's clock. Longer than a heartbeat may wait for a connection of a busy process. */
const silentAfterSeconds = 6;
/** A silent row is deleted once it has not changed for this many consecutive successful heartbeats of this process. */
const unchangedBeatsMin = 3;

/**
 * `build` is the version of this process, which `purser migrate --contract` compares. `secretsKeys` returns the ids of its
 * encryption keys, which other processes check in a rotation.
 */
export function createProcesses(
  db: Database,
  build: string,
  secretsKeys: () => readonly string[] = () => [],
): Processes {
  const id = randomUUID();
  // Errors are ignored: the row of a process that has ended is found dead by others.
  const leave = () => remove(db, id).catch(() => undefined);
  if (db.engine === 'embedded') {
    return {
      id,
      count: () => 1,
      jobs: [],
      beat: () => replaceAll(db, { id, build, secretsKeys: [everySecretsKey] }),
      leave,
    };
  }
  let others = 0;
  let observed = new Map<string, Observation>();

  async function beat(): Promise<void> {
    const before = observed;
    // If this heartbeat fails, observation starts again: perhaps no process could renew its row.
    observed = new Map();
    await renew(db, { id, build, secretsKeys: secretsKeys() });
    const rows = await findOthers(db, id);
    others = rows.filter(({ silent }) => !silent).length;
    observed = new Map(
      rows.map((row) => {
        const seenAtMs = row.seen_at.getTime();
        const last = before.get(row.id);
        return [
          row.id,
          { seenAtMs, unchangedBeats: last?.seenAtMs === seenAtMs ? last.unchangedBeats + 1 : 0 },
        ];
      }),
    );
    for (const { id: other, seen_at, silent } of rows) {
      if (silent && (observed.get(other)?.unchangedBeats ?? 0) >= unchangedBeatsMin) {
        await removeUnchanged(db, other, seen_at);
      }
    }
  }
  return {
    id,
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
    leave,
  };
}

interface Observation {
  readonly seenAtMs: number;
  /** Number of heartbeats since the row was first read with this time. */
  readonly unchangedBeats: number;
}

interface ProcessRow {
  readonly id: string;
  readonly seen_at: Date;
  readonly silent: boolean;
}

export interface ListedProcess {
  readonly id: string;
  /** Null for builds before 0.1.0. */
  readonly build: string | null;
  readonly seen_at: Date;
}

/** Returns the processes that use the database. */
export function listProcesses(db: Queryable): Promise<ListedProcess[]> {
  return db.query<ListedProcess>('SELECT id, build, seen_at FROM processes ORDER BY id', []);
}

interface ThisProcess {
  readonly id: string;
  readonly build: string;
  readonly secretsKeys: readonly string[];
}

async function replaceAll(db: Database, process: ThisProcess): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('DELETE FROM processes');
    await renew(tx, process);
  });
}

async function renew(db: Queryable, { id, build, secretsKeys }: ThisProcess): Promise<void> {
  await db.query(
    `INSERT INTO processes (id, seen_at, build, secrets_keys) VALUES ($1, now(), $2, $3)
     ON CONFLICT (id) DO UPDATE SET seen_at = now(), secrets_keys = excluded.secrets_keys`,
    [id, build, secretsKeys],
  );
}

function findOthers(db: Queryable, id: string): Promise<ProcessRow[]> {
  return db.query<ProcessRow>(
    `SELECT id, seen_at, seen_at < now() - make_interval(secs => $2) AS silent FROM processes WHERE id <> $1`,
    [id, silentAfterSeconds],
  );
}

/** Deletes the row unless its process has renewed it since it was read. */
async function removeUnchanged(db: Queryable, id: string, seenAt: Date): Promise<void> {
  await db.query('DELETE FROM processes WHERE id = $1 AND seen_at = $2', [id, seenAt]);
}

async function remove(db: Queryable, id: string): Promise<void> {
  await db.query('DELETE FROM processes WHERE id = $1', [id]);
}
