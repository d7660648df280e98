/** Writes bytes in PostgreSQL's encoding: big-endian numbers, lengths before contents. Large buffers are reused. */

const bufferBytes = 262_144;
/** Size from which `take` lends the buffer itself. Smaller contents are copied. */
const lentFromBytes = 65_536;
/** Maximum number of spare buffers: the number in flight when a large batch is written. */
const sparesMax = 4;
const spareBytesMax = 1_048_576;
/** Up to this length, a loop encodes ASCII text faster than `Buffer.write`. */
const shortText = 64;
/** The epoch of PostgreSQL's timestamps, which are in microseconds. */
const epochMs = Date.UTC(2000, 0, 1);
const twoTo32 = 2 ** 32;
const int64Max = 2n ** 63n - 1n;

export class ByteWriter {
  #bytes: Buffer<ArrayBuffer>;
  #view: DataView;
  #at = 0;
  /** Buffers that `take` lent and that were returned. */
  readonly #spares: Buffer<ArrayBuffer>[] = [];

  /** `bytes` is the initial size of the buffer, which grows if necessary. */
  constructor(bytes = bufferBytes) {
    this.#bytes = Buffer.alloc(bytes);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Number of bytes written so far. */
  get length(): number {
    return this.#at;
  }

  /** Discards the written bytes, such as the start of a message that failed. */
  clear(): void {
    this.#at = 0;
    if (this.#bytes.length > spareBytesMax) {
      this.#use(Buffer.alloc(bufferBytes));
    }
  }

  int8(value: number): void {
    this.#reserve(1);
    this.#at = this.#bytes.writeInt8(value, this.#at);
  }

  int16(value: number): void {
    this.#reserve(2);
    this.#view.setInt16(this.#at, value);
    this.#at += 2;
  }

  int32(value: number): void {
    this.#reserve(4);
    // Unlike a DataView, a Buffer throws if the value does not fit.
    this.#at = this.#bytes.writeInt32BE(value, this.#at);
  }

  int64(value: bigint): void {
    this.#reserve(8);
    if (value > int64Max || value < -int64Max - 1n) {
      throw new RangeError('the number does not fit into 64 bits');
    }
    this.#view.setBigInt64(this.#at, value);
    this.#at += 8;
  }

  timestamp(date: Date): void {
    this.#reserve(8);
    // Computed as a number, which is exact for all dates in use and faster than a bigint, and written in two halves.
    const micros = (date.getTime() - epochMs) * 1_000;
    if (Number.isNaN(micros)) {
      throw new RangeError('the date is invalid');
    }
    const high = Math.floor(micros / twoTo32);
    this.#view.setInt32(this.#at, high);
    this.#view.setUint32(this.#at + 4, micros - high * twoTo32);
    this.#at += 8;
  }

  utf8(text: string): void {
    // A UTF-16 code unit takes at most three bytes. The exact length is only computed near the end of the buffer.
    if (this.#at + 3 * text.length > this.#bytes.length) {
      this.#reserve(Buffer.byteLength(text));
    }
    this.#at += this.#shortAscii(text) ?? this.#bytes.write(text, this.#at);
  }

  /**
   * Writes a short ASCII text and returns its length. Returns undefined for any other text; bytes that it has written so far are
   * overwritten later.
   */
  #shortAscii(text: string): number | undefined {
    const { length } = text;
    if (length > shortText) {
      return undefined;
    }
    for (let i = 0; i < length; i += 1) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) {
        return undefined;
      }
      this.#bytes[this.#at + i] = code;
    }
    return length;
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Reserves space for a length. Returns the position that `end` needs to fill in the length. */
  begin(): number {
    this.int32(0);
    return this.#at;
  }

  /** Fills in the number of bytes written since `begin`. `more` is added if the length includes itself. */
  end(begun: number, more = 0): void {
    this.#view.setInt32(begun - 4, this.#at - begun + more);
  }

  /** Returns the written bytes in a buffer that can be transferred to another thread. `bringBack` makes a large buffer available again. */
  take(): Uint8Array<ArrayBuffer> {
    const written = this.#bytes.subarray(0, this.#at);
    if (this.#at < lentFromBytes) {
      return new Uint8Array(written);
    }
    this.#use(this.#spares.pop() ?? Buffer.alloc(bufferBytes));
    return written;
  }

  /** Returns the written bytes without a copy. The writer must not be used afterwards. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#at);
  }

  /** Makes a buffer available again that `take` lent. */
  bringBack(buffer: ArrayBuffer): void {
    const { byteLength } = buffer;
    if (this.#spares.length < sparesMax && byteLength >= bufferBytes && byteLength <= spareBytesMax) {
      this.#spares.push(Buffer.from(buffer));
    }
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(2 * this.#bytes.length, this.#at + bytes));
      this.#bytes.copy(larger, 0, 0, this.#at);
      this.#use(larger);
    }
  }

  #use(bytes: Buffer<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}
