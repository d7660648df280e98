/**
 * A template of the embedded database that is copied in a fraction of the time: most of what a directory holds is of no use
 * to whoever opens the copy.
 */
import { appendFileSync, cpSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../src/platform/db/database.ts';

const segmentBytes = 16 * 2 ** 20;
const isSegment = (name: string) => /^[0-9A-F]{24}$/.test(name);
const logOf = (directory: string) => join(directory, 'pg_wal');

/** Begins a new segment of the write-ahead log, and returns its name; nothing before it is needed any more. */
export async function beginSegment(db: Database): Promise<string> {
  await db.query('SELECT pg_switch_wal()');
  await db.query('CHECKPOINT');
  const [row] = await db.query<{ name: string }>('SELECT pg_walfile_name(pg_current_wal_lsn()) AS name');
  return row?.name ?? '';
}

/** Once the database is closed. */
export function lighten(directory: string, segment: string): void {
  const log = logOf(directory);
  for (const other of readdirSync(log).filter((name) => isSegment(name) && name !== segment)) {
    rmSync(join(log, other));
  }
  // A segment is filled with zeros to its end, which a copy gets back without writing them.
  const bytes = readFileSync(join(log, segment));
  truncateSync(join(log, segment), bytes.findLastIndex((byte) => byte !== 0) + 1);
  // Those that new databases are made from. Nobody makes one.
  for (const unused of ['1', '4']) {
    rmSync(join(directory, 'base', unused), { recursive: true });
  }
  // To fill the usual 128 MB with zeros takes a quarter of the time in which a database is opened.
  appendFileSync(join(directory, 'postgresql.conf'), 'shared_buffers = 16MB\n');
}

export function copyLight(template: string, directory: string): void {
  cpSync(template, directory, { recursive: true });
  for (const segment of readdirSync(logOf(directory)).filter(isSegment)) {
    truncateSync(join(logOf(directory), segment), segmentBytes);
  }
}
