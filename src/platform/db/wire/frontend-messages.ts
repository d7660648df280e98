import { ByteWriter } from './byte-writer.ts';
import type { ColumnTypes } from './values.ts';
import { jsonText, toText } from './values.ts';

type Row = Readonly<Record<string, unknown>>;

const nullLength = -1;
const formats = { text: 0, binary: 1 };

/** Messages are written without a pause, so that all can share it. */
const writer = new ByteWriter();

function composed(write: () => void): Uint8Array<ArrayBuffer> {
  // One that failed half way has left something behind.
  writer.clear();
  write();
  return writer.take();
}

/** For messages that the database has read. */
export function bringBack(buffer: ArrayBuffer): void {
  writer.bringBack(buffer);
}

const lengthBytes = 4;

function begin(code: string): number {
  writer.int8(code.charCodeAt(0));
  return writer.begin();
}

function end(begun: number): void {
  writer.end(begun, lengthBytes);
}

function terminated(text: string): void {
  writer.utf8(text);
  writer.int8(0);
}

/** Binds a statement that was prepared under this name, executes it, and ends the exchange. */
export function boundStatement(name: string, params: readonly unknown[]): Uint8Array<ArrayBuffer> {
  return composed(() => {
    const bind = begin('B');
    terminated('');
    terminated(name);
    writer.int16(params.length);
    for (const param of params) {
      writer.int16(param instanceof Uint8Array ? formats.binary : formats.text);
    }
    writer.int16(params.length);
    for (const param of params) {
      writeParameter(param);
    }
    // All results come as text.
    writer.int16(0);
    end(bind);
    const execute = begin('E');
    terminated('');
    writer.int32(0);
    end(execute);
    end(begin('S'));
  });
}

function writeParameter(param: unknown): void {
  const value = param instanceof Uint8Array ? param : toText(param);
  if (value === null) {
    writer.int32(nullLength);
    return;
  }
  const begun = writer.begin();
  if (typeof value === 'string') {
    writer.utf8(value);
  } else {
    writer.raw(value);
  }
  writer.end(begun);
}

/** The database reads a message as a whole before it looks at the rows in it. */
const copyMessageBytes = 65_536;
const copySignature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
const noMoreRows = -1;

/**
 * A whole `COPY`: the statement, the rows, their end. Nothing is quicker into a table: the database plans no statement,
 * makes neither arrays nor rows of parameters, and inserts page by page.
 */
export function copiedRows(
  table: string,
  columns: ColumnTypes,
  rows: Iterable<Row>,
): Uint8Array<ArrayBuffer> {
  const named = Object.entries(columns);
  return composed(() => {
    const query = begin('Q');
    terminated(`COPY ${table} (${Object.keys(columns).join(', ')}) FROM STDIN (FORMAT binary)`);
    end(query);
    let data = begin('d');
    writer.raw(copySignature);
    // No flags, no extension.
    writer.int32(0);
    writer.int32(0);
    for (const row of rows) {
      if (writer.length - data > copyMessageBytes) {
        end(data);
        data = begin('d');
      }
      writer.int16(named.length);
      for (const [name, type] of named) {
        writeField(type, row[name]);
      }
    }
    writer.int16(noMoreRows);
    end(data);
    end(begin('c'));
  });
}

function writeField(type: ColumnTypes[string], value: unknown): void {
  if (value === null || value === undefined) {
    writer.int32(nullLength);
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
      writeTexts(value as readonly string[]);
  }
  writer.end(begun);
}

const jsonbVersion = 1;
const textOid = 25;

function writeTexts(texts: readonly string[]): void {
  writer.int32(texts.length === 0 ? 0 : 1);
  // There are no nulls among them.
  writer.int32(0);
  writer.int32(textOid);
  if (texts.length > 0) {
    writer.int32(texts.length);
    // Arrays begin at one.
    writer.int32(1);
    for (const text of texts) {
      const begun = writer.begin();
      writer.utf8(text);
      writer.end(begun);
    }
  }
}
