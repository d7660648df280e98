/** The events of streams of all formats, as tests read and write them. */
import { framings } from '../../src/gateway/stream/framings.ts';
import type { Fields } from '../../src/kernel/providers/fields.ts';
import type { StreamFraming } from '../../src/kernel/providers/stream-framing.ts';
import { dataOf } from '../../src/kernel/providers/stream-usage.ts';

/** Returns the bytes of each whole event. */
export function rawEventsIn(framing: StreamFraming, bytes: Buffer): Buffer[] {
  return framings[framing]
    .createReader()
    .push(bytes)
    .map(({ raw }) => raw);
}

export function eventsIn(framing: StreamFraming, bytes: Buffer): Fields[] {
  return framings[framing].createReader().push(bytes).map(dataOf);
}

export function eventBytes(framing: StreamFraming, event: Fields): Buffer {
  return framing === 'sse'
    ? Buffer.from(`data: ${JSON.stringify(event)}\n\n`)
    : framings[framing].write(JSON.stringify(event));
}
