/**
 * Arrays in PostgreSQL's binary form. Rows that are inserted by the thousand travel as one array a column, and reading
 * those as text (or as JSON) takes several times as long as inserting them.
 */

export type ArrayType = 'text' | 'int8' | 'int4' | 'bool' | 'timestamptz';

const elementOids: Record<ArrayType, number> = { bool: 16, int8: 20, int4: 23, text: 25, timestamptz: 1184 };

/** PostgreSQL counts microseconds from here. */
const epochMs = Date.UTC(2000, 0, 1);

const headerBytes = { empty: 12, filled: 20 };
const lengthBytes = 4;
const nullLength = -1;

/** Exactly as large as its content, so that it can be handed to another thread without a copy. */
export function binaryArray(type: ArrayType, values: readonly unknown[]): Uint8Array {
  const bytes = Buffer.from(new ArrayBuffer(sizeOf(type, values)));
  let hasNull = false;
  let at = values.length === 0 ? headerBytes.empty : headerBytes.filled;
  for (const value of values) {
    if (value === null || value === undefined) {
      hasNull = true;
      at = bytes.writeInt32BE(nullLength, at);
    } else {
      at = writeElement(bytes, at, type, value);
    }
  }
  bytes.writeInt32BE(values.length === 0 ? 0 : 1, 0);
  bytes.writeInt32BE(hasNull ? 1 : 0, 4);
  bytes.writeInt32BE(elementOids[type], 8);
  if (values.length > 0) {
    bytes.writeInt32BE(values.length, 12);
    // Arrays begin at one.
    bytes.writeInt32BE(1, 16);
  }
  return bytes;
}

const fixedBytes: Record<Exclude<ArrayType, 'text'>, number> = { bool: 1, int4: 4, int8: 8, timestamptz: 8 };

function sizeOf(type: ArrayType, values: readonly unknown[]): number {
  let size = (values.length === 0 ? headerBytes.empty : headerBytes.filled) + values.length * lengthBytes;
  for (const value of values) {
    if (value !== null && value !== undefined) {
      size += type === 'text' ? Buffer.byteLength(String(value)) : fixedBytes[type];
    }
  }
  return size;
}

/** Its length, then its bytes. Returns where the next one goes. */
function writeElement(bytes: Buffer, at: number, type: ArrayType, value: unknown): number {
  const content = at + lengthBytes;
  switch (type) {
    case 'text': {
      const length = bytes.write(String(value), content);
      bytes.writeInt32BE(length, at);
      return content + length;
    }
    case 'int8':
      bytes.writeInt32BE(8, at);
      return bytes.writeBigInt64BE(BigInt(value as bigint | number | string), content);
    case 'int4':
      bytes.writeInt32BE(4, at);
      return bytes.writeInt32BE(Number(value), content);
    case 'bool':
      bytes.writeInt32BE(1, at);
      return bytes.writeUInt8(value === true ? 1 : 0, content);
    case 'timestamptz':
      bytes.writeInt32BE(8, at);
      return bytes.writeBigInt64BE(BigInt((value as Date).getTime() - epochMs) * 1_000n, content);
  }
}
