/**
 * The Purser processes that use this database. Their number divides limits among them. A dead process is detected, so that others
 * can take over its work. Each process has a row in `processes`: a process without a row is dead.
 *
 * On PostgreSQL a process renews its row every second and deletes it when it stops. Another process deletes a row that was not
 * renewed for too long, but only after it has itself read and written the table several times since. While the database is
 * unavailable or stalled, no process can renew its row, and none of them is dead. A live process whose row was deleted, because the
 * process was paused, inserts it again. Its work may have been taken over in between, so the owner of the work must fence it.
 *
 * The liveness of a process is not tied to a database session, because a session may end while its process lives, and behind a
 * pooler it belongs to no process ([0128](../../../docs/design/records/0128-takeover-from-dead-processes.md)). The embedded engine
 * has one process, so its start deletes all earlier rows.
 */
import { randomUUID } from 'node:crypto';
import type { Database, Queryable } from '../db/database.ts';
import { everySecretsKey } from '../secrets/key-queries.ts';
import type { Job } from './jobs.ts';

export interface Processes {
  /** Id of this process. It marks the work that this process owns. */
  readonly id: string;
  /** Number of processes as of the last heartbeat, including this one: at least 1. */
  count(): number;
  readonly jobs: readonly Job[];
  /** Renews the row of this process and observes the others. Called once before the first request, then by the job. */
  beat(): Promise<void>;
  /** Deletes the row of this process. Must be called after the jobs have stopped. */
  leave(): Promise<void>;
}

const beatEveryMs = 1_000;
/**
 * Time, by the database's clock, after which a row counts as silent. It is longer than a heartbeat of a busy process may wait for a
 * connection.
 */
const silentAfterSeconds = 6;
/** Number of consecutive successful heartbeats of this process during which a silent row must not change before it is deleted. */
const unchangedBeatsMin = 3;

/**
 * Creates the registry of processes. `build` is the version of this process, which `purser migrate --contract` compares.
 * `secretsKeys` returns the ids of its encryption keys, which other processes check during a rotation.
 */
export function createProcesses(
  db: Database,
  build: string,
  secretsKeys: () => readonly string[] = () => [],
): Processes {
  const id = randomUUID();
  // Errors are ignored, because other processes detect that this one has ended.
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
    // If this heartbeat fails, the observation starts again, because perhaps no process could renew its row.
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
