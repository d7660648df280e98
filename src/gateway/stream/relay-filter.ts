/**
 * The bytes of a streamed response on their way to the client: read as events for their usage, and passed on unchanged, event by
 * event, so that the gateway can end a stream with an event of its own. Only the chunk with the usage that the client did not
 * request is left out.
 */
import { type ByteOperations, eventOf, SseReader } from '../../kernel/providers/sse-reader.ts';
import { dataOf, type StreamUsage } from '../../kernel/providers/stream-usage.ts';
import type { OpenStream } from './open-stream.ts';

export interface RelayFilter {
  /** Returns the bytes to pass on now: those of all complete events. */
  push(chunk: Buffer): Buffer;
  /** Returns the remaining bytes of a stream that the provider has ended; of another one, the incomplete event is dropped. */
  end(isComplete: boolean): Buffer;
}

const noBytes: Buffer = Buffer.alloc(0);
export const bufferOperations: ByteOperations<Buffer> = {
  concat: (parts) => Buffer.concat(parts),
  decode: (bytes) => bytes.toString('utf8'),
};

/** `dropUsageChunk`: the gateway has added `include_usage`. */
export function createRelayFilter(
  usage: StreamUsage,
  open: Pick<OpenStream, 'read'>,
  dropUsageChunk: boolean,
): RelayFilter {
  const reader = new SseReader(bufferOperations);
  return {
    push(chunk) {
      if (reader.isOverlong) {
        return chunk;
      }
      const kept: Buffer[] = [];
      for (const event of reader.push(chunk)) {
        const data = dataOf(event);
        const isUsageChunk = usage.read(data);
        if (!isUsageChunk || !dropUsageChunk) {
          open.read(data);
          kept.push(event.raw);
        }
      }
      if (reader.isOverlong) {
        kept.push(reader.rest());
      }
      return kept.length === 1 ? (kept[0] as Buffer) : Buffer.concat(kept);
    },
    end(isComplete) {
      const rest = reader.rest();
      const isUsageChunk = rest.length > 0 && usage.read(dataOf(eventOf(rest, rest.toString('utf8'))));
      return isComplete && !(isUsageChunk && dropUsageChunk) ? rest : noBytes;
    },
  };
}
