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

/** Sort fields, with the SQL type of their column. The column must not be null. */
export type SortFields = Readonly<Record<string, 'timestamptz' | 'text' | 'int8'>>;

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

export interface Listing {
  readonly select: string;
  readonly where: readonly Condition[];
  readonly sorts: SortFields;
  readonly defaultSort: string;
  readonly query: ListQuery;
}

export interface PageOf<Item> {
  readonly data: Item[];
  readonly next_cursor: string | null;
}

export async function selectPage<Row extends { readonly id: string }>(
  db: Queryable,
  { select, where, sorts, defaultSort, query }: Listing,
): Promise<PageOf<Row>> {
  const sort = query.sort ?? defaultSort;
  const descending = sort.startsWith('-');
  const field = descending ? sort.slice(1) : sort;
  const limit = query.limit ?? pageSize.fallback;

  const params: unknown[] = [];
  const conditions: string[] = [];
  for (const [sql, value] of where) {
    if (value !== undefined) {
      params.push(value);
      conditions.push(sql.replace('?', `$${params.length}`));
    }
  }
  if (query.cursor !== undefined) {
    const { value, id } = decodeCursor(query.cursor, sort, sorts[field]);
    params.push(value, id);
    const comparison = descending ? '<' : '>';
    conditions.push(
      `(${field}, id) ${comparison} ($${params.length - 1}::${sorts[field]}, $${params.length})`,
    );
  }
  params.push(limit + 1);
  const filter = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  const direction = descending ? 'DESC' : 'ASC';
  const rows = await db.query<Row>(
    `${select} ${filter} ORDER BY ${field} ${direction}, id ${direction} LIMIT $${params.length}`,
    params,
  );
  const data = rows.slice(0, limit);
  const last = data.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { data, next_cursor: more ? encodeCursor(sort, last[field as keyof Row], last.id) : null };
}

/** Encodes a position in a list. The cursor is valid only with the same `sort`. */
export function encodeCursor(sort: string, value: unknown, id: string): string {
  const text = typeof value === 'bigint' ? String(value) : value;
  return Buffer.from(JSON.stringify([sort, text, id])).toString('base64url');
}

export function decodeCursor(cursor: string, sort: string, type: SortFields[string] | undefined) {
  try {
    const [madeFor, value, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    const usable = typeof value === 'string' && fitsType(value, type);
    if (madeFor === sort && usable && typeof id === 'string' && !`${value}${id}`.includes('\u0000')) {
      return { value: type === 'timestamptz' ? new Date(value) : value, id };
    }
  } catch {
    // Falls through to the error: the cursor was not made by `encodeCursor`.
  }
  throw invalidField('cursor', 'invalid_value', 'This cursor does not belong to this list and sort order.');
}

/** Returns false for a value that is not of the SQL type: in a statement it would be an internal error. */
function fitsType(value: string, type: SortFields[string] | undefined): boolean {
  switch (type) {
    case 'timestamptz':
      return isInstant(value);
    case 'int8':
      return /^-?\d{1,18}$/.test(value);
    default:
      return true;
  }
}
