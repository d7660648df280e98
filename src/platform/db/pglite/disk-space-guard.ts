/**
 * Makes the embedded database read-only while its disk is almost full. Without space for the next segment of the write-ahead log,
 * PostgreSQL would stop and could not start again, so that reads would fail too. A write in a read-only session fails as
 * unavailable.
 */
import { statfs } from 'node:fs/promises';
import { freeBytesToResume } from '../../files/storage-problem.ts';
import type { Log } from '../../log.ts';

/** Space for two segments of the write-ahead log, and for tables that grow until the next check. */
const freeBytesMin = 48 * 1_048_576;
const lookEveryMs = 250;

export interface DiskSpaceGuardOptions {
  readonly directory: string;
  readonly log: Log;
  /** Applies to all transactions that begin later. Rejects if the database is not running. */
  setReadOnly(readOnly: boolean): Promise<unknown>;
  /** Returns the free space in bytes. Default: that of the file system. */
  freeBytes?(directory: string): Promise<number>;
}

export interface DiskSpaceGuard {
  /** Checks the space immediately, for example after a write that failed for lack of space. */
  look(): Promise<void>;
  /** Must be called after a restart of the database, which makes it writable again. */
  restarted(): void;
  stop(): void;
}

export function guardDiskSpace({
  directory,
  log,
  setReadOnly,
  freeBytes = freeBytesOf,
}: DiskSpaceGuardOptions): DiskSpaceGuard {
  let isReadOnly = false;
  let looking: Promise<void> | undefined;

  async function change(): Promise<void> {
    const free = await freeBytes(directory);
    const mustBeReadOnly = free < (isReadOnly ? freeBytesToResume : freeBytesMin);
    if (mustBeReadOnly !== isReadOnly) {
      await setReadOnly(mustBeReadOnly);
      isReadOnly = mustBeReadOnly;
      const state = { freeBytes: free };
      if (mustBeReadOnly) {
        log.error(state, 'the disk is almost full; the database is read-only until there is space');
      } else {
        log.info(state, 'there is space on the disk again; the database is writable');
      }
    }
  }
  async function look(): Promise<void> {
    looking ??= change()
      // Ignored, because the next check tries again.
      .catch(() => undefined)
      .finally(() => {
        looking = undefined;
      });
    await looking;
  }

  const timer = setInterval(look, lookEveryMs).unref();
  return {
    look,
    restarted() {
      isReadOnly = false;
    },
    stop: () => clearInterval(timer),
  };
}

async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
