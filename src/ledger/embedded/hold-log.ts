/**
 * Write-ahead log of open holds for the embedded engine. Holds are appended to files before the response is sent.
 *
 * With `sync` durability a line is also synced to disk, in the background, so that a slow disk does not block the event loop. With
 * `os` a line is only copied into the page cache, which survives the end of the process.
 *
 * A file is full at a maximum size or age, and is deleted when the last hold in it has ended. A file grows by many lines at once,
 * filled with zeros that later lines overwrite. So a sync writes only the line, not the new size of the file, which would wait for
 * the journal of the file system.
 *
 * A hold that has ended may still be in the log at the next start: `restoreHolds` drops holds whose end is in the database. The
 * database keeps ends for some days only, so no file may live longer. A line cut short by a crash was never acknowledged. It is
 * ignored at the end of a file; anywhere else it is damage and stops the start.
 */
import {
  closeSync,
  fdatasync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DatabaseUnavailable } from '../../platform/db/database.ts';
import {
  type Durability,
  makeDirectory,
  readIfPresent,
  syncPath,
  writePrivateFile,
} from '../../platform/files/durable-files.ts';
import { type Hold, holdsLine, holdsOfLine } from '../holds/hold.ts';
import type { LogLocation } from '../holds/org-ledger-state.ts';

const syncDataOf = promisify(fdatasync);

/** The disk is full or unavailable. The outcome is known: the holds do not count as taken. */
export class HoldsNotDurable extends DatabaseUnavailable {
  override readonly name = 'HoldsNotDurable';

  constructor(cause: unknown) {
    super('hold log write failed', { cause });
  }
}

export interface HoldLog {
  /**
   * Makes holds durable, or rejects with `HoldsNotDurable`. Returns their location. A hold that was already in the log must be
   * removed from its previous location. Only one call may be in progress.
   */
  append(holds: readonly Hold[]): Promise<LogLocation>;
  /**
   * Removes one hold per location: its end is in the database, its run was not committed, or it was appended again at a
   * later location.
   */
  remove(locations: readonly (LogLocation | undefined)[]): void;
  restore(): LoggedHold[];
  readGeneration(): LogGeneration | undefined;
  writeGeneration(generation: LogGeneration): void;
  close(): void;
}

export interface LoggedHold {
  readonly hold: Hold;
  readonly location: LogLocation;
}

/** The database that the holds belong to. While a new generation begins, `before` is the previous one; null: there was none. */
export interface LogGeneration {
  readonly now: string;
  readonly before?: string | null;
}

export interface HoldLogOptions {
  readonly durability: Durability;
  /** Maximum size of the lines of a file before the next one is started. */
  readonly fileBytesMax?: number;
  /** Replaced in tests. */
  readonly syncData?: (descriptor: number) => Promise<void>;
}

const defaultFileBytesMax = 8 * 1_024 * 1_024;

/** Size by which a file grows. */
const growthBytes = 64 * 1_024;

/** Time after the end of the last hold until the file is emptied, unless a hold is added before. */
export const emptyAfterMs = 1_000;

/**
 * Maximum age of a file before the next one is started. A hold lives for one day at most, so a file is deleted at most
 * one day after it is full.
 */
const fileAgeMaxMs = 6 * 3_600_000;

interface LogFile extends LogLocation {
  readonly number: number;
  /** Size of the written lines. */
  bytes: number;
  /** Size of the file, including the zeros after the lines. */
  allocatedBytes: number;
  /** Number of open holds in the file, including those of a line that is being written. */
  open: number;
  /** The earliest of the line times. The time of a line is the latest admission time of its holds. */
  sinceMs: number;
}

