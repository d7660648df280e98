import type { Readable } from 'node:stream';

export interface ReadBody {
  readonly bytes: Buffer;
  /** False if the body was too large, broke off, or was aborted. */
  readonly isWhole: boolean;
}

/** Reads a body into memory, up to a maximum. Never rejects: what was received is returned. */
export function readAll(body: Readable, bytesMax: number, signal?: AbortSignal): Promise<ReadBody> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = (isWhole: boolean) => {
      signal?.removeEventListener('abort', abort);
      resolve({ bytes: Buffer.concat(chunks), isWhole });
      if (!isWhole) {
        body.destroy();
      }
    };
    const abort = () => end(false);
    body.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > bytesMax) {
        end(false);
      } else {
        chunks.push(chunk);
      }
    });
    body.once('end', () => end(true));
    body.on('error', () => end(false));
    body.once('close', () => end(false));
    if (signal?.aborted === true) {
      abort();
    } else {
      signal?.addEventListener('abort', abort);
    }
  });
}
