/**
 * The bytes of a streamed response on their way to the client: read as events for their usage, and passed on unchanged. Only
 * the chunk with the usage that the client did not request is left out.
 */

import { eventOf, SseReader } from '../sse/sse-reader.ts';
import type { StreamUsage } from '../usage/stream-usage.ts';

export interface RelayFilter {
  /** Returns the bytes to pass on now. */
  push(chunk: Buffer): Buffer;
  /** Returns the remaining bytes at the end of the stream. */
  end(): Buffer;
}

/** `dropUsageChunk`: the gateway has added `include_usage`. Events are then passed on once they are complete. */
export function createRelayFilter(usage: StreamUsage, dropUsageChunk: boolean): RelayFilter {
  const reader = new SseReader();
  return dropUsageChunk ? droppingFilter(reader, usage) : copyingFilter(reader, usage);
}

function copyingFilter(reader: SseReader, usage: StreamUsage): RelayFilter {
  return {
    push(chunk) {
      for (const event of reader.push(chunk)) {
        usage.read(event);
      }
      return chunk;
    },
    end() {
      usage.read(eventOf(reader.rest()));
      return noBytes;
    },
  };
}

function droppingFilter(reader: SseReader, usage: StreamUsage): RelayFilter {
  return {
    push(chunk) {
      if (reader.isOverlong) {
        return chunk;
      }
      const kept: Buffer[] = [];
      for (const event of reader.push(chunk)) {
        if (!usage.read(event)) {
          kept.push(event.raw);
        }
      }
      if (reader.isOverlong) {
        kept.push(reader.rest());
      }
      return kept.length === 1 ? (kept[0] as Buffer) : Buffer.concat(kept);
    },
    end() {
      const rest = reader.rest();
      return rest.length > 0 && usage.read(eventOf(rest)) ? noBytes : rest;
    },
  };
}

const noBytes: Buffer = Buffer.alloc(0);
