/**
 * Event streams of AWS (`application/vnd.amazon.eventstream`): binary frames with headers, a payload and checksums. Written here, and not
 * taken from the SDK, because frames are forwarded with their own bytes, which its decoders drop.
 */
import type { SseEvent } from '../../kernel/providers/sse-reader.ts';

export interface StreamFrame {
  /** Headers whose value is a text. */
  readonly headers: ReadonlyMap<string, string>;
  readonly payload: Buffer;
}

/** Splits a stream into events. `SseReader` is the one of server-sent events. */
export interface EventReader {
  /** Returns the events that this chunk completes. */
  push(chunk: Buffer): SseEvent<Buffer>[];
  /** True once the stream cannot be read any further. `push` returns nothing then. */
  readonly isBroken: boolean;
}

/** Lengths and their checksum. */
const preludeBytes = 12;
const checksumBytes = 4;
/** The largest frame by the documentation: 16 MiB of payload and 128 KiB of headers. */
const frameBytesMax = 16 * 1_048_576 + 128 * 1_024 + preludeBytes + checksumBytes;

export class FrameReader implements EventReader {
  readonly #dataOf: (frame: StreamFrame) => string;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Length of the frame that has begun; undefined until its prelude is complete. */
  #length: number | undefined;
  isBroken = false;

  /** `dataOf` returns the data of an event. */
  constructor(dataOf: (frame: StreamFrame) => string) {
    this.#dataOf = dataOf;
  }

  push(chunk: Buffer): SseEvent<Buffer>[] {
    const events: SseEvent<Buffer>[] = [];
    let rest = chunk;
    while (rest.length > 0 && !this.isBroken) {
      const missing = (this.#length ?? preludeBytes) - this.#bytes;
      this.#parts.push(rest.subarray(0, missing));
      this.#bytes += Math.min(missing, rest.length);
      rest = rest.subarray(missing);
      if (this.#length === undefined && this.#bytes === preludeBytes) {
        this.#readPrelude();
      } else if (this.#bytes === this.#length) {
        this.#readFrame(events);
      }
    }
    return events;
  }

  #taken(): Buffer {
    const taken = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
    this.#parts = [taken];
    return taken;
  }

  #readPrelude(): void {
    const length = lengthOf(this.#taken());
    if (length === undefined) {
      this.#break();
    } else {
      this.#length = length;
    }
  }

  #readFrame(events: SseEvent<Buffer>[]): void {
    const raw = this.#taken();
    const frame = frameOf(raw);
    if (frame === undefined) {
      this.#break();
      return;
    }
    this.#parts = [];
    this.#bytes = 0;
    this.#length = undefined;
    events.push({ raw, type: '', data: this.#dataOf(frame) });
  }

  #break(): void {
    this.isBroken = true;
    this.#parts = [];
  }
}

/** Returns the length of a frame by its prelude; undefined if it is damaged or too long. */
function lengthOf(prelude: Buffer): number | undefined {
  const length = prelude.readUInt32BE(0);
  const isValid =
    length >= preludeBytes + checksumBytes + prelude.readUInt32BE(4) &&
    length <= frameBytesMax &&
    checksum(prelude, 8) === prelude.readUInt32BE(8);
  return isValid ? length : undefined;
}

function frameOf(raw: Buffer): StreamFrame | undefined {
  const end = raw.length - checksumBytes;
  if (checksum(raw, end) !== raw.readUInt32BE(end)) {
    return undefined;
  }
  const payloadStart = preludeBytes + raw.readUInt32BE(4);
  const headers = headersIn(raw.subarray(preludeBytes, payloadStart));
  return headers && { headers, payload: raw.subarray(payloadStart, end) };
}

/** Bytes of the values of the types of headers; undefined: a length of two bytes precedes the value. */
const valueBytes: readonly (number | undefined)[] = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16];
const textType = 7;

function headersIn(bytes: Buffer): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>();
  let at = 0;
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] as number);
    const type = bytes[nameEnd];
    if (type === undefined || type >= valueBytes.length) {
      return undefined;
    }
    const fixed = valueBytes[type];
    const start = nameEnd + (fixed === undefined ? 3 : 1);
    if (start > bytes.length) {
      return undefined;
    }
    const end = start + (fixed ?? bytes.readUInt16BE(nameEnd + 1));
    if (end > bytes.length) {
      return undefined;
    }
    if (type === textType) {
      headers.set(bytes.toString('utf8', at + 1, nameEnd), bytes.toString('utf8', start, end));
    }
    at = end;
  }
  return headers;
}

/** Returns the bytes of a frame with these headers. */
export function writeFrame(headers: Readonly<Record<string, string>>, payload: Buffer): Buffer {
  const head = Buffer.concat(Object.entries(headers).flatMap(([name, value]) => headerOf(name, value)));
  const frame = Buffer.alloc(preludeBytes + head.length + payload.length + checksumBytes);
  frame.writeUInt32BE(frame.length, 0);
  frame.writeUInt32BE(head.length, 4);
  frame.writeUInt32BE(checksum(frame, 8), 8);
  head.copy(frame, preludeBytes);
  payload.copy(frame, preludeBytes + head.length);
  frame.writeUInt32BE(checksum(frame, frame.length - checksumBytes), frame.length - checksumBytes);
  return frame;
}

function headerOf(name: string, value: string): Buffer[] {
  const [nameBytes, text] = [Buffer.from(name), Buffer.from(value)];
  const length = Buffer.from([textType, text.length >> 8, text.length & 0xff]);
  return [Buffer.from([nameBytes.length]), nameBytes, length, text];
}

const checksums = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) {
    rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  }
  return rest >>> 0;
});

/** Returns the CRC-32 of the first bytes. */
function checksum(bytes: Buffer, length: number): number {
  let rest = 0xffffffff;
  for (let at = 0; at < length; at += 1) {
    rest = (rest >>> 8) ^ (checksums[(rest ^ (bytes[at] as number)) & 0xff] as number);
  }
  return (rest ^ 0xffffffff) >>> 0;
}

/** Returns the payload of a frame as text; an empty object if it has none. */
export function textOf({ payload }: StreamFrame): string {
  return payload.length === 0 ? '{}' : payload.toString('utf8');
}
