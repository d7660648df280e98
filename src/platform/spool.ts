/**
 * Spools lines to a temporary file while they are produced, and reads them back while they are sent. The file is unlinked as soon
 * as it is open. So no other process can open it, and it is freed when its process ends.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceUnavailable } from './service-unavailable.ts';

/** Size of a read. It is small, because processing a block blocks the event loop. */
const blockBytes = 4_096;

export class Spool {
  readonly #file: FileHandle;
  #bytes = 0;

  static async open(directory: string = tmpdir()): Promise<Spool> {
    const name = join(directory, `purser-${randomUUID()}`);
    const file = await onDisk(() => open(name, 'wx+', 0o600));
    try {
      await onDisk(() => unlink(name));
    } catch (error) {
      await file.close();
      throw error;
    }
    return new Spool(file);
  }

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Appends lines, which must not contain line breaks. */
  async append(lines: readonly string[]): Promise<void> {
    if (lines.length > 0) {
      const bytes = Buffer.from(`${lines.join('\n')}\n`);
      // Repeated, because a nearly full disk accepts a part of the bytes and only fails the next write.
      for (let written = 0; written < bytes.length; ) {
        const { bytesWritten } = await onDisk(() => this.#file.write(bytes, written, null, this.#bytes));
        written += bytesWritten;
        this.#bytes += bytesWritten;
      }
    }
  }

  async empty(): Promise<void> {
    await onDisk(() => this.#file.truncate());
    this.#bytes = 0;
  }

  /** Reads all lines back, in batches. */
  async *lines(): AsyncGenerator<string[]> {
    const block = Buffer.alloc(blockBytes);
    let rest: Buffer = Buffer.alloc(0);
    for (let at = 0; at < this.#bytes; ) {
      const { bytesRead } = await this.#file.read(block, 0, blockBytes, at);
      if (bytesRead === 0) {
        throw new Error('the spool file was truncated');
      }
      at += bytesRead;
      const bytes = Buffer.concat([rest, block.subarray(0, bytesRead)]);
      const end = bytes.lastIndexOf(0x0a);
      rest = bytes.subarray(end + 1);
      if (end >= 0) {
        yield bytes.toString('utf8', 0, end).split('\n');
      }
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** Reports a disk that is full or not writable as `ServiceUnavailable`, so that the request can be retried. */
async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw new ServiceUnavailable(`cannot write the spool file: ${String(error)}`, { cause: error });
  }
}
