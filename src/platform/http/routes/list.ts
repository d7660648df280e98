/**
 * Lists with keyset pagination: every page costs the same, and no row appears twice. A list declares its sort fields and filters
 * once. The query schema and the SQL statement are derived from them.
 */
import { type TProperties, Type } from 'typebox';
import { invalidField } from '../../../contract/api-error.ts';
import type { Queryable } from '../../db/database.ts';
import { choice, closed } from './schemas.ts';
import { isInstant } from './validation.ts';

export const pageSize = { fallback: 50, max: 200 };

/** Query parameters of a list with a fixed order. */
export const pageParameters = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: pageSize.max, default: pageSize.fallback })),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 4_000, description: '`next_cursor` of the previous page.' }),
  ),
};

/** Sort fields, with the SQL type of their column. `numeric` is for whole numbers beyond 64 bits. The column must not be null. */
export type SortFields = Readonly<Record<string, 'timestamptz' | 'text' | 'int8' | 'numeric'>>;

export interface ListQuery {
  readonly limit?: number;
  readonly cursor?: string;
  readonly sort?: string;
}

/** Returns the query parameters of a list: pagination, `sort` as `field` or `-field`, and the filters. */
export function listParameters<Filters extends TProperties>(sorts: SortFields, filters: Filters) {
  const words = Object.keys(sorts).flatMap((field) => [field, `-${field}`]);
  return closed({
    ...pageParameters,
    sort: Type.Optional(choice(words, 'A field, or `-field` for the opposite order.')),
    ...filters,
  });
}

/** Declares the filter `search` of a list. `fields` describes the searched fields, such as “the name or id”. */
export function searchFilter(fields: string) {
  return {
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: `Part of ${fields}, in upper or lower case.`,
      }),
    ),
  };
}

/**
 * Returns the SQL condition of the filter `search`, which has no wildcards. A separator between the columns keeps a match from
 * spanning two of them.
 */
export function searchCondition(columns: readonly string[], search: string | undefined): Condition {
  const texts = columns.map((column) => `lower(coalesce(${column}, ''))`).join(` || E'\\n' || `);
  return [`position(lower(?) IN ${texts}) > 0`, search];
}

/** A condition with one `?` for its value. It is left out if the value is undefined, because the filter is not set then. */
export type Condition = readonly [sql: string, value: unknown];

/** A sort field that is an expression instead of a column. */
export interface ComputedSort<Row> {
  /** SQL expression of the columns. It must never be null. */
  readonly sql: string;
  /** Returns the value of the expression for a row. */
  of(row: Row): bigint;
}

export interface ListSpec<Row> {
  readonly select: string;
  /** Values of the parameters of `select`. */
  readonly params?: readonly unknown[];
  readonly where: readonly Condition[];
  readonly sorts: SortFields;
  readonly computedSorts?: Readonly<Partial<Record<string, ComputedSort<Row>>>>;
  readonly defaultSort: string;
  readonly query: ListQuery;
}

export interface PageOf<Item> {
  readonly data: Item[];
  readonly next_cursor: string | null;
}

/** A page of a list that can be read in both directions. */
export interface TwoWayPageOf<Item> extends PageOf<Item> {
  /** Null on the first page. */
  readonly prev_cursor: string | null;
}

/** Converts each row of a page to its view. */
export async function viewPage<Row, View>(
  page: Promise<PageOf<Row>>,
  view: (row: Row) => View,
): Promise<PageOf<View>> {
  const { data, next_cursor } = await page;
  return { data: data.map((row) => view(row)), next_cursor };
}

export async function selectPage<Row extends { readonly id: string }>(
  db: Queryable,
  listing: ListSpec<Row>,
): Promise<PageOf<Row>> {
  const { data, next_cursor } = await selectTwoWayPage(db, listing);
  return { data, next_cursor };
}

