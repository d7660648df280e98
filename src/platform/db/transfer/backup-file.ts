/**
 * The backup file: a first line with the format, frames, and the SHA-256 of everything before it. A frame consists of two lengths
 * (32 bits each, big-endian), JSON, and data. The data is compressed unless the JSON says otherwise. The file is written under a
 * temporary name, synced and renamed, so that a file with the final name is complete. A reader checks the digest of the whole file
 * before it uses any content.
 */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { TransferFrame, TransferHeader, TransferSource } from './frames.ts';

const compress = promisify(deflateRaw);
const decompress = promisify(inflateRaw);
/** Three times as fast as the default level, for files that are a tenth larger. */
const compression = { level: 2 };

const formatVersion = 1;
const firstLine = `purser-backup ${formatVersion}\n`;
const digestBytes = 32;
const lengthsBytes = 8;
/** Maximum size of the data of a frame. A larger frame is damaged. */
const frameBytesMax = 1_024 * 1_024 * 1_024;

type StoredFrame =
  | { readonly kind: 'header'; readonly header: TransferHeader }
  | { readonly kind: 'rows'; readonly table: string; readonly rows: number; readonly compressed: boolean }
  | { readonly kind: 'holds'; readonly compressed: boolean }
  | Extract<TransferFrame, { kind: 'end' }>;

export class BackupFileError extends Error {
  override readonly name = 'BackupFileError';
}

export interface WriteOptions {
  readonly compressed: boolean;
  /** True if an existing file may be replaced. */
  readonly replace: boolean;
  onFrame?(frame: TransferFrame): void;
}

export async function writeBackupFile(
  path: string,
  source: TransferSource,
  { compressed, replace, onFrame }: WriteOptions,
): Promise<{ readonly bytes: number }> {
  const draft = `${path}.${randomUUID()}.partial`;
  const file = await open(draft, 'wx', 0o600);
  const digest = createHash('sha256');
  let bytes = 0;
  async function write(data: Uint8Array): Promise<void> {
    digest.update(data);
    bytes += data.length;
    await file.writeFile(data);
  }
  async function writeFrame(frame: StoredFrame, data: Uint8Array = new Uint8Array()): Promise<void> {
    const stored = 'compressed' in frame && frame.compressed ? await compress(data, compression) : data;
    const json = Buffer.from(JSON.stringify(frame));
    const lengths = Buffer.alloc(lengthsBytes);
    lengths.writeUInt32BE(json.length, 0);
    lengths.writeUInt32BE(stored.length, 4);
    await write(Buffer.concat([lengths, json]));
    await write(stored);
  }
  try {
    await write(Buffer.from(firstLine));
    await writeFrame({ kind: 'header', header: source.header });
    for await (const frame of source.frames()) {
      if (frame.kind === 'rows') {
        const { table, rows } = frame;
        await writeFrame({ kind: 'rows', table, rows, compressed }, frame.data);
      } else if (frame.kind === 'holds') {
        await writeFrame({ kind: 'holds', compressed }, Buffer.from(JSON.stringify(frame.records)));
      } else {
        await writeFrame(frame);
      }
      onFrame?.(frame);
    }
    await file.writeFile(digest.digest());
    await file.sync();
    await file.close();
    await publish(draft, path, replace);
  } catch (error) {
    await file.close().catch(() => undefined);
    await unlink(draft).catch(() => undefined);
    throw error;
  }
  return { bytes: bytes + digestBytes };
}

/** Gives the file its final name. `link` does not replace a file that was created in the meantime. */
async function publish(draft: string, path: string, replace: boolean): Promise<void> {
  if (replace) {
    await rename(draft, path);
  } else {
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EEXIST' ? fileExists(path) : error;
    });
    await unlink(draft);
  }
  const directory = await open(dirname(path), 'r');
  await directory.sync();
  await directory.close();
}

export function fileExists(path: string): BackupFileError {
  return new BackupFileError(`${path} already exists; choose another name, or pass --force to replace it`);
}

