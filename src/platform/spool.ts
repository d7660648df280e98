/**
 * Lines that are put aside on disk while they are made, and read back as they can be sent. The file loses its name as soon as
 * it is open: nobody else can open it, and it is gone with its process, however that ends.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceUnavailable } from './service-unavailable.ts';

/** What is read back at a time. Whoever makes something of it keeps everybody else waiting for so long. */
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

  /** Of texts without line breaks. */
  async append(lines: readonly string[]): Promise<void> {
    if (lines.length > 0) {
      const bytes = Buffer.from(`${lines.join('\n')}\n`);
      // A disk that is nearly full takes a part of it, and refuses the next.
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

  /** All of them, some at a time. */
  async *lines(): AsyncGenerator<string[]> {
    const block = Buffer.alloc(blockBytes);
    let rest: Buffer = Buffer.alloc(0);
    for (let at = 0; at < this.#bytes; ) {
      const { bytesRead } = await this.#file.read(block, 0, blockBytes, at);
      if (bytesRead === 0) {
        throw new Error('what was put aside is gone');
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

/** A disk that is full, or that cannot be written to, is away like any other store. */
async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw new ServiceUnavailable(`nothing can be put aside on disk: ${String(error)}`, { cause: error });
  }
}
