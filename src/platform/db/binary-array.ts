/**
 * Arrays in PostgreSQL's binary form. Rows that are inserted by the thousand travel as one array a column, and reading
 * those as text (or as JSON) takes several times as long as inserting them.
 */

export type ArrayType = 'text' | 'int8' | 'int4' | 'bool' | 'timestamptz';

const elementOids: Record<ArrayType, number> = { bool: 16, int8: 20, int4: 23, text: 25, timestamptz: 1184 };

/** PostgreSQL counts microseconds from here. */
const epochMs = Date.UTC(2000, 0, 1);

const headerBytes = 20;
const nullLength = -1;

export function binaryArray(type: ArrayType, values: readonly unknown[]): Buffer {
  const writer = new Writer(headerBytes + values.length * 16);
  writer.int32(values.length === 0 ? 0 : 1);
  writer.int32(values.some((value) => value === null || value === undefined) ? 1 : 0);
  writer.int32(elementOids[type]);
  if (values.length > 0) {
    writer.int32(values.length);
    // Arrays begin at one.
    writer.int32(1);
  }
  for (const value of values) {
    if (value === null || value === undefined) {
      writer.int32(nullLength);
    } else {
      writeElement(writer, type, value);
    }
  }
  return writer.written();
}

function writeElement(writer: Writer, type: ArrayType, value: unknown): void {
  switch (type) {
    case 'text':
      writer.text(String(value));
      break;
    case 'int8':
      writer.int32(8);
      writer.int64(BigInt(value as bigint | number | string));
      break;
    case 'int4':
      writer.int32(4);
      writer.int32(Number(value));
      break;
    case 'bool':
      writer.int32(1);
      writer.byte(value === true ? 1 : 0);
      break;
    case 'timestamptz':
      writer.int32(8);
      writer.int64(BigInt((value as Date).getTime() - epochMs) * 1_000n);
      break;
  }
}

class Writer {
  #bytes: Buffer;
  #size = 0;

  constructor(expectedBytes: number) {
    this.#bytes = Buffer.allocUnsafe(expectedBytes);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#size = this.#bytes.writeUInt8(value, this.#size);
  }

  int32(value: number): void {
    this.#reserve(4);
    this.#size = this.#bytes.writeInt32BE(value, this.#size);
  }

  int64(value: bigint): void {
    this.#reserve(8);
    this.#size = this.#bytes.writeBigInt64BE(value, this.#size);
  }

  /** Its length in bytes, then the text. */
  text(value: string): void {
    // No character takes more than three bytes a unit.
    this.#reserve(4 + value.length * 3);
    const length = this.#bytes.write(value, this.#size + 4);
    this.#bytes.writeInt32BE(length, this.#size);
    this.#size += 4 + length;
  }

  written(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  #reserve(more: number): void {
    if (this.#size + more > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#size + more));
      this.#bytes.copy(larger, 0, 0, this.#size);
      this.#bytes = larger;
    }
  }
}
