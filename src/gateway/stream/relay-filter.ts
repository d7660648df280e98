/**
 * The bytes of a streamed response on their way to the client: read as events for their usage, and passed on unchanged, event by
 * event, so that the gateway can end a stream with an event of its own. Only the chunk with the usage that the client did not
 * request is left out.
 */
import type { ResponseFormat } from '../../kernel/providers/call-format.ts';
import type { OpenStream } from '../../kernel/providers/open-stream.ts';
import { type ByteOperations, eventOf, SseReader } from '../../kernel/providers/sse-reader.ts';
import { dataOf, type OutputBound, type StreamUsage } from '../../kernel/providers/stream-usage.ts';
import { bytesOf } from '../usage/output-bound.ts';
import { RepeatedDelta } from './repeated-delta.ts';

export interface RelayFilter {
  /** From now on events are only read for their usage: `push` returns nothing. */
  stopPassing(): void;
  /** Returns the bytes to pass on now: those of all complete events. */
  push(chunk: Buffer): Buffer;
  /** Returns the remaining bytes of a stream that the provider has ended; of another one, the incomplete event is dropped. */
  end(isComplete: boolean): Buffer;
}

const noBytes: Buffer = Buffer.alloc(0);
const emptyLine = '\n\n';
export const bufferOperations: ByteOperations<Buffer> = {
  concat: (parts) => Buffer.concat(parts),
  decode: (bytes) => bytes.toString('utf8'),
};

export interface RelayFilterOptions {
  readonly usage: StreamUsage;
  readonly open: Pick<OpenStream, 'read'>;
  readonly format: ResponseFormat;
  readonly bound: OutputBound;
  /** True if the gateway has added `include_usage`. */
  readonly dropUsageChunk: boolean;
}

export function createRelayFilter({
  usage,
  open,
  format,
  bound,
  dropUsageChunk,
}: RelayFilterOptions): RelayFilter {
  const reader = new SseReader(bufferOperations);
  const repeated = new RepeatedDelta(format);
  let isPassing = true;
  const boundOf =
    bound === bytesOf
      ? (_: Buffer, start: number, end: number) => end - start
      : (chunk: Buffer, start: number, end: number) => bound(chunk.toString('utf8', start, end));

  /** Counts the output of the events that repeat an earlier one. Returns the position after them. */
  function skipRepeated(chunk: Buffer, start: number): number {
    let at = start;
    while (at < chunk.length) {
      const event = repeated.find(chunk, at);
      if (event === undefined) {
        break;
      }
      usage.addOutput(boundOf(chunk, event.textStart, event.textEnd));
      at = event.end;
    }
    return at;
  }

  return {
    stopPassing() {
      isPassing = false;
    },
    push(chunk) {
      if (reader.isOverlong) {
        return isPassing ? chunk : noBytes;
      }
      const kept: Buffer[] = [];
      /** True while the bytes to pass on are those of the chunk. */
      let isUnchanged = reader.isBetweenEvents;
      for (let at = 0; at < chunk.length && !reader.isOverlong; ) {
        const skipped = reader.isBetweenEvents ? skipRepeated(chunk, at) : at;
        if (skipped > at) {
          kept.push(chunk.subarray(at, skipped));
        }
        // One event after the other, since each may be the one that those after it repeat.
        const boundary = chunk.indexOf(emptyLine, skipped);
        at = boundary === -1 ? chunk.length : boundary + emptyLine.length;
        for (const event of reader.push(chunk.subarray(skipped, at))) {
          const data = dataOf(event);
          const isUsageChunk = usage.read(data);
          if (isUsageChunk && dropUsageChunk) {
            isUnchanged = false;
          } else if (isPassing) {
            open.read(data);
            repeated.learn(event.raw, data);
            kept.push(event.raw);
          }
        }
      }
      if (reader.isOverlong) {
        usage.markUnread();
        kept.push(reader.rest());
      }
      if (!isPassing) {
        return noBytes;
      }
      if (isUnchanged && reader.isBetweenEvents) {
        return chunk;
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
