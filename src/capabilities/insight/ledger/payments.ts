/** Sums payments by credit packs and prepaid balances, according to the entries and to the tallies. */
import type { TimeRange } from '../../../kernel/rollup-parts.ts';
import type { Queryable } from '../../../platform/db/database.ts';

/** Amount paid by a credit pack or by the prepaid balance, which are not limits with windows. */
export interface Payment {
  readonly kind: 'credits' | 'prepaid';
  /** Id of the credit pack; empty for the prepaid balance. */
  readonly id: string;
  readonly nanos: bigint;
}

/** Returns payments according to the entries of a period. */
export async function sumPayments(
  db: Queryable,
  orgId: string,
  { fromMs, toMs }: TimeRange,
): Promise<Payment[]> {
  const rows = await db.query<{ kind: Payment['kind']; id: string; nanos: string }>(
    `SELECT 'credits' AS kind, pack ->> 0 AS id, sum((pack ->> 1)::int8) AS nanos
       FROM ledger_entries CROSS JOIN jsonb_array_elements(packs) AS pack
      WHERE org_id = $1 AND charged_at >= $2 AND charged_at < $3 AND packs IS NOT NULL GROUP BY 2
     UNION ALL
     SELECT 'prepaid', '', coalesce(sum(prepaid_nanos), 0)
       FROM ledger_entries WHERE org_id = $1 AND charged_at >= $2 AND charged_at < $3`,
    [orgId, new Date(fromMs), new Date(toMs)],
  );
  return rows.map((row) => ({ ...row, nanos: BigInt(row.nanos) }));
}

/** Returns payments of entries that were deleted since. */
export async function findClosedPayments(db: Queryable, orgId: string): Promise<Payment[]> {
  return db.query<Payment>('SELECT kind, id, nanos FROM closed_payments WHERE org_id = $1', [orgId]);
}

/** Returns payments according to the tallies. */
export async function findTallies(db: Queryable, orgId: string): Promise<Payment[]> {
  const rows = await db.query<{ kind: Payment['kind']; id: string; nanos: string }>(
    `SELECT l.kind, CASE l.kind WHEN 'credits' THEN l.id ELSE '' END AS id, sum(t.settled) AS nanos
       FROM limit_tallies t JOIN limits l ON l.org_id = t.org_id AND l.id = t.limit_id
      WHERE t.org_id = $1 GROUP BY 1, 2`,
    [orgId],
  );
  return rows.map((row) => ({ ...row, nanos: BigInt(row.nanos) }));
}

/** Returns whether the org ever had a credit pack or a prepaid balance. If not, there are no payments to sum. */
export async function hasPayers(db: Queryable, orgId: string): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 AS one FROM limits WHERE org_id = $1 AND kind IN ('credits', 'prepaid') LIMIT 1`,
    [orgId],
  );
  return rows.length > 0;
}
