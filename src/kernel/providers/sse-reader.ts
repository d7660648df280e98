/**
 * Splits a stream of server-sent events into events, whatever the boundaries of its chunks are. Each event keeps its bytes, so that
 * it can be forwarded unchanged or dropped. Line breaks are LF, CRLF or CR, as in the HTML standard.
 */
export interface SseEvent<Bytes extends Uint8Array = Uint8Array> {
  /** The bytes of the event, including the empty line that ends it. */
  readonly raw: Bytes;
  /** The value of the last `event` field; empty if there is none. */
  readonly type: string;
  /** The values of all `data` fields, joined by line breaks. */
  readonly data: string;
}

const lf = 0x0a;
const cr = 0x0d;

/** Longer events are not read, only passed on. No known provider sends such events. */
const defaultEventBytesMax = 33_554_432;

/** Byte operations, which the runtime provides. Those of Node's `Buffer` are the fastest, but not every runtime has `Buffer`. */
export interface ByteOperations<Bytes extends Uint8Array> {
  concat(parts: readonly Bytes[]): Bytes;
  decode(bytes: Bytes): string;
}

export class SseReader<Bytes extends Uint8Array> {
  readonly #operations: ByteOperations<Bytes>;
  readonly #eventBytesMax: number;
  /** Bytes of the event that is not complete yet. */
  #pending: Bytes[] = [];
  #pendingBytes = 0;
  /** True at the start of a line of the pending event. */
  #isLineStart = true;
  /** True if the last byte was a CR: a following LF belongs to it. */
  #afterCr = false;
  /** True if the pending event has ended, except that an LF of its last line break may still follow. */
  #endsWithCr = false;
  #isOverlong = false;

  constructor(operations: ByteOperations<Bytes>, eventBytesMax = defaultEventBytesMax) {
    this.#operations = operations;
    this.#eventBytesMax = eventBytesMax;
  }

  /** True once an event was too long. From then on `push` returns nothing: the stream must be passed on unread. */
  get isOverlong(): boolean {
    return this.#isOverlong;
  }

  /** True if the next byte starts an event. */
  get isBetweenEvents(): boolean {
    return this.#pendingBytes === 0 && !this.#afterCr && !this.#isOverlong;
  }

  /** Returns the events that this chunk completes. */
  push(chunk: Bytes): SseEvent<Bytes>[] {
    if (this.#isOverlong) {
      return [];
    }
    const events: SseEvent<Bytes>[] = [];
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (this.#endsWithCr) {
        this.#endsWithCr = false;
        const end = byte === lf ? at + 1 : at;
        events.push(this.#take(chunk.subarray(start, end) as Bytes));
        start = end;
        this.#afterCr = false;
        if (byte === lf) {
          continue;
        }
      }
      if (byte === lf && this.#afterCr) {
        this.#afterCr = false;
      } else if (byte === lf || byte === cr) {
        this.#afterCr = byte === cr;
        if (this.#isLineStart && byte === lf) {
          events.push(this.#take(chunk.subarray(start, at + 1) as Bytes));
          start = at + 1;
        } else if (this.#isLineStart) {
          this.#endsWithCr = true;
        }
        this.#isLineStart = true;
      } else {
        this.#afterCr = false;
        this.#isLineStart = false;
      }
    }
    this.#keep(chunk.subarray(start) as Bytes);
    return events;
  }

  /** Returns the bytes of the incomplete event at the end of the stream. */
  rest(): Bytes {
    const rest = this.#operations.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    return rest;
  }

  #keep(bytes: Bytes): void {
    if (bytes.length === 0) {
      return;
    }
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    this.#isOverlong = this.#pendingBytes > this.#eventBytesMax;
  }

  #take(last: Bytes): SseEvent<Bytes> {
    const raw = this.#pending.length === 0 ? last : this.#operations.concat([...this.#pending, last]);
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#isLineStart = true;
    return eventOf(raw, this.#operations.decode(raw));
  }
}

/** Returns a text without the byte order mark that it may start with. */
export function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/** Parses an event. `text` is the decoded `raw`. */
export function eventOf<Bytes extends Uint8Array>(raw: Bytes, text: string): SseEvent<Bytes> {
  let type = '';
  let data: string | undefined;
  for (const line of withoutMark(text).split(/\r\n|\r|\n/)) {
    if (line.startsWith('{')) {
      // A line of JSON without a field name, which the standard ignores. It may contain usage and output.
      data = data === undefined ? line : `${data}\n${line}`;
      continue;
    }
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    if (name !== 'data' && name !== 'event') {
      continue;
    }
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'event') {
      type = value;
    } else {
      data = data === undefined ? value : `${data}\n${value}`;
    }
  }
  return { raw, type, data: data ?? '' };
}
