/**
 * Lists with keyset pagination: every page costs the same, and no row appears twice.
 * A list declares its sort fields and filters once; the query schema and the SQL statement are derived from them.
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

/** Sort fields, with the SQL type of their column: `numeric` for whole numbers beyond 64 bits. The column must not be null. */
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

/** The filter `search` of a list. `fields` describes what is searched, such as “the name or id”. */
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

/** The condition of the filter `search`. It has no wildcards. Joined columns are separated, so that no match spans two. */
export function searchCondition(columns: readonly string[], search: string | undefined): Condition {
  const texts = columns.map((column) => `lower(coalesce(${column}, ''))`).join(` || E'\\n' || `);
  return [`position(lower(?) IN ${texts}) > 0`, search];
}

/** A condition with one `?` for its value. It is left out if the value is undefined: the filter is not set. */
export type Condition = readonly [sql: string, value: unknown];

/** A sort field that is not a column of the same name. */
export interface ComputedSort<Row> {
  /** An expression of the columns that is never null. */
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

/** A page of a list that can also be read backwards. */
export interface TwoWayPageOf<Item> extends PageOf<Item> {
  /** Null on the first page. */
  readonly prev_cursor: string | null;
}

/** Shows each row of a page as readers see it. */
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
  // The rows before a position are the first ones after it in the opposite order.
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
    // Behind a page that was read backwards is the row of its cursor.
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
  /** Conditions that an index answers: at most `rowsMax` of these rows are read. */
  readonly scanned: readonly Condition[];
  readonly where: readonly Condition[];
  readonly rowsMax: number;
}

/** Counts rows at a bounded cost, however many there are. */
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

/** Encodes a position in a list. The cursor is valid only with the same `sort`. */
export function encodeCursor(sort: string, value: unknown, id: string): string {
  const text = typeof value === 'bigint' ? String(value) : value;
  return Buffer.from(JSON.stringify([sort, text, id])).toString('base64url');
}

/** The sort order that a cursor for the rows before its position is made for. */
function backwardSort(sort: string): string {
  return `before ${sort}`;
}

/** Returns the sort order that a cursor was made for; undefined if it is not a cursor. */
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
    // Falls through to the error: the cursor was not made by `encodeCursor`.
  }
  throw invalidField('cursor', 'invalid_value', 'This cursor does not belong to this list and sort order.');
}

/** Returns false for a value that is not of the SQL type: in a statement it would be an internal error. */
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
