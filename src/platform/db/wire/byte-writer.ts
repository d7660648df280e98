/** Writes bytes as PostgreSQL reads them, into buffers that are used over and over again. */

const bufferBytes = 262_144;
/** From here on a buffer is lent as it is; below, what is in it is copied. */
const lentFromBytes = 65_536;
/** As many as are under way at once when a large batch is written. */
const sparesMax = 4;
const spareBytesMax = 1_048_576;
/** Up to here a loop is quicker than the call that encodes any text. */
const shortText = 64;
/** PostgreSQL counts microseconds from here. */
const epochMs = Date.UTC(2000, 0, 1);
const twoTo32 = 2 ** 32;
const int64Max = 2n ** 63n - 1n;

export class ByteWriter {
  #bytes = Buffer.alloc(bufferBytes);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;
  /** Lent before, and brought back. */
  readonly #spares: Buffer<ArrayBuffer>[] = [];

  /** How much is written by now. */
  get length(): number {
    return this.#at;
  }

  /** Whatever was begun and given up before. */
  clear(): void {
    this.#at = 0;
    if (this.#bytes.length > spareBytesMax) {
      this.#use(Buffer.alloc(bufferBytes));
    }
  }

  int8(value: number): void {
    this.#room(1);
    this.#at = this.#bytes.writeInt8(value, this.#at);
  }

  int16(value: number): void {
    this.#room(2);
    this.#view.setInt16(this.#at, value);
    this.#at += 2;
  }

  int32(value: number): void {
    this.#room(4);
    // Unlike a view's, these refuse what does not fit.
    this.#at = this.#bytes.writeInt32BE(value, this.#at);
  }

  int64(value: bigint): void {
    this.#room(8);
    if (value > int64Max || value < -int64Max - 1n) {
      throw new RangeError('this number is beyond 64 bits');
    }
    this.#view.setBigInt64(this.#at, value);
    this.#at += 8;
  }

  timestamp(date: Date): void {
    this.#room(8);
    // In two halves: a number is exact as far as our dates go, and costs less than a bigint.
    const micros = (date.getTime() - epochMs) * 1_000;
    if (Number.isNaN(micros)) {
      throw new RangeError('this is no instant');
    }
    const high = Math.floor(micros / twoTo32);
    this.#view.setInt32(this.#at, high);
    this.#view.setUint32(this.#at + 4, micros - high * twoTo32);
    this.#at += 8;
  }

  utf8(text: string): void {
    // No code unit of a text takes more than three bytes.
    this.#room(3 * text.length);
    this.#at += this.#shortAscii(text) ?? this.#bytes.write(text, this.#at);
  }

  /** Undefined: it is something else, and whatever was written of it will be overwritten. */
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
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Leaves room for a length; returns what `end` needs to fill it in. */
  begin(): number {
    this.int32(0);
    return this.#at;
  }

  /** Fills in how much was written since `begin`, with so much more that the length itself takes. */
  end(begun: number, more = 0): void {
    this.#view.setInt32(begun - 4, this.#at - begun + more);
  }

  /** All of it, in a buffer that another thread can have without a copy. Large ones may be brought back. */
  take(): Uint8Array<ArrayBuffer> {
    const written = this.#bytes.subarray(0, this.#at);
    if (this.#at < lentFromBytes) {
      return new Uint8Array(written);
    }
    this.#use(this.#spares.pop() ?? Buffer.alloc(bufferBytes));
    return written;
  }

  bringBack(buffer: ArrayBuffer): void {
    const { byteLength } = buffer;
    if (this.#spares.length < sparesMax && byteLength >= bufferBytes && byteLength <= spareBytesMax) {
      this.#spares.push(Buffer.from(buffer));
    }
  }

  #room(bytes: number): void {
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