/** Verifies the whole file, then returns its content. The caller must close the source. */
export async function openBackupFile(
  path: string,
): Promise<TransferSource & { readonly bytes: number; close(): Promise<void> }> {
  const bytes = await verifyDigest(path);
  const file = await open(path, 'r');
  try {
    const start = Buffer.byteLength(firstLine);
    const first = await readFrame(path, file, start);
    if (first.frame.kind !== 'header') {
      throw damaged(path);
    }
    return {
      header: first.frame.header,
      bytes,
      async *frames(from = 0) {
        let index = 0;
        for (let at = first.next; at < bytes - digestBytes; index += 1) {
          const { frame, data, next } = await readFrame(path, file, at);
          at = next;
          if (index >= from || frame.kind === 'end') {
            yield await restored(path, frame, data);
          }
        }
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function restored(path: string, frame: StoredFrame, data: Buffer): Promise<TransferFrame> {
  switch (frame.kind) {
    case 'header':
      throw damaged(path);
    case 'end':
      return frame;
    case 'rows': {
      const { kind, table, rows } = frame;
      return { kind, table, rows, data: frame.compressed ? await decompress(data) : data };
    }
    case 'holds': {
      const json = frame.compressed ? await decompress(data) : data;
      return { kind: 'holds', records: JSON.parse(json.toString('utf8')) as string[] };
    }
  }
}

async function readFrame(
  path: string,
  file: FileHandle,
  at: number,
): Promise<{ readonly frame: StoredFrame; readonly data: Buffer; readonly next: number }> {
  const lengths = await readFully(path, file, at, lengthsBytes);
  const jsonBytes = lengths.readUInt32BE(0);
  const dataBytes = lengths.readUInt32BE(4);
  if (jsonBytes > frameBytesMax || dataBytes > frameBytesMax) {
    throw damaged(path);
  }
  const json = await readFully(path, file, at + lengthsBytes, jsonBytes);
  const data = await readFully(path, file, at + lengthsBytes + jsonBytes, dataBytes);
  const frame = JSON.parse(json.toString('utf8')) as StoredFrame;
  return { frame, data, next: at + lengthsBytes + jsonBytes + dataBytes };
}

async function readFully(path: string, file: FileHandle, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  for (let done = 0; done < length; ) {
    const { bytesRead } = await file.read(buffer, done, length - done, at + done);
    if (bytesRead === 0) {
      throw damaged(path);
    }
    done += bytesRead;
  }
  return buffer;
}

function damaged(path: string): BackupFileError {
  return new BackupFileError(`${path} is damaged`);
}

/** Returns the size of the file, or throws if its digest does not match its content. */
async function verifyDigest(path: string): Promise<number> {
  const digest = createHash('sha256');
  let size = 0;
  let tail = Buffer.alloc(0);
  const input = createReadStream(path, { highWaterMark: 1_048_576 });
  await once(input, 'open');
  for await (const chunk of input as AsyncIterable<Buffer>) {
    const known = Buffer.concat([tail, chunk]);
    if (size === 0) {
      requireFormat(path, known);
    }
    size += chunk.length;
    digest.update(known.subarray(0, Math.max(0, known.length - digestBytes)));
    tail = known.subarray(Math.max(0, known.length - digestBytes));
  }
  if (size < firstLine.length + digestBytes || !digest.digest().equals(tail)) {
    throw new BackupFileError(
      `${path} is not complete, or was changed: its content does not match its SHA-256. Nothing was restored.`,
    );
  }
  return size;
}

function requireFormat(path: string, start: Buffer): void {
  const line = start.subarray(0, 40).toString('latin1');
  const version = /^purser-backup (\d+)\n/.exec(line)?.[1];
  if (version === undefined) {
    throw new BackupFileError(`${path} is not a backup of Purser`);
  }
  if (Number(version) > formatVersion) {
    throw new BackupFileError(`${path} was written by a newer version of Purser; use that version`);
  }
}
