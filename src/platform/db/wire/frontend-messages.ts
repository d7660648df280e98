/** Composes the protocol messages that are sent to the embedded engine. */
import { writeNull, writeValue } from './binary-values.ts';
import { ByteWriter } from './byte-writer.ts';
import { type ColumnTypes, toText } from './values.ts';

type CopiedRow = Readonly<Record<string, unknown>>;

const formats = { text: 0, binary: 1 };

/** Shared by all messages, because each one is composed synchronously. */
const writer = new ByteWriter();

function composed(write: () => void): Uint8Array<ArrayBuffer> {
  // A previous message that failed may have been written in part.
  writer.clear();
  write();
  return writer.take();
}

/** Makes the buffer of a message available again after the database has read it. */
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

/** Returns the messages that bind and execute a prepared statement: Bind, Execute, Sync. */
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
    // All results are returned as text.
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
    writeNull(writer);
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

/** Size of a CopyData message. The database reads a whole message before it parses the rows. */
const copyMessageBytes = 65_536;
const copySignature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
const noMoreRows = -1;

/**
 * Returns the messages of a `COPY`: the statement, the rows and their end. It is the fastest way to insert rows: the database does
 * not plan a statement, builds no arrays or rows from parameters, and inserts page by page.
 */
export function copiedRows(
  table: string,
  columns: ColumnTypes,
  rows: Iterable<CopiedRow>,
): Uint8Array<ArrayBuffer> {
  const named = Object.entries(columns);
  return composed(() => {
    const query = begin('Q');
    terminated(`COPY ${table} (${Object.keys(columns).join(', ')}) FROM STDIN (FORMAT binary)`);
    end(query);
    let data = begin('d');
    writer.raw(copySignature);
    // Flags and extension: none.
    writer.int32(0);
    writer.int32(0);
    for (const row of rows) {
      if (writer.length - data > copyMessageBytes) {
        end(data);
        data = begin('d');
      }
      writer.int16(named.length);
      for (const [name, type] of named) {
        writeValue(writer, type, row[name]);
      }
    }
    writer.int16(noMoreRows);
    end(data);
    end(begin('c'));
  });
}

/** Returns the messages of a `COPY … FROM STDIN` in the text format: the statement, its rows and their end. */
export function copiedText(statement: string, rows: Uint8Array): Uint8Array<ArrayBuffer> {
  return composed(() => {
    const query = begin('Q');
    terminated(statement);
    end(query);
    for (let at = 0; at < rows.length; at += copyMessageBytes) {
      const data = begin('d');
      writer.raw(rows.subarray(at, at + copyMessageBytes));
      end(data);
    }
    end(begin('c'));
  });
}
