/**
 * A template of the embedded database that takes a fraction of the time to copy: most of a data directory is not needed
 * to open the copy.
 */
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../src/platform/db/database.ts';

const segmentBytes = 16 * 2 ** 20;
const isSegment = (name: string) => /^[0-9A-F]{24}$/.test(name);
const logOf = (directory: string) => join(directory, 'pg_wal');

/** Begins a new segment of the write-ahead log, and returns its name. Earlier segments are no longer needed. */
export async function beginSegment(db: Database): Promise<string> {
  await db.query('SELECT pg_switch_wal()');
  await db.query('CHECKPOINT');
  const [row] = await db.query<{ name: string }>('SELECT pg_walfile_name(pg_current_wal_lsn()) AS name');
  return row?.name ?? '';
}

/** Removes unneeded data from the directory of a closed database. */
export function lighten(directory: string, segment: string): void {
  const log = logOf(directory);
  for (const other of readdirSync(log).filter((name) => isSegment(name) && name !== segment)) {
    rmSync(join(log, other));
  }
  // The rest of a segment consists of zeros. A copy restores them without writing them.
  const bytes = readFileSync(join(log, segment));
  truncateSync(join(log, segment), bytes.findLastIndex((byte) => byte !== 0) + 1);
  // The template databases of PostgreSQL, which are only needed to create databases.
  for (const unused of ['1', '4']) {
    rmSync(join(directory, 'base', unused), { recursive: true });
  }
}

export function copyLight(template: string, directory: string): void {
  cpSync(template, directory, { recursive: true });
  for (const segment of readdirSync(logOf(directory)).filter(isSegment)) {
    truncateSync(join(logOf(directory), segment), segmentBytes);
  }
}
