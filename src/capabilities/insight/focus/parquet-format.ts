/** Writes charges as Parquet, one row group after the other, so that only one of them is in memory. */
import { ByteWriter, type ColumnSource, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { FocusCharge } from './charge.ts';
import { decimalsOf, type FocusColumn, focusColumns } from './columns.ts';

/** Few enough to be encoded without stalling the event loop, so many that readers need few groups. */
const rowsPerGroup = 1_000;
/** The most that readers support: integers of 16 bytes. */
const decimalDigits = 38;
const decimalBytes = 16;

export async function* writeParquet(
  batches: AsyncIterable<readonly FocusCharge[]>,
): AsyncGenerator<Uint8Array> {
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [{ name: 'focus', num_children: focusColumns.length }, ...focusColumns.map(schemaOf)],
    // The library compares texts by UTF-16 units, but readers expect their statistics in the order of their bytes.
    statistics: false,
  });
  let group: FocusCharge[] = [];
  const writeGroup = () => {
    void writer.write({
      columnData: focusColumns.map((one) => dataOf(one, group)),
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
  return { name, data: type === 'time' ? values.map((ms) => BigInt(ms ?? 0)) : values };
}

function schemaOf({ name, type, nullable }: FocusColumn): SchemaElement {
  const common = { name, repetition_type: nullable ? 'OPTIONAL' : 'REQUIRED' } as const;
  switch (type) {
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
        ...common,
        type: 'FIXED_LEN_BYTE_ARRAY',
        type_length: decimalBytes,
        converted_type: 'DECIMAL',
        logical_type: { type: 'DECIMAL', precision: decimalDigits, scale: decimalsOf[type] },
        precision: decimalDigits,
        scale: decimalsOf[type],
      };
  }
}