export function openHoldLog(
  directory: string,
  { durability, fileBytesMax = defaultFileBytesMax, syncData = syncDataOf }: HoldLogOptions,
): HoldLog {
  makeDirectory(directory);
  const numbers = readdirSync(directory).flatMap((name) => /^(\d{8})\.log$/.exec(name)?.[1] ?? []);
  const generationPath = join(directory, 'generation.json');
  let current = newFile(Math.max(0, ...numbers.map(Number)) + 1);
  let descriptor = openSync(current.path, 'w', 0o600);
  /** True until the directory entry of the current file is synced. */
  let isNameUnsynced = true;
  /** True if a failed line could not be cut off. The next line must not follow it. */
  let isTailBroken = false;
  /** Once the log is closed, another file may reuse the number of the descriptor. */
  let closed = false;
  let emptying: NodeJS.Timeout | undefined;

  function newFile(number: number): LogFile {
    const path = join(directory, `${String(number).padStart(8, '0')}.log`);
    return { path, number, bytes: 0, allocatedBytes: 0, open: 0, sinceMs: Number.POSITIVE_INFINITY };
  }

  function removeFrom(file: LogFile, holds = 1): void {
    file.open -= holds;
    if (file.open > 0) {
      return;
    }
    if (file !== current) {
      removeFile(file);
    } else if (!closed && emptying === undefined) {
      emptying = setTimeout(() => {
        emptying = undefined;
        emptyIfAllEnded();
      }, emptyAfterMs);
      emptying.unref();
    }
  }

  function removeFile(file: LogFile): void {
    try {
      rmSync(file.path, { force: true });
    } catch {
      // Ignored: the next start finds the file again and drops its holds, whose ends are in the database.
    }
  }

  function emptyIfAllEnded(): void {
    if (current.open === 0 && cutOffAt(0)) {
      current.sinceMs = Number.POSITIVE_INFINITY;
    }
  }

  /** Truncates the current file to this many bytes. Returns false if that failed. */
  function cutOffAt(bytes: number): boolean {
    try {
      ftruncateSync(descriptor, bytes);
    } catch {
      return false;
    }
    current.bytes = bytes;
    current.allocatedBytes = bytes;
    return true;
  }

  function startNextFile(): void {
    const full = current;
    const next = newFile(full.number + 1);
    // The new file is opened before the old one is closed, so that the number of the descriptor is not reused while the old file is
    // still written to.
    const opened = openSync(next.path, 'w', 0o600);
    closeSync(descriptor);
    current = next;
    descriptor = opened;
    isNameUnsynced = true;
    isTailBroken = false;
    if (full.open === 0) {
      removeFile(full);
    }
  }

  async function writeLine(holds: readonly Hold[]): Promise<LogFile> {
    let admittedAtMs = 0;
    for (const hold of holds) {
      admittedAtMs = Math.max(admittedAtMs, hold.admittedAtMs);
    }
    if (isTailBroken || current.bytes >= fileBytesMax || admittedAtMs - current.sinceMs >= fileAgeMaxMs) {
      startNextFile();
    }
    const file = current;
    file.sinceMs = Math.min(file.sinceMs, admittedAtMs);
    const line = Buffer.from(`${holdsLine(holds)}\n`);
    // The holds are counted first, so that the file is not emptied during the write when its other holds end.
    file.open += holds.length;
    try {
      writeAtEnd(file, line);
      if (durability === 'sync') {
        await syncLine();
      }
    } catch (error) {
      // A failed line must not end up in the middle of the file.
      isTailBroken = !cutOffAt(file.bytes);
      removeFrom(file, holds.length);
      throw error;
    }
    file.bytes += line.length;
    return file;
  }

  function writeAtEnd(file: LogFile, line: Buffer): void {
    const end = file.bytes + line.length;
    if (end <= file.allocatedBytes) {
      writeFully(descriptor, line, file.bytes);
      return;
    }
    const grown = Buffer.alloc(line.length + growthBytes);
    line.copy(grown);
    writeFully(descriptor, grown, file.bytes);
    file.allocatedBytes = end + growthBytes;
  }

  async function syncLine(): Promise<void> {
    await syncData(descriptor);
    if (isNameUnsynced) {
      await syncPath(directory);
      isNameUnsynced = false;
    }
  }

  return {
    async append(holds) {
      if (closed) {
        throw new Error('the hold log is closed');
      }
      try {
        return await writeLine(holds);
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
      const text = readIfPresent(generationPath);
      try {
        return text === undefined ? undefined : (JSON.parse(text) as LogGeneration);
      } catch {
        throw new DamagedGeneration(generationPath);
      }
    },
    writeGeneration(generation) {
      writePrivateFile(generationPath, JSON.stringify(generation), durability);
    },
    close() {
      if (!closed) {
        closed = true;
        clearTimeout(emptying);
        emptyIfAllEnded();
        cutOffAt(current.bytes);
        closeSync(descriptor);
      }
    },
  };
}

function writeFully(descriptor: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(descriptor, bytes, written, bytes.length - written, position + written);
  }
}

export class DamagedHoldLog extends Error {
  constructor(path: string) {
    super(`the hold log ${path} is damaged; to discard the holds in it, move the file away and restart`);
    this.name = 'DamagedHoldLog';
  }
}

/** With `SVC_DURABILITY=os` a power cut can leave the generation file empty. */
export class DamagedGeneration extends Error {
  constructor(path: string) {
    super(
      `the file ${path} is damaged: it says which database the open holds belong to. If neither the database nor the directory \`holds\` ` +
        'was restored from a backup since, move the file away and restart; else move the directory away, which discards the open holds',
    );
    this.name = 'DamagedGeneration';
  }
}

function readHolds(path: string): Hold[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  // After the last newline there is nothing, zeros, or a line cut short by a crash.
  lines.pop();
  if (lines.at(-1)?.includes('\0') === true) {
    // A power cut during the last write can leave zeros inside that line. The lines before it were synced.
    lines.pop();
  }
  try {
    return lines.flatMap(holdsOfLine);
  } catch {
    throw new DamagedHoldLog(path);
  }
}
