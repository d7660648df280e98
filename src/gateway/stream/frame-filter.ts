/**
 * Filters a stream that is not forwarded as server-sent events are (`relay-filter.ts`): its events are frames, or the client reads them in
 * another framing than the provider writes them.
 */
import type { OpenStream } from '../../kernel/providers/open-stream.ts';
import type { StreamFraming } from '../../kernel/providers/stream-framing.ts';
import { dataOf, type StreamUsage } from '../../kernel/providers/stream-usage.ts';
import type { KeyRedaction } from '../forward/key-redaction.ts';
import { dataInEvents, framings } from './framings.ts';
import type { RelayFilter } from './relay-filter.ts';

export interface FrameFilterOptions {
  readonly usage: StreamUsage;
  readonly open: Pick<OpenStream, 'read'>;
  /** The framing of the provider, and that of the client. */
  readonly from: StreamFraming;
  readonly to: StreamFraming;
  readonly redaction: Pick<KeyRedaction, 'text'>;
}

const noBytes: Buffer = Buffer.alloc(0);

export function createFrameFilter({ usage, open, from, to, redaction }: FrameFilterOptions): RelayFilter {
  const reader = framings[from].createReader();
  let isPassing = true;
  return {
    get isBroken() {
      return reader.isBroken;
    },
    stopPassing() {
      isPassing = false;
    },
    push(chunk) {
      const kept: Buffer[] = [];
      for (const { raw, data } of reader.push(chunk)) {
        const fields = dataOf({ data });
        usage.read(fields);
        if (isPassing) {
          open.read(fields);
          const shown = redaction.text(data);
          kept.push(from === to && shown === data ? raw : framings[to].write(shown));
        }
      }
      if (reader.isBroken) {
        usage.markUnread();
      }
      return kept.length === 1 ? (kept[0] as Buffer) : Buffer.concat(kept);
    },
    // Bytes after the last event are a part of one.
    end: () => noBytes,
  };
}

/** Returns server-sent events in a framing. */
export function framedEvents(events: string, framing: StreamFraming): Buffer {
  return framing === 'sse'
    ? Buffer.from(events)
    : Buffer.concat(dataInEvents(events).map((data) => framings[framing].write(data)));
}
