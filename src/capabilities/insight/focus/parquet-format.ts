/** Writes charges as Parquet, one row group after the other, so that only one of them is in memory. */
import { ByteWriter, type ColumnSource, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { FocusCharge } from './charge.ts';
import { decimalsOf, type FocusColumn, type FocusColumnType } from './columns.ts';

/** Few enough to be encoded without stalling the event loop, so many that readers need few groups. */
const rowsPerGroup = 1_000;
/** The most that readers support: integers of 16 bytes. */
const decimalDigits = 38;
const decimalBytes = 16;

export async function* writeParquet(
  batches: AsyncIterable<readonly FocusCharge[]>,
  columns: readonly FocusColumn[],
): AsyncGenerator<Uint8Array> {
  const bytes = new ByteWriter();
  const root = { name: 'focus', num_children: columns.length };
  const writer = new ParquetWriter({
    writer: bytes,
    // Decimals are given as bytes: the library takes several times as long to convert them.
    schema: [root, ...columns.map(physicalSchema)],
    // The library compares texts by UTF-16 units, but readers expect their statistics in the order of their bytes.
    statistics: false,
  });
  let group: FocusCharge[] = [];
  const writeGroup = () => {
    void writer.write({
      columnData: columns.map((one) => dataOf(one, group)),
      rowGroupSize: group.length,
    });
    group = [];
    return takeBytes(bytes);
  };
  for await (const charges of batches) {
    for (const charge of charges) {
      group.push(charge);
      if (group.length === rowsPerGroup) {
        yield writeGroup();
      }
    }
  }
  if (group.length > 0) {
    yield writeGroup();
  }
  writer.schema = [root, ...columns.map(schemaOf)];
  void writer.finish();
  yield takeBytes(bytes);
}

/** Returns a copy of the bytes written so far, and frees their memory. The offset in the file remains. */
function takeBytes(writer: ByteWriter): Uint8Array {
  const bytes = writer.getBytes().slice();
  writer.index = 0;
  return bytes;
}

function dataOf({ name, type, value }: FocusColumn, charges: readonly FocusCharge[]): ColumnSource {
  const values = charges.map(value);
  if (isDecimal(type)) {
    return { name, data: bytesOf(values) };
  }
  const isNumber = type === 'time' || type === 'integer';
  return { name, data: isNumber ? values.map((one) => (one === null ? null : BigInt(one))) : values };
}

/** Returns big-endian integers, as decimals are stored. They share one buffer, since many small ones burden the collector. */
function bytesOf(values: readonly ReturnType<FocusColumn['value']>[]): (Uint8Array | null)[] {
  const view = new DataView(new ArrayBuffer(values.length * decimalBytes));
  return values.map((value, index) => {
    if (value === null) {
      return null;
    }
    const at = index * decimalBytes;
    view.setBigInt64(at, BigInt(value) >> 64n);
    view.setBigUint64(at + 8, BigInt.asUintN(64, BigInt(value)));
    return new Uint8Array(view.buffer, at, decimalBytes);
  });
}

function isDecimal(type: FocusColumnType): boolean {
  return type === 'amount' || type === 'price' || type === 'quantity' || type === 'priced_quantity';
}

/** The schema with decimals as the bytes that they are stored as. */
function physicalSchema(column: FocusColumn): SchemaElement {
  return isDecimal(column.type) ? storedDecimal(column) : schemaOf(column);
}

function storedDecimal(column: FocusColumn) {
  return { ...commonSchema(column), type: 'FIXED_LEN_BYTE_ARRAY', type_length: decimalBytes } as const;
}

function commonSchema({ name, nullable }: FocusColumn) {
  return { name, repetition_type: nullable ? 'OPTIONAL' : 'REQUIRED' } as const;
}

function schemaOf(column: FocusColumn): SchemaElement {
  const common = commonSchema(column);
  switch (column.type) {
    case 'text':
    case 'json':
      return { ...common, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } };
    case 'time':
      return {
        ...common,
        type: 'INT64',
        converted_type: 'TIMESTAMP_MILLIS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
      };
    case 'integer':
      return { ...common, type: 'INT64' };
    default:
      return {
        ...storedDecimal(column),
        converted_type: 'DECIMAL',
        logical_type: { type: 'DECIMAL', precision: decimalDigits, scale: decimalsOf[column.type] },
        precision: decimalDigits,
        scale: decimalsOf[column.type],
      };
  }
}
