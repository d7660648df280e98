/**
 * Open holds of the embedded engine, durable before anyone is told of them: lines appended to files, which survive the
 * end of the process as soon as they are written. That is a copy into the system's memory and takes microseconds, so it is
 * not worth a thread, nor the waiting for one. A file is full at some size or age and goes when the last hold in it has
 * ended.
 *
 * A hold that has ended may still be here at the next start: whoever restores them drops those whose end is in the
 * database. It keeps ends for some days only, and so no file may live longer. A line that a crash cut short was never
 * told, and is ignored at the end of a file; anywhere else it is damage, and stops the start.
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
import type { LogPlace } from '../holds/org-ledger-state.ts';

/** The disk is full, or gone. Nothing was written, so nothing happened: the outcome is known. */
export class HoldsNotDurable extends DatabaseUnavailable {
  constructor(cause: unknown) {
    super('the hold could not be made durable', { cause });
    this.name = 'HoldsNotDurable';
  }
}

export interface HoldLog {
  /**
   * From now on they survive the end of the process; else `HoldsNotDurable`. Each has the place that is returned, and one
   * that had another before leaves that, by `forget`.
   */
  append(holds: readonly Hold[]): LogPlace;
  /** A hold for each place: it has ended, and the database knows, or it is in a later place. */
  forget(places: readonly (LogPlace | undefined)[]): void;
  restore(): LoggedHold[];
  readGeneration(): Generation | undefined;
  writeGeneration(generation: Generation): void;
  close(): void;
}

export interface LoggedHold {
  readonly hold: Hold;
  readonly place: LogPlace;
}

/** Which database the holds belong to. While a new generation begins, the one before is named too; null: the first. */
export interface Generation {
  readonly now: string;
  readonly before?: string | null;
}

export interface HoldLogOptions {
  /** How large a file grows before the next one is begun. */
  readonly fileBytesMax?: number;
}

const defaultFileBytesMax = 8 * 1_024 * 1_024;

/** A hold lives for a day at most, so a file is gone a day after it is full. */
const fileAgeMaxMs = 6 * 3_600_000;

interface LogFile extends LogPlace {
  readonly number: number;
  bytes: number;
  open: number;
  /** When its first hold was admitted. */
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
  /** From then on the descriptor's number may be someone else's. */
  let closed = false;

  function newFile(number: number): LogFile {
    const path = join(directory, `${String(number).padStart(8, '0')}.log`);
    return { path, number, bytes: 0, open: 0, sinceMs: Number.POSITIVE_INFINITY };
  }

  function leave(file: LogFile): void {
    file.open -= 1;
    if (file.open === 0) {
      try {
        discard(file);
      } catch {
        // It is there at the next start, and its holds have ends.
      }
    }
  }

  function discard(file: LogFile): void {
    if (file !== current) {
      rmSync(file.path, { force: true });
    } else if (!closed) {
      ftruncateSync(descriptor, 0);
      file.bytes = 0;
      file.sinceMs = Number.POSITIVE_INFINITY;
    }
  }

  function beginNextFile(): void {
    const full = current;
    const next = newFile(full.number + 1);
    // Before the other is closed: its number must not become someone else's while it is still written to.
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
      beginNextFile();
    }
    const file = current;
    file.sinceMs = Math.min(file.sinceMs, admittedAtMs);
    const line = Buffer.from(`${holdsLine(holds)}\n`);
    try {
      writeWhole(descriptor, line);
    } catch (error) {
      // What was written of it must not end up in the middle of the file.
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
        throw new Error('the log of holds is closed');
      }
      try {
        return writeLine(holds);
      } catch (error) {
        throw new HoldsNotDurable(error);
      }
    },
    forget(places) {
      for (const file of places) {
        if (file !== undefined) {
          leave(file as LogFile);
        }
      }
    },
    restore() {
      const logged = new Map<string, LoggedHold & { place: LogFile }>();
      for (const number of numbers.map(Number).sort((a, b) => a - b)) {
        const place = newFile(number);
        for (const hold of readHolds(place.path)) {
          const before = logged.get(hold.id)?.place;
          logged.set(hold.id, { hold, place });
          place.open += 1;
          if (before !== undefined) {
            // A later line of the same hold replaces it.
            leave(before);
          }
        }
        if (place.open === 0) {
          rmSync(place.path, { force: true });
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

function writeWhole(descriptor: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(descriptor, bytes, written);
  }
}

export class DamagedHoldLog extends Error {
  constructor(path: string) {
    super(`the holds in ${path} are damaged; move the file away to give up the holds in it, and start again`);
    this.name = 'DamagedHoldLog';
  }
}

function readHolds(path: string): Hold[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  // Behind the last newline: nothing, or what a crash left of a line.
  lines.pop();
  try {
    return lines.flatMap(holdsOfLine);
  } catch {
    throw new DamagedHoldLog(path);
  }
}
