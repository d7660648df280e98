/**
 * The statements that most tables share: insert, replace, delete or find one row by its key. Their texts are built once, when the
 * module is loaded. All other statements are written out by hand.
 */
import type { Queryable } from './database.ts';

type Trimmed<Text extends string> = Text extends ` ${infer Rest}` | `\n${infer Rest}` ? Trimmed<Rest> : Text;
type NamesIn<List extends string> = List extends `${infer First},${infer Rest}`
  ? Trimmed<First> | NamesIn<Rest>
  : Trimmed<List>;

/** Rejects a list that does not have exactly the expected names. The compiler error contains the names that differ. */
type Exactly<Expected, Listed> = [Exclude<Expected, Listed>, Exclude<Listed, Expected>] extends [never, never]
  ? unknown
  : { readonly missing: Exclude<Expected, Listed>; readonly unknown: Exclude<Listed, Expected> };

type ColumnName<Row> = keyof Row & string;

/** Types that both engines convert. All other values are stored as JSON. */
type Converted =
  | (string | number | bigint | boolean | Date | Uint8Array | null)
  | readonly (string | number | bigint)[];
type JsonName<Row> = {
  [Column in ColumnName<Row>]: Row[Column] extends Converted ? never : Column;
}[ColumnName<Row>];

type Definition<Row, Columns extends string, Key, Json extends readonly string[]> = {
  /** The names of all fields of a row, separated by commas. */
  readonly columns: Columns & Exactly<ColumnName<Row>, NamesIn<Columns>>;
  readonly key: Key;
  /** SQL condition of `find` and `lock`, such as one that excludes deleted rows. */
  readonly where?: string;
  /** Columns that are stored as JSON. */
  readonly json?: Json;
} & ([JsonName<Row>] extends [never]
  ? { readonly json?: never }
  : { readonly json: Exactly<JsonName<Row>, Json[number]> });

type KeyValues<Row, Key extends readonly ColumnName<Row>[]> = { [Index in keyof Key]: Row[Key[Index]] };

export interface Table<Row extends object, Key extends readonly ColumnName<Row>[]> {
  /** The placeholders for `valuesOf`, for statements that are written out by hand. */
  readonly placeholders: string;
  valuesOf(row: Row): unknown[];
  insert(tx: Queryable, row: Row): Promise<void>;
  update(tx: Queryable, row: Row): Promise<void>;
  /** Inserts the row, or updates the row that has the same key. */
  upsert(tx: Queryable, row: Row): Promise<void>;
  delete(tx: Queryable, ...key: KeyValues<Row, Key>): Promise<void>;
  find(db: Queryable, ...key: KeyValues<Row, Key>): Promise<Row | undefined>;
  /** Finds the row and locks it, so that it does not change between reading and writing. */
  lock(tx: Queryable, ...key: KeyValues<Row, Key>): Promise<Row | undefined>;
}

/**
 * Creates the statements of a table. Called in two steps, `tableOf<Row>()(…)`, because the type of the rows is given and the other
 * types are inferred.
 */
export function tableOf<Row extends object>() {
  return <
    const Columns extends string,
    const Key extends readonly ColumnName<Row>[],
    const Json extends readonly ColumnName<Row>[] = [],
  >(
    table: string,
    { columns, key, where, json }: Definition<Row, Columns, Key, Json>,
  ): Table<Row, Key> => {
    const names = columns.split(',').map((name) => name.trim()) as ColumnName<Row>[];
    const places = new Map<string, string>(names.map((name, index) => [name, `$${index + 1}`]));
    const placeholders = [...places.values()].join(', ');
    // The key is not assigned, because a distributed table does not allow updates of its tenant column.
    const assigned = names.filter((name) => !key.includes(name));
    const equalsPlace = (name: string) => `${name} = ${places.get(name)}`;
    const hasKey = key.map((name, index) => `${name} = $${index + 1}`).join(' AND ');

    const insertRow = `INSERT INTO ${table} (${columns}) VALUES (${placeholders})`;
    const updateRow = `UPDATE ${table} SET ${assigned.map(equalsPlace).join(', ')} WHERE ${key.map(equalsPlace).join(' AND ')}`;
    const upsertRow = `${insertRow} ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${assigned
      .map((name) => `${name} = excluded.${name}`)
      .join(', ')}`;
    const deleteRow = `DELETE FROM ${table} WHERE ${hasKey}`;
    const findRow = `SELECT ${columns} FROM ${table} WHERE ${hasKey}${where === undefined ? '' : ` AND ${where}`}`;
    const lockRow = `${findRow} FOR UPDATE`;

    const jsonNames: ReadonlySet<string> = new Set(json);
    const valuesOf = (row: Row) =>
      names.map((name) =>
        jsonNames.has(name) && row[name] !== null ? JSON.stringify(row[name]) : row[name],
      );
    return {
      placeholders,
      valuesOf,
      async insert(tx, row) {
        await tx.query(insertRow, valuesOf(row));
      },
      async update(tx, row) {
        await tx.query(updateRow, valuesOf(row));
      },
      async upsert(tx, row) {
        await tx.query(upsertRow, valuesOf(row));
      },
      async delete(tx, ...of) {
        await tx.query(deleteRow, of);
      },
      async find(db, ...of) {
        const [row] = await db.query<Row>(findRow, of);
        return row;
      },
      async lock(tx, ...of) {
        const [row] = await tx.query<Row>(lockRow, of);
        return row;
      },
    };
  };
}
