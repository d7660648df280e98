/** Columns with encrypted values. The capability that owns the table declares them, so that a rotation can encrypt them again. */
import type { Database, Queryable } from '../db/database.ts';
import type { Secrets } from './secrets.ts';

type KeyValue = string | number | bigint | Date;
export type EncryptedRow = Readonly<Record<string, KeyValue | null>>;

export interface EncryptedColumn {
  readonly table: string;
  readonly column: string;
  /** Type of the column. Values of type `text` are ciphertexts in base64. */
  readonly type: 'bytea' | 'text';
  /** Columns of a unique key, in index order. */
  readonly key: Readonly<Record<string, 'text' | 'int4' | 'timestamptz'>>;
  /** Other columns that `contextOf` needs. */
  readonly others?: readonly string[];
  contextOf(row: EncryptedRow): string;
}

export interface ReencryptedBatch {
  readonly seen: number;
  readonly reencrypted: number;
  /** Number of values that no key decrypts. They are left unchanged. */
  readonly unreadable: number;
  /** Key of the last row as text; undefined if there are no more rows. */
  readonly next: readonly string[] | undefined;
}

export interface BatchMax {
  readonly values: number;
  /** Maximum size of the stored ciphertexts. A longer value is a separate batch. */
  readonly bytes: number;
}

/** Encrypts the values after a row with the current key, up to a maximum. A value that changes in the meantime is left unchanged. */
export async function reencryptBatch(
  db: Database,
  secrets: Secrets,
  column: EncryptedColumn,
  after: readonly string[] | undefined,
  max: BatchMax,
): Promise<ReencryptedBatch> {
  const limit = await countFitting(db, column, after, max);
  const rows = await selectRows(db, column, after, limit);
  const changed: { row: EncryptedRow; before: Uint8Array; value: Buffer }[] = [];
  let unreadable = 0;
  for (const row of rows) {
    const before = ciphertextOf(row, column);
    const context = column.contextOf(row);
    try {
      if (!secrets.isCurrent(before, context)) {
        changed.push({ row, before, value: secrets.encrypt(secrets.decrypt(before, context), context) });
      }
    } catch {
      unreadable += 1;
    }
  }
  if (changed.length > 0) {
    await db.transaction(async (tx) => {
      for (const { row, before, value } of changed) {
        await updateValue(tx, column, row, before, value);
      }
    });
  }
  const last = rows.length === limit ? rows.at(-1) : undefined;
  const next = last && Object.keys(column.key).map((name) => textOf(last[name] ?? null));
  return { seen: rows.length, reencrypted: changed.length, unreadable, next };
}

/** Returns the number of values after a row that fit into a batch, at least 1. Reads only their lengths. */
async function countFitting(
  db: Queryable,
  column: EncryptedColumn,
  after: readonly string[] | undefined,
  max: BatchMax,
): Promise<number> {
  const rows = await db.query<{ bytes: number }>(
    selectAfter(column, after, `octet_length(${column.column}) AS bytes`),
    [max.values, ...(after ?? [])],
  );
  let total = 0;
  const tooMany = rows.findIndex(({ bytes }) => {
    total += bytes;
    return total > max.bytes;
  });
  return tooMany < 0 ? max.values : Math.max(1, tooMany);
}

function selectRows(
  db: Queryable,
  column: EncryptedColumn,
  after: readonly string[] | undefined,
  limit: number,
): Promise<EncryptedRow[]> {
  const selected = [...Object.keys(column.key), ...(column.others ?? []), `${column.column} AS ciphertext`];
  return db.query<EncryptedRow>(selectAfter(column, after, selected.join(', ')), [limit, ...(after ?? [])]);
}

/** Returns a statement that selects the values after a row in key order. Its parameters are the limit and the row. */
function selectAfter(
  { table, column, key }: EncryptedColumn,
  after: readonly string[] | undefined,
  selected: string,
): string {
  const names = Object.keys(key);
  const position = Object.values(key).map((type, index) => `$${index + 2}::text::${type}`);
  const where = after === undefined ? '' : ` AND (${names.join(', ')}) > (${position.join(', ')})`;
  return `SELECT ${selected} FROM ${table}
           WHERE ${column} IS NOT NULL${where} ORDER BY ${names.join(', ')} LIMIT $1`;
}

async function updateValue(
  tx: Queryable,
  { table, column, type, key }: EncryptedColumn,
  row: EncryptedRow,
  before: Uint8Array,
  value: Buffer,
): Promise<void> {
  const stored = (bytes: Uint8Array) => (type === 'text' ? Buffer.from(bytes).toString('base64') : bytes);
  const names = Object.keys(key);
  await tx.query(
    `UPDATE ${table} SET ${column} = $1 WHERE ${column} = $2 AND ${names.map((name, index) => `${name} = $${index + 3}`).join(' AND ')}`,
    [stored(value), stored(before), ...names.map((name) => row[name])],
  );
}

function ciphertextOf(row: EncryptedRow, { type }: EncryptedColumn): Uint8Array {
  const { ciphertext } = row as unknown as { ciphertext: Uint8Array | string };
  return type === 'text' ? Buffer.from(ciphertext as string, 'base64') : (ciphertext as Uint8Array);
}

function textOf(value: KeyValue | null): string {
  return value instanceof Date ? value.toISOString() : String(value);
}
