/** Sums ledger entries for counters. */
import type { LimitDimension } from '../../../contract/run-dimensions.ts';
import { type Amounts, isTagField, type TagField, tagNameOf } from '../../../kernel/limits.ts';
import type { Queryable } from '../../../platform/db/database.ts';

/** A column of a ledger entry, or a tag, that limits match. */
export type EntryField = LimitDimension | TagField;

/** Counters that can be summed together: they match the same fields, in any of these windows. */
export interface SumRequest {
  readonly fields: readonly EntryField[];
  readonly windows: readonly { readonly startMs: number; readonly endMs: number }[];
  /** Relevant values of each field; null: all values. */
  readonly values: readonly (readonly string[] | null)[];
}

export interface EntrySum {
  /** Index in the requested windows. */
  readonly window: number;
  readonly values: readonly string[];
  readonly amounts: Amounts;
}

/** Sums the entries for many counters at once: each entry is read once per window that contains it. */
export async function sumEntries(db: Queryable, orgId: string, request: SumRequest): Promise<EntrySum[]> {
  const { fields, windows, values } = request;
  const names = fields.filter(isTagField).map(tagNameOf);
  const expressions = fields.map((field) =>
    isTagField(field)
      ? `(e.tags ->> $${fields.length + 4 + names.indexOf(tagNameOf(field))}::text)`
      : `e.${field}`,
  );
  const conditions = expressions.map((expression, index) =>
    values[index] === null
      ? `AND ${expression} IS NOT NULL AND $${index + 4}::text[] IS NULL`
      : `AND ${expression} = ANY($${index + 4}::text[])`,
  );
  const groups = expressions.map((expression) => `, ${expression}`).join('');
  const rows = await db.query<{
    window: number;
    values: string[];
    usd: string;
    tokens: string;
    requests: string;
  }>(
    `SELECT w.number::int4 AS window, ARRAY[${expressions.join(', ')}]::text[] AS values,
            sum(e.usd_nanos) AS usd, sum(e.tokens) AS tokens, sum(e.requests) AS requests
       FROM unnest($2::timestamptz[], $3::timestamptz[]) WITH ORDINALITY AS w(starts_at, ends_at, number)
       JOIN ledger_entries e ON e.org_id = $1 AND e.charged_at >= w.starts_at AND e.charged_at < w.ends_at
            ${conditions.join(' ')}
      GROUP BY w.number${groups}`,
    [
      orgId,
      windows.map(({ startMs }) => new Date(startMs)),
      windows.map(({ endMs }) => new Date(endMs)),
      ...values,
      ...names,
    ],
  );
  return rows.map((row) => ({
    window: row.window - 1,
    values: row.values,
    amounts: { usd: BigInt(row.usd), tokens: BigInt(row.tokens), requests: BigInt(row.requests) },
  }));
}

/** Returns the usage of these chains by deleted entries. */
export async function findClosedChains(
  db: Queryable,
  orgId: string,
  chainIds: readonly string[],
): Promise<(Amounts & { readonly chainId: string })[]> {
  const rows = await db.query<{ chain_id: string; usd_nanos: bigint; tokens: bigint; requests: bigint }>(
    'SELECT chain_id, usd_nanos, tokens, requests FROM closed_chains WHERE org_id = $1 AND chain_id = ANY($2)',
    [orgId, chainIds],
  );
  return rows.map(({ chain_id, usd_nanos, tokens, requests }) => ({
    chainId: chain_id,
    usd: usd_nanos,
    tokens,
    requests,
  }));
}
