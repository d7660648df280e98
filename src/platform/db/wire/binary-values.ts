/** Encodes values in PostgreSQL's binary format: as fields of a COPY, and as array parameters of a statement. */
import { ByteWriter } from './byte-writer.ts';
import { type ColumnTypes, jsonText } from './values.ts';

export type ColumnType = ColumnTypes[string];
export type ArrayType = Exclude<ColumnType, 'text[]' | 'jsonb'>;

const elementOids: Record<ArrayType, number> = { bool: 16, int8: 20, int4: 23, text: 25, timestamptz: 1184 };
const jsonbVersion = 1;
const nullLength = -1;
const lengthBytes = 4;
const headerBytes = { empty: 12, filled: 20 };

/** Writes the length of a value and the value. Null and undefined become NULL. */
export function writeValue(writer: ByteWriter, type: ColumnType, value: unknown): void {
  if (value === null || value === undefined) {
    writeNull(writer);
    return;
  }
  const begun = writer.begin();
  switch (type) {
    case 'text':
      writer.utf8(String(value));
      break;
    case 'int8':
      writer.int64(BigInt(value as bigint | number | string));
      break;
    case 'int4':
      writer.int32(Number(value));
      break;
    case 'bool':
      writer.int8(value === true ? 1 : 0);
      break;
    case 'timestamptz':
      writer.timestamp(value as Date);
      break;
    case 'jsonb':
      writer.int8(jsonbVersion);
      writer.utf8(jsonText(value));
      break;
    case 'text[]':
      writeArray(writer, 'text', value as readonly unknown[]);
  }
  writer.end(begun);
}

export function writeNull(writer: ByteWriter): void {
  writer.int32(nullLength);
}

function writeArray(writer: ByteWriter, type: ArrayType, values: readonly unknown[]): void {
  const dimensions = values.length === 0 ? 0 : 1;
  const hasNull = values.some((value) => value === null || value === undefined);
  writer.int32(dimensions);
  writer.int32(hasNull ? 1 : 0);
  writer.int32(elementOids[type]);
  if (dimensions > 0) {
    writer.int32(values.length);
    // Index of the first element.
    writer.int32(1);
    for (const value of values) {
      writeValue(writer, type, value);
    }
  }
}

/**
 * Returns the array of one column. Thousands of rows are inserted from one array per column, because PostgreSQL takes several times
 * as long to parse them as text or JSON as to insert them. The result has its own buffer, of exactly its size.
 */
export function binaryArray(type: ArrayType, values: readonly unknown[]): Uint8Array {
  const writer = new ByteWriter(arrayBytes(type, values));
  writeArray(writer, type, values);
  return writer.finish();
}

const fixedBytes: Record<Exclude<ArrayType, 'text'>, number> = { bool: 1, int4: 4, int8: 8, timestamptz: 8 };

function arrayBytes(type: ArrayType, values: readonly unknown[]): number {
  let size = (values.length === 0 ? headerBytes.empty : headerBytes.filled) + values.length * lengthBytes;
  for (const value of values) {
    if (value !== null && value !== undefined) {
      size += type === 'text' ? Buffer.byteLength(String(value)) : fixedBytes[type];
    }
  }
  return size;
}
