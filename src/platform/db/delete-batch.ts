/** Deletes rows that are not needed anymore, in bounded batches. */
import type { Queryable } from './database.ts';

export interface RowBatch {
  readonly table: string;
  /** The columns of the primary key, with commas. */
  readonly key: string;
  /** The condition of the rows, with the parameters `$1` and so on. */
  readonly where: string;
  readonly params?: readonly unknown[];
  readonly limit: number;
}

/**
 * Deletes up to `limit` rows. Returns true if there may be more. The condition is checked twice: a row may change while the statement
 * waits for its lock.
 */
export async function deleteBatch(
  db: Queryable,
  { table, key, where, params = [], limit }: RowBatch,
): Promise<boolean> {
  const deleted = await db.query(
    `DELETE FROM ${table} WHERE ${where} AND (${key}) IN (SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${limit})
     RETURNING 1 AS one`,
    params,
  );
  return deleted.length === limit;
}
