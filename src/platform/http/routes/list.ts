/**
 * Lists: pages by keyset, so that a page costs the same however far in it is and no row is seen twice.
 * A list declares its sort fields and filters once; the query schema and the statement follow from it.
 */
import { type TProperties, Type } from 'typebox';
import { invalidField } from '../../../contract/api-error.ts';
import type { Queryable } from '../../db/database.ts';
import { choice, closed } from './schemas.ts';
import { isInstant } from './validation.ts';

export const pageSize = { fallback: 50, max: 200 };

/** For lists of which there is only one order. */
export const pageParameters = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: pageSize.max, default: pageSize.fallback })),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 4_000, description: '`next_cursor` of the page before.' }),
  ),
};

/** Sort fields and the SQL type of their column, which must not be null. */
export type SortFields = Readonly<Record<string, 'timestamptz' | 'text' | 'int8'>>;

export interface ListQuery {
  readonly limit?: number;
  readonly cursor?: string;
  readonly sort?: string;
}

/** The query parameters of a list: paging, `sort` as `field` or `-field`, and the filters given. */
export function listParameters<Filters extends TProperties>(sorts: SortFields, filters: Filters) {
  const words = Object.keys(sorts).flatMap((field) => [field, `-${field}`]);
  return closed({
    ...pageParameters,
    sort: Type.Optional(choice(words, 'A field, or `-field` for the opposite order.')),
    ...filters,
  });
}

/** A condition with one `?` for its value. Undefined values are left out: the filter was not given. */
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

/** A cursor only fits the list and the order, named by `sort`, that it was made for. */
export function encodeCursor(sort: string, value: unknown, id: string): string {
  const text = typeof value === 'bigint' ? String(value) : value;
  return Buffer.from(JSON.stringify([sort, text, id])).toString('base64url');
}

export function decodeCursor(cursor: string, sort: string, type: SortFields[string] | undefined) {
  try {
    const [madeFor, value, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    const usable = typeof value === 'string' && fits(value, type);
    if (madeFor === sort && usable && typeof id === 'string' && !`${value}${id}`.includes('\u0000')) {
      return { value: type === 'timestamptz' ? new Date(value) : value, id };
    }
  } catch {
    // Falls through to the refusal: whatever it was, we did not make it.
  }
  throw invalidField('cursor', 'invalid_value', 'This cursor was not given out for this list in this order.');
}

/** Values go into a statement, where what is none of its type would be an error of ours. */
function fits(value: string, type: SortFields[string] | undefined): boolean {
  switch (type) {
    case 'timestamptz':
      return isInstant(value);
    case 'int8':
      return /^-?\d{1,18}$/.test(value);
    default:
      return true;
  }
}