export async function selectTwoWayPage<Row extends { readonly id: string }>(
  db: Queryable,
  { select, params: selectParams = [], where, sorts, computedSorts = {}, defaultSort, query }: ListSpec<Row>,
): Promise<TwoWayPageOf<Row>> {
  const sort = query.sort ?? defaultSort;
  const descending = sort.startsWith('-');
  const field = descending ? sort.slice(1) : sort;
  const computed = computedSorts[field];
  const column = computed?.sql ?? field;
  const limit = query.limit ?? pageSize.fallback;

  const params = [...selectParams];
  const conditions = conditionsSql(where, params);
  const backwards = query.cursor !== undefined && sortOfCursor(query.cursor) === backwardSort(sort);
  // The rows before a position are the first rows after it in the opposite order.
  const down = descending !== backwards;
  if (query.cursor !== undefined) {
    const { value, id } = decodeCursor(query.cursor, backwards ? backwardSort(sort) : sort, sorts[field]);
    params.push(value, id);
    conditions.push(
      `(${column}, id) ${down ? '<' : '>'} ($${params.length - 1}::${sorts[field]}, $${params.length})`,
    );
  }
  params.push(limit + 1);
  const filter = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  const direction = down ? 'DESC' : 'ASC';
  const rows = await db.query<Row>(
    `${select} ${filter} ORDER BY ${column} ${direction}, id ${direction} LIMIT $${params.length}`,
    params,
  );
  const data = rows.slice(0, limit);
  if (backwards) {
    data.reverse();
  }
  const more = rows.length > limit;
  const cursorAt = (row: Row | undefined, madeFor: string) =>
    row === undefined ? null : encodeCursor(madeFor, computed?.of(row) ?? row[field as keyof Row], row.id);
  return {
    data,
    // A page that was read backwards always has a next page, which starts with the row of its cursor.
    next_cursor: more || backwards ? cursorAt(data.at(-1), sort) : null,
    prev_cursor: (backwards ? more : query.cursor !== undefined)
      ? cursorAt(data[0], backwardSort(sort))
      : null,
  };
}

function conditionsSql(where: readonly Condition[], params: unknown[]): string[] {
  return where.flatMap(([sql, value]) => {
    if (value === undefined) {
      return [];
    }
    params.push(value);
    return [sql.replace('?', `$${params.length}`)];
  });
}

/** The number of rows that match; a lower bound unless `exact`. */
export interface BoundedCount {
  readonly value: number;
  readonly exact: boolean;
}

export interface CountRequest {
  readonly table: string;
  /** Conditions that use an index. At most `rowsMax` of the matching rows are read. */
  readonly scanned: readonly Condition[];
  readonly where: readonly Condition[];
  readonly rowsMax: number;
}

/** Counts rows at a bounded cost. */
export async function countRows(
  db: Queryable,
  { table, scanned, where, rowsMax }: CountRequest,
): Promise<BoundedCount> {
  const params: unknown[] = [];
  const within = conditionsSql(scanned, params);
  const matches = conditionsSql(where, params);
  const [found] = await db.query<{ matching: number; read: number }>(
    `SELECT count(*) FILTER (WHERE ${['true', ...matches].join(' AND ')})::int4 AS matching, count(*)::int4 AS read
       FROM (SELECT * FROM ${table} WHERE ${within.join(' AND ')} LIMIT ${rowsMax + 1}) AS found`,
    params,
  );
  const { matching = 0, read = 0 } = found ?? {};
  return read > rowsMax
    ? { value: Math.min(matching, rowsMax), exact: false }
    : { value: matching, exact: true };
}

/** Encodes a position in a list. The cursor is only valid with the same `sort`. */
export function encodeCursor(sort: string, value: unknown, id: string): string {
  const text = typeof value === 'bigint' ? String(value) : value;
  return Buffer.from(JSON.stringify([sort, text, id])).toString('base64url');
}

/** Returns the `sort` of cursors that read backwards. */
function backwardSort(sort: string): string {
  return `before ${sort}`;
}

/** Returns the `sort` of a cursor; undefined if the text is not a cursor. */
function sortOfCursor(cursor: string): unknown {
  try {
    const [madeFor] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    return madeFor;
  } catch {
    return undefined;
  }
}

export function decodeCursor(cursor: string, sort: string, type: SortFields[string] | undefined) {
  try {
    const [madeFor, value, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    const usable = typeof value === 'string' && fitsType(value, type);
    if (madeFor === sort && usable && typeof id === 'string' && fitsType(id, 'text')) {
      return { value: type === 'timestamptz' ? new Date(value) : value, id };
    }
  } catch {
    // Not a cursor of `encodeCursor`; the error follows.
  }
  throw invalidField('cursor', 'invalid_value', 'This cursor does not belong to this list and sort order.');
}

/** Returns false for a value that does not fit the SQL type and would cause an internal error in a statement. */
export function fitsType(value: string, type: SortFields[string] | 'int4' | undefined): boolean {
  switch (type) {
    case 'timestamptz':
      return isInstant(value);
    case 'int4':
    case 'int8': {
      const bits = type === 'int4' ? 32 : 64;
      return /^-?\d{1,19}$/.test(value) && BigInt.asIntN(bits, BigInt(value)) === BigInt(value);
    }
    case 'numeric':
      return /^-?\d+$/.test(value);
    default:
      return !value.includes('\u0000');
  }
}
