/**
 * Copies an embedded database while it is in use. Its files are copied unchanged while statements continue. The write-ahead log
 * since the last checkpoint is copied last, in a pause between two transactions. Opening the copy replays that log, as after a
 * crash, so the copy has exactly the transactions that were committed before the pause. The pause lasts as long as copying one or
 * two log segments, whatever the size of the database is. A checkpoint during the copy would make the log incomplete, so the copy
 * then starts again. The last attempt copies everything in the pause.
 */
import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database, Queryable, Transaction } from '../database.ts';

export interface SnapshotOptions {
  readonly db: Database;
  /** Directory of the database. */
  readonly directory: string;
  readonly target: string;
  /** Called in the pause, when no transaction is in progress and all earlier ones are in the copy. */
  inPause(tx: Transaction): Promise<void>;
}

export interface SnapshotReport {
  readonly bytes: number;
  /** Time for which other statements waited. */
  readonly pausedMs: number;
  readonly attempts: number;
}

const attemptsMax = 3;
const walDirectory = 'pg_wal';
/** Directories whose contents are about running sessions. PostgreSQL's own backups leave them out, too. */
const emptied = new Set([
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
]);
const omitted = new Set(['postmaster.pid', 'postmaster.opts', 'pg_internal.init']);

export async function snapshotDatabase(options: SnapshotOptions): Promise<SnapshotReport> {
  for (let attempt = 1; ; attempt += 1) {
    const report =
      attempt < attemptsMax ? await copyInUse(options, attempt) : await copyPaused(options, attempt);
    if (report !== undefined) {
      return report;
    }
  }
}

/** Copies the database. Returns undefined if a checkpoint happened in the meantime. */
async function copyInUse(
  { db, directory, target, inPause }: SnapshotOptions,
  attempts: number,
): Promise<SnapshotReport | undefined> {
  await startOver(target);
  await db.query('CHECKPOINT');
  const start = await lastCheckpoint(db);
  let bytes = await copyTree(directory, target);
  const copied = await copyFullSegments(db, directory, target, start.walFile);
  bytes += copied.bytes;
  return db.transaction(async (tx) => {
    const pausedAtMs = performance.now();
    if ((await lastCheckpoint(tx)).lsn !== start.lsn) {
      return undefined;
    }
    bytes += await copySegments(directory, target, copied.next, await currentSegment(tx));
    await inPause(tx);
    return { bytes, pausedMs: performance.now() - pausedAtMs, attempts };
  });
}

async function copyPaused(
  { db, directory, target, inPause }: SnapshotOptions,
  attempts: number,
): Promise<SnapshotReport> {
  await startOver(target);
  await db.query('CHECKPOINT');
  return db.transaction(
    async (tx) => {
      const pausedAtMs = performance.now();
      const { walFile } = await lastCheckpoint(tx);
      const bytes =
        (await copyTree(directory, target)) +
        (await copySegments(directory, target, walFile, await currentSegment(tx)));
      await inPause(tx);
      return { bytes, pausedMs: performance.now() - pausedAtMs, attempts };
    },
    { patient: true },
  );
}

async function startOver(target: string): Promise<void> {
  await rm(target, { recursive: true, force: true });
  await mkdir(join(target, walDirectory, 'archive_status'), { recursive: true, mode: 0o700 });
  await mkdir(join(target, walDirectory, 'summaries'), { mode: 0o700 });
}

async function lastCheckpoint(db: Queryable): Promise<{ readonly lsn: string; readonly walFile: string }> {
  const [row] = await db.query<{ lsn: string; walFile: string }>(
    'SELECT checkpoint_lsn::text AS lsn, redo_wal_file AS "walFile" FROM pg_control_checkpoint()',
    [],
  );
  return row as { lsn: string; walFile: string };
}

async function currentSegment(db: Queryable): Promise<string> {
  const [row] = await db.query<{ name: string }>(
    'SELECT pg_walfile_name(pg_current_wal_insert_lsn()) AS name',
    [],
  );
  return (row as { name: string }).name;
}

/** Copies the segments before the current one, which no longer change. Returns the first segment that was not copied. */
async function copyFullSegments(
  db: Queryable,
  directory: string,
  target: string,
  from: string,
): Promise<{ readonly bytes: number; readonly next: string }> {
  const next = await currentSegment(db);
  return { bytes: await copySegments(directory, target, from, next, false), next };
}

async function copySegments(
  directory: string,
  target: string,
  from: string,
  to: string,
  including = true,
): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(join(directory, walDirectory))) {
    if (/^[0-9A-F]{24}$/.test(name) && name >= from && (name < to || (including && name === to))) {
      bytes += await copyOne(join(directory, walDirectory, name), join(target, walDirectory, name));
    }
  }
  return bytes;
}

async function copyTree(from: string, to: string): Promise<number> {
  let bytes = 0;
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const destination = join(to, entry.name);
    if (entry.isDirectory()) {
      if (emptied.has(entry.name)) {
        await mkdir(destination, { recursive: true, mode: 0o700 });
      } else if (entry.name !== walDirectory) {
        bytes += await copyTree(source, destination);
      }
    } else if (entry.isFile() && !omitted.has(entry.name)) {
      bytes += await copyOne(source, destination);
    }
  }
  return bytes;
}

/** Copies a file and returns its size. A file that was deleted in the meantime is not needed, because the log contains its deletion. */
async function copyOne(source: string, destination: string): Promise<number> {
  try {
    await copyFile(source, destination, constants.COPYFILE_FICLONE);
    return (await stat(destination)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return 0;
    }
    throw error;
  }
}
