import type { Cancellation } from './cancellation.ts';
import type { BodySource } from './response-body.ts';

export interface ReadBody {
  readonly bytes: Buffer;
  /** False if the body was too large, broke off or was cancelled. */
  readonly isWhole: boolean;
}

/** Reads a body into memory, up to a maximum. Never rejects: returns what was received. */
export function readAll(body: BodySource, bytesMax: number, cancellation?: Cancellation): Promise<ReadBody> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let isEnded = false;
    const end = (isWhole: boolean) => {
      if (isEnded) {
        return;
      }
      isEnded = true;
      cancellation?.off(cancel);
      resolve({ bytes: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks), isWhole });
      if (!isWhole) {
        body.destroy();
      }
    };
    const cancel = () => end(false);
    body.read({
      data(chunk) {
        size += chunk.length;
        if (size > bytesMax) {
          end(false);
        } else if (!isEnded) {
          chunks.push(chunk);
        }
      },
      end: () => end(true),
      broken: () => end(false),
    });
    if (!isEnded) {
      cancellation?.onCancel(cancel);
    }
  });
}
