// @ts-check
/** Start parameters of the embedded engine, in addition to PGlite's own. */
import { PGlite } from '@electric-sql/pglite';

/**
 * Old segments of the write-ahead log are reused up to this size, and deleted beyond it. The job `checkpoint-database` keeps
 * the segments that are still needed below a similar size.
 */
const walSizes = ['-c', 'min_wal_size=32MB', '-c', 'max_wal_size=96MB'];

/**
 * The default, 128 MB, would be resident from the start, since the memory of the engine is zeroed. Pages beyond it are read from the
 * page cache of the operating system.
 */
const buffers = ['-c', 'shared_buffers=16MB'];

/** Allocates space when a table grows: a full disk then fails the statement, and not a checkpoint later. */
const allocation = ['-c', 'file_extend_method=write_zeros'];

/** PGlite turns fsync off with `-F`. The method is `fsync`, because the engine's `fdatasync` does nothing. */
const synced = ['-c', 'fsync=on', '-c', 'wal_sync_method=fsync'];

/** @param {import('../../files/durable-files.ts').Durability} durability */
export function startParamsOf(durability) {
  const defaults = PGlite.defaultStartParams;
  return durability === 'sync'
    ? [...defaults.filter((param) => param !== '-F'), ...synced, ...buffers, ...walSizes, ...allocation]
    : [...defaults, ...buffers, ...walSizes, ...allocation];
}
