/**
 * A spool of lines in a directory, which survives the process. A line is on disk before `append` resolves. It is also synced,
 * unless that is left to the operating system. Lines are written to segment files in groups. A segment is deleted once all of its
 * lines were released.
 *
 * Several processes may share the directory. Each writes to its own segments, whose names identify the process. Segments of an
 * ended process are taken over by renaming them. A process in another container or on another host cannot be looked up, so its
 * segments are taken over once they have not been written to for a minute. That is safe even if it is alive: the new owner renames
 * a file before it reads it, and the old owner checks after each write that the file is still at its path. If it is not, the old
 * owner writes the same lines to a new segment. So a line may be read twice, but is never lost, and readers must be idempotent.
 */
import { createHash, randomUUID } from 'node:crypto';
import { statSync, writeSync } from 'node:fs';
import {
  appendFile,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { Durability } from './files/durable-files.ts';
import { processRealm, processStart } from './process-identity.ts';
import { ServiceUnavailable } from './service-unavailable.ts';

/** A file of the spool. Callers only use it to release its lines. */
export interface Segment {
  path: string;
  bytes: number;
  /** Number of lines that were not released yet. */
  lines: number;
}

interface OpenSegment extends Segment {
  readonly file: FileHandle;
  readonly inode: bigint;
}

export interface SpooledLine {
  readonly text: string;
  readonly segment: Segment;
}

export interface DurableSpoolOptions {
  /** Default: `sync`. With `os` a line survives the end of the process, but may be lost in a power cut. */
  readonly durability?: Durability;
  readonly segmentBytesMax?: number;
}

interface QueuedLine {
  readonly text: string;
  resolve(segment: Segment): void;
  reject(error: Error): void;
}

const defaultSegmentBytesMax = 8 * 1_024 * 1_024;
const idleMs = 60_000;
const extension = '.spool';
const rejectedFile = 'rejected.ndjson';
const noOwner = 'none';
/**
 * Maximum attempts to write lines. An attempt is repeated if its segment was taken over during the write, which happens once at
 * most in practice.
 */
const writeAttempts = 3;

export class DurableSpool {
  readonly #directory: string;
  readonly #durability: Durability;
  readonly #segmentBytesMax: number;
  readonly #instance = randomUUID();
  #segments = 0;
  #current: OpenSegment | undefined;
  #queue: QueuedLine[] = [];
  #flushing: Promise<void> | undefined;
  /** Segments with lines that were not released yet. */
  readonly #unreleased = new Set<Segment>();

  constructor(
    directory: string,
    { durability = 'sync', segmentBytesMax = defaultSegmentBytesMax }: DurableSpoolOptions = {},
  ) {
    this.#directory = directory;
    this.#durability = durability;
    this.#segmentBytesMax = segmentBytesMax;
  }

  /**
   * Appends a line, which must not contain line breaks. Resolves once the line is durable; rejects with `ServiceUnavailable` if it
   * cannot be made durable.
   */
  append(text: string): Promise<Segment> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ text, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  /** Releases lines of a segment. The file is deleted when its last line is released. */
  async release(segment: Segment, lines = 1): Promise<void> {
    segment.lines -= lines;
    if (segment.lines === 0 && segment !== this.#current) {
      await this.#remove(segment);
    } else if (segment.lines === 0 && this.#flushing === undefined) {
      // With `os`, lines are appended and released often, and a new file would cost more than a line.
      this.#flushing = this.#durability === 'os' ? this.#emptyCurrent() : this.#retireCurrent();
      await this.#flushing;
      await this.#writeQueue();
    }
  }

  /**
   * Takes over segments of ended processes, up to this size in total, and returns their lines. An incomplete last line is dropped,
   * because it was never acknowledged.
   */
  async takeOver(roomBytes: number): Promise<SpooledLine[]> {
    const lines: SpooledLine[] = [];
    let room = roomBytes;
    for (const name of await this.#listSegments()) {
      const path = join(this.#directory, name);
      const found = await stat(path).catch(ignoreMissing);
      if (found !== undefined && found.size <= room && isAbandoned(name, found.mtimeMs)) {
        room -= found.size;
        lines.push(...(await this.#takeOverOne(path)));
      }
    }
    return lines;
  }

  /** Stores a line that cannot be processed, with the reason, for an operator. */
  async setAside(line: string, reason: string): Promise<void> {
    const record = JSON.stringify({ at: new Date().toISOString(), reason, line });
    const path = join(this.#directory, rejectedFile);
    try {
      await appendFile(path, `${record}\n`, { mode: 0o600, flush: true });
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Waits for lines that are being written. The next process can take over the remaining segments immediately. */
  async close(): Promise<void> {
    await this.#flushing;
    await this.#retireCurrent();
    for (const segment of this.#unreleased) {
      await rename(segment.path, this.#pathOf(noOwner)).catch(ignoreMissing);
    }
    this.#unreleased.clear();
  }

  async #emptyCurrent(): Promise<void> {
    const segment = this.#current;
    try {
      await segment?.file.truncate(0);
      if (segment !== undefined) {
        segment.bytes = 0;
      }
    } catch {
      await this.#retireCurrent();
    }
  }

  async #flush(): Promise<void> {
    // Lines of the same turn of the event loop are written together, as are lines that arrive during a write.
    await new Promise((resolve) => setImmediate(resolve));
    await this.#writeQueue();
  }

  async #writeQueue(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        const segment = await this.#write(batch.map(({ text }) => text));
        for (const { resolve } of batch) {
          resolve(segment);
        }
      } catch (error) {
        for (const { reject } of batch) {
          reject(unavailable(error));
        }
      }
    }
    this.#flushing = undefined;
  }

  async #write(texts: readonly string[]): Promise<Segment> {
    const bytes = Buffer.from(`${texts.join('\n')}\n`);
    for (let attempt = 1; attempt <= writeAttempts; attempt += 1) {
      const segment = await this.#writableSegment();
      let inPlace: boolean;
      try {
        if (this.#durability === 'sync') {
          await writeFully(segment.file, bytes, segment.bytes);
          await segment.file.datasync();
        } else {
          // Synchronous: copying to the page cache takes less time than starting a thread of the pool.
          writeFullySync(segment.file.fd, bytes, segment.bytes);
        }
        inPlace = isInPlace(segment);
      } catch (error) {
        // Removes a partial line. The file is not used any more, because its state on disk is unknown after a failed sync.
        await segment.file.truncate(segment.bytes).catch(() => undefined);
        await this.#retireCurrent();
        throw error;
      }
      if (inPlace) {
        segment.bytes += bytes.length;
        segment.lines += texts.length;
        this.#unreleased.add(segment);
        return segment;
      }
      await this.#retireCurrent();
    }
    throw new Error('other processes keep taking over its files');
  }

  async #writableSegment(): Promise<OpenSegment> {
    if (this.#current !== undefined && this.#current.bytes >= this.#segmentBytesMax) {
      await this.#retireCurrent();
    }
    this.#current ??= await this.#createSegment();
    return this.#current;
  }

  async #createSegment(): Promise<OpenSegment> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const path = this.#pathOf(ownerTag());
    const file = await open(path, 'wx', 0o600);
    const { ino: inode } = await file.stat({ bigint: true });
    await syncDirectory(this.#directory);
    return { path, file, inode, bytes: 0, lines: 0 };
  }

  /** Stops writing to the current segment. Deletes it if all of its lines were released. */
  async #retireCurrent(): Promise<void> {
    const segment = this.#current;
    this.#current = undefined;
    if (segment !== undefined) {
      await segment.file.close().catch(() => undefined);
      if (segment.lines === 0) {
        await this.#remove(segment);
      }
    }
  }

  /** Deletes a segment. If that fails, a later process reads its lines again, which readers tolerate. */
  async #remove(segment: Segment): Promise<void> {
    this.#unreleased.delete(segment);
    await rm(segment.path, { force: true }).catch(() => undefined);
  }

  async #takeOverOne(path: string): Promise<SpooledLine[]> {
    const segment: Segment = { path: this.#pathOf(ownerTag()), bytes: 0, lines: 0 };
    try {
      await rename(path, segment.path);
    } catch (error) {
      // Another process has taken over the segment first.
      ignoreMissing(error);
      return [];
    }
    const texts = (await readFile(segment.path, 'utf8')).split('\n');
    texts.pop();
    segment.lines = texts.length;
    if (texts.length === 0) {
      await rm(segment.path, { force: true });
    } else {
      this.#unreleased.add(segment);
    }
    return texts.map((text) => ({ text, segment }));
  }

  async #listSegments(): Promise<string[]> {
    const names = (await readdir(this.#directory).catch(ignoreMissing)) ?? [];
    return names.filter((name) => name.endsWith(extension) && !name.startsWith(this.#instance)).sort();
  }

  #pathOf(owner: string): string {
    this.#segments += 1;
    return join(this.#directory, `${this.#instance}.${this.#segments}.${owner}${extension}`);
  }
}

function unavailable(error: unknown): ServiceUnavailable {
  return new ServiceUnavailable(`cannot write the spool: ${String(error)}`, { cause: error });
}

/** Identifies this process: `<realm>-<pid>-<start>`. */
function ownerTag(): string {
  return `${digest(processRealm())}-${process.pid}-${digest(processStart(process.pid) ?? '')}`;
}

function isAbandoned(name: string, writtenAtMs: number): boolean {
  const owner = name.slice(0, -extension.length).split('.').at(-1) ?? '';
  const [realm, pid, start] = owner.split('-');
  if (owner === noOwner) {
    return true;
  }
  if (realm !== digest(processRealm())) {
    return Date.now() - writtenAtMs >= idleMs;
  }
  const startOfOwner = processStart(Number(pid));
  return startOfOwner === undefined || digest(startOfOwner) !== start;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

async function writeFully(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, null, position + written);
    written += bytesWritten;
  }
}

function writeFullySync(descriptor: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(descriptor, bytes, written, null, position + written);
  }
}

function isInPlace({ path, inode }: OpenSegment): boolean {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino === inode;
}

/** Syncs a directory. A new file only survives a power cut once its directory entry is synced. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
    throw error;
  }
}
