/**
 * Write-ahead log of open holds for the embedded engine. Holds are appended to files before the response is sent;
 * written lines survive the end of the process. A write is a copy into the page cache and takes microseconds, so it
 * runs synchronously. A file is full at a maximum size or age, and is deleted when the last hold in it has ended.
 *
 * A hold that has ended may still be in the log at the next start: `restoreHolds` drops those whose end is in the
 * database. The database keeps ends for some days only, so no file may live longer. A line cut short by a crash was
 * never acknowledged; it is ignored at the end of a file, and reported as damage anywhere else, which stops the
 * start.
 */
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseUnavailable } from '../../platform/db/database.ts';
import { type Hold, holdsLine, holdsOfLine } from '../holds/hold.ts';
import type { LogLocation } from '../holds/org-ledger-state.ts';

/** The disk is full or unavailable. Nothing was written, so the outcome is known. */
export class HoldsNotDurable extends DatabaseUnavailable {
  override readonly name = 'HoldsNotDurable';

  constructor(cause: unknown) {
    super('hold log write failed', { cause });
  }
}

export interface HoldLog {
  /**
   * Makes holds durable, or throws `HoldsNotDurable`. Returns their location; a hold that was already in the log
   * must be removed from its previous location.
   */
  append(holds: readonly Hold[]): LogLocation;
  /**
   * Removes one hold per location: its end is in the database, its run was not committed, or it was appended again at a
   * later location.
   */
  remove(locations: readonly (LogLocation | undefined)[]): void;
  restore(): LoggedHold[];
  readGeneration(): Generation | undefined;
  writeGeneration(generation: Generation): void;
  close(): void;
}

export interface LoggedHold {
  readonly hold: Hold;
  readonly location: LogLocation;
}

/**
 * Identifies the database that the holds belong to. While a new generation begins, `before` is the previous one;
 * null: there was none.
 */
export interface Generation {
  readonly now: string;
  readonly before?: string | null;
}

export interface HoldLogOptions {
  /** Maximum size of a file before the next one is started. */
  readonly fileBytesMax?: number;
}

const defaultFileBytesMax = 8 * 1_024 * 1_024;

/**
 * Maximum age of a file before the next one is started. A hold lives for one day at most, so a file is deleted at most
 * one day after it is full.
 */
const fileAgeMaxMs = 6 * 3_600_000;

interface LogFile extends LogLocation {
  readonly number: number;
  bytes: number;
  open: number;
  /** The earliest time of its lines; that of a line is the latest admission time of its holds. */
  sinceMs: number;
}

export function openHoldLog(
  directory: string,
  { fileBytesMax = defaultFileBytesMax }: HoldLogOptions = {},
): HoldLog {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const numbers = readdirSync(directory).flatMap((name) => /^(\d{8})\.log$/.exec(name)?.[1] ?? []);
  const generationPath = join(directory, 'generation.json');
  let current = newFile(Math.max(0, ...numbers.map(Number)) + 1);
  let descriptor = openSync(current.path, 'a', 0o600);
  /** Once closed, the number of the descriptor may be reused by another file. */
  let closed = false;

  function newFile(number: number): LogFile {
    const path = join(directory, `${String(number).padStart(8, '0')}.log`);
    return { path, number, bytes: 0, open: 0, sinceMs: Number.POSITIVE_INFINITY };
  }

  function removeFrom(file: LogFile): void {
    file.open -= 1;
    if (file.open === 0) {
      try {
        deleteOrTruncate(file);
      } catch {
        // Ignored: the next start finds the file again and drops its holds for the same reason.
      }
    }
  }

  function deleteOrTruncate(file: LogFile): void {
    if (file !== current) {
      rmSync(file.path, { force: true });
    } else if (!closed) {
      ftruncateSync(descriptor, 0);
      file.bytes = 0;
      file.sinceMs = Number.POSITIVE_INFINITY;
    }
  }

  function startNextFile(): void {
    const full = current;
    const next = newFile(full.number + 1);
    // Opened before the old file is closed, so that the number of the descriptor is not reused while it is still
    // written to.
    const opened = openSync(next.path, 'a', 0o600);
    closeSync(descriptor);
    current = next;
    descriptor = opened;
    if (full.open === 0) {
      rmSync(full.path, { force: true });
    }
  }

  function writeLine(holds: readonly Hold[]): LogFile {
    let admittedAtMs = 0;
    for (const hold of holds) {
      admittedAtMs = Math.max(admittedAtMs, hold.admittedAtMs);
    }
    if (current.bytes >= fileBytesMax || admittedAtMs - current.sinceMs >= fileAgeMaxMs) {
      startNextFile();
    }
    const file = current;
    file.sinceMs = Math.min(file.sinceMs, admittedAtMs);
    const line = Buffer.from(`${holdsLine(holds)}\n`);
    try {
      writeFully(descriptor, line);
    } catch (error) {
      // Truncates a partial write, which must not end up in the middle of the file.
      ftruncateSync(descriptor, file.bytes);
      throw error;
    }
    file.bytes += line.length;
    file.open += holds.length;
    return file;
  }

  return {
    append(holds) {
      if (closed) {
        throw new Error('the hold log is closed');
      }
      try {
        return writeLine(holds);
      } catch (error) {
        throw new HoldsNotDurable(error);
      }
    },
    remove(locations) {
      for (const file of locations) {
        if (file !== undefined) {
          removeFrom(file as LogFile);
        }
      }
    },
    restore() {
      const logged = new Map<string, LoggedHold & { location: LogFile }>();
      for (const number of numbers.map(Number).sort((a, b) => a - b)) {
        const location = newFile(number);
        for (const hold of readHolds(location.path)) {
          const previous = logged.get(hold.id)?.location;
          logged.set(hold.id, { hold, location });
          location.open += 1;
          if (previous !== undefined) {
            // A later line replaces an earlier line of the same hold.
            removeFrom(previous);
          }
        }
        if (location.open === 0) {
          rmSync(location.path, { force: true });
        }
      }
      return [...logged.values()];
    },
    readGeneration() {
      try {
        return JSON.parse(readFileSync(generationPath, 'utf8')) as Generation;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
          return undefined;
        }
        throw error;
      }
    },
    writeGeneration(generation) {
      writeFileSync(`${generationPath}.new`, JSON.stringify(generation), { mode: 0o600 });
      renameSync(`${generationPath}.new`, generationPath);
    },
    close() {
      if (!closed) {
        closed = true;
        closeSync(descriptor);
      }
    },
  };
}

function writeFully(descriptor: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(descriptor, bytes, written);
  }
}

export class DamagedHoldLog extends Error {
  constructor(path: string) {
    super(`the hold log ${path} is damaged; to discard the holds in it, move the file away and restart`);
    this.name = 'DamagedHoldLog';
  }
}

function readHolds(path: string): Hold[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  // After the last newline: nothing, or a line cut short by a crash.
  lines.pop();
  try {
    return lines.flatMap(holdsOfLine);
  } catch {
    throw new DamagedHoldLog(path);
  }
}
