/**
 * Filters the bytes of a streamed response for the client. Events are read for their usage and forwarded unchanged one by one, so
 * that the gateway can end a stream with its own event. Only the usage chunk that the client did not request is dropped.
 */
import type { ResponseFormat } from '../../kernel/providers/call-format.ts';
import type { OpenStream } from '../../kernel/providers/open-stream.ts';
import { eventOf, SseReader } from '../../kernel/providers/sse-reader.ts';
import { dataOf, type OutputBound, type StreamUsage } from '../../kernel/providers/stream-usage.ts';
import { bytesOf } from '../usage/output-bound.ts';
import { bufferOperations } from './framings.ts';
import { RepeatedDelta } from './repeated-delta.ts';

export interface RelayFilter {
  /** True once the stream cannot be read any further. It is then ended as one that broke off. */
  readonly isBroken?: boolean;
  /** Makes `push` return nothing from now on. Events are then only read for their usage. */
  stopPassing(): void;
  /** Returns the bytes to forward now: all complete events. */
  push(chunk: Buffer): Buffer;
  /** Returns the remaining bytes if the provider has ended the stream. Otherwise the incomplete event is dropped. */
  end(isComplete: boolean): Buffer;
}

const noBytes: Buffer = Buffer.alloc(0);
const emptyLine = '\n\n';

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

  /** Counts the output of events that repeat an earlier one. Returns the position after them. */
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
      /** True while the bytes to forward are exactly those of the chunk. */
      let isUnchanged = reader.isBetweenEvents;
      for (let at = 0; at < chunk.length && !reader.isOverlong; ) {
        const skipped = reader.isBetweenEvents ? skipRepeated(chunk, at) : at;
        if (skipped > at) {
          kept.push(chunk.subarray(at, skipped));
        }
        // Events are processed one by one, because the next events may repeat any of them.
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
