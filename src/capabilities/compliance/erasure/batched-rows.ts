/** Erases a customer's id from the rows of a table in bounded batches, in the order of the primary key. */
import { namePattern } from '../../../ledger/holds/customer-pseudonyms.ts';
import type { Queryable } from '../../../platform/db/database.ts';

export interface ErasureBatch {
  readonly orgId: string;
  readonly from: string;
  readonly to: string;
  readonly now: Date;
  /** `next` of the previous batch; null: first batch. */
  readonly cursor: unknown;
}

/** The start, and the end, which is excluded. */
export type TimeSpan = readonly [from: Date, to: Date];

export interface BatchResult {
  readonly changed: number;
  /** Cursor of the next batch; null: no more batches. */
  readonly next: unknown;
}

export const rowsPerBatch = 2_000;

/** A table whose rows are erased in batches, in the order of its primary key. */
export interface BatchedTable {
  readonly table: string;
  readonly org: string;
  /** The primary key without the org, with the type of each column. */
  readonly key: readonly (readonly [name: string, type: string])[];
  /** Matches rows that contain the customer's id. `renaming-sql.ts` has the parameters. */
  readonly where: string;
  /** Assignments that replace the id. If left out, the rows are deleted, and `extra` of `eraseRows` inserts new ones. */
  readonly set?: string;
}

/** Processes one batch. `extra` is a statement that reads the rows in `changed`. */
export async function eraseRows(
  tx: Queryable,
  target: BatchedTable,
  batch: ErasureBatch,
  extra?: string,
): Promise<BatchResult> {
  const { table, org, key, where, set } = target;
  const change =
    set === undefined
      ? `DELETE FROM ${table} AS row USING matched`
      : `UPDATE ${table} AS row SET ${set} FROM matched`;
  const names = key.map(([name]) => name);
  const cursor = batch.cursor as readonly string[] | null;
  const beyond =
    cursor === null
      ? ''
      : `AND (${names.join(', ')}) > (${key.map(([, type], index) => `$${index + 7}::${type}`).join(', ')})`;
  const [row] = await tx.query<{ seen: number; changed: number; last: string[] | null }>(
    `WITH batch AS MATERIALIZED (
       SELECT * FROM ${table} WHERE ${org} = $1 ${beyond} ORDER BY ${names.join(', ')} LIMIT $5
     ), matched AS (
       SELECT ${names.join(', ')} FROM batch WHERE (${where}) AND $2::text IS NOT NULL AND $3::text IS NOT NULL AND $4::text IS NOT NULL AND $6::text IS NOT NULL
     ), changed AS (
       ${change}
        WHERE row.${org} = $1 AND ${names.map((name) => `row.${name} = matched.${name}`).join(' AND ')}
       RETURNING row.*
     )${extra === undefined ? '' : `, more AS (${extra})`}
     SELECT (SELECT count(*) FROM batch)::int4 AS seen, (SELECT count(*) FROM changed)::int4 AS changed,
            (SELECT ARRAY[${names.map((name) => `${name}::text`).join(', ')}] FROM batch
              ORDER BY ${names.map((name) => `${name} DESC`).join(', ')} LIMIT 1) AS last`,
    [
      batch.orgId,
      batch.from,
      batch.to,
      JSON.stringify(batch.from),
      rowsPerBatch,
      namePattern(batch.from),
      ...(cursor ?? []),
    ],
  );
  return {
    changed: row?.changed ?? 0,
    next: row !== undefined && row.seen === rowsPerBatch ? row.last : null,
  };
}

/**
 * Processes at most `rowsPerBatch` rows of the customer that were charged in a time range. Must be called again while `next` is not
 * null.
 */
export async function eraseRowsWithin(
  tx: Queryable,
  target: BatchedTable & { readonly set: string },
  batch: ErasureBatch,
  [from, to]: TimeSpan,
  extra: string,
): Promise<BatchResult> {
  const { table, org, key, where, set } = target;
  const names = key.map(([name]) => name);
  const [row] = await tx.query<{ changed: number }>(
    `WITH matched AS MATERIALIZED (
       SELECT ${names.join(', ')} FROM ${table}
        WHERE ${org} = $1 AND charged_at >= $7 AND charged_at < $8 AND (${where}) AND $4::text IS NOT NULL LIMIT $5
     ), changed AS (
       UPDATE ${table} AS row SET ${set} FROM matched
        WHERE row.${org} = $1 AND ${names.map((name) => `row.${name} = matched.${name}`).join(' AND ')}
       RETURNING row.*
     ), more AS (${extra})
     SELECT count(*)::int4 AS changed FROM changed`,
    [
      batch.orgId,
      batch.from,
      batch.to,
      JSON.stringify(batch.from),
      rowsPerBatch,
      namePattern(batch.from),
      from,
      to,
    ],
  );
  const changed = row?.changed ?? 0;
  return { changed, next: changed === rowsPerBatch ? 'more' : null };
}
