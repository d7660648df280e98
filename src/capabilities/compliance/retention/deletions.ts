/**
 * Deletes old data of an org, one bounded batch at a time. The same statement adds closing balances for deleted runs
 * and ledger entries, so that the ledger balances at any time, also if the process is killed.
 */
import type { Queryable, Transaction } from '../../../platform/db/database.ts';

/** Runs in progress are kept as long as their decision could still be settled, also if their held amount was posted. */
const unendedKeptMs = 8 * 24 * 3_600_000;

const addToBalances = `
  ON CONFLICT (org_id, source, bucket) DO UPDATE
    SET usd_nanos = there.usd_nanos + excluded.usd_nanos, tokens = there.tokens + excluded.tokens,
        requests = there.requests + excluded.requests, uncovered_nanos = there.uncovered_nanos + excluded.uncovered_nanos`;
const bucketExpression = (column: string) => `date_bin('15 minutes', ${column}, '2000-01-01T00:00:00Z')`;

export async function deleteRuns(
  tx: Transaction,
  orgId: string,
  { before, now, limit }: { readonly before: Date; readonly now: Date; readonly limit: number },
): Promise<number> {
  const unended = new Date(Math.min(before.getTime(), now.getTime() - unendedKeptMs));
  return counted(
    tx,
    `WITH old AS MATERIALIZED (
       SELECT charged_at, id FROM runs
        WHERE org_id = $1 AND charged_at < $2 AND (status <> 'running' OR charged_at < $3)
        ORDER BY charged_at, id LIMIT $4
     ), gone AS (
       DELETE FROM runs USING old
        WHERE runs.org_id = $1 AND runs.charged_at < $2 AND runs.charged_at = old.charged_at AND runs.id = old.id
       RETURNING runs.charged_at, cost_nanos, adjusted_nanos, uncovered_nanos, input_tokens, output_tokens
     ), closed AS (
       INSERT INTO closed_balances AS there (org_id, source, bucket, usd_nanos, tokens, requests, uncovered_nanos)
       SELECT $1, 'runs', ${bucketExpression('charged_at')}, sum(cost_nanos + adjusted_nanos), sum(input_tokens + output_tokens),
              count(*), sum(uncovered_nanos)
         FROM gone WHERE cost_nanos IS NOT NULL GROUP BY 3
       ${addToBalances}
     )
     SELECT count(*)::int4 AS count FROM gone`,
    [orgId, before, unended, limit],
  );
}

export async function deleteLedgerEntries(
  tx: Transaction,
  orgId: string,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> {
  return counted(
    tx,
    `WITH old AS MATERIALIZED (
       SELECT charged_at, id FROM ledger_entries WHERE org_id = $1 AND charged_at < $2 ORDER BY charged_at, id LIMIT $3
     ), gone AS (
       DELETE FROM ledger_entries e USING old
        WHERE e.org_id = $1 AND e.charged_at < $2 AND e.charged_at = old.charged_at AND e.id = old.id
       RETURNING e.charged_at, e.usd_nanos, e.tokens, e.requests, e.uncovered_nanos, e.prepaid_nanos, e.packs, e.chain_id,
                 e.customer_id
     ), balances AS (
       INSERT INTO closed_balances AS there (org_id, source, bucket, usd_nanos, tokens, requests, uncovered_nanos)
       SELECT $1, 'entries', ${bucketExpression('charged_at')}, sum(usd_nanos), sum(tokens), sum(requests), sum(uncovered_nanos)
         FROM gone GROUP BY 3
       ${addToBalances}
     ), payments AS (
       INSERT INTO closed_payments AS there (org_id, kind, id, nanos)
       SELECT $1, kind, id, sum(nanos) FROM (
         SELECT 'credits' AS kind, pack ->> 0 AS id, (pack ->> 1)::int8 AS nanos
           FROM gone CROSS JOIN jsonb_array_elements(packs) AS pack WHERE packs IS NOT NULL
         UNION ALL SELECT 'prepaid', '', prepaid_nanos FROM gone WHERE prepaid_nanos <> 0
       ) AS paid GROUP BY 2, 3
       ON CONFLICT (org_id, kind, id) DO UPDATE SET nanos = there.nanos + excluded.nanos
     ), chains AS (
       INSERT INTO closed_chains AS there (org_id, chain_id, usd_nanos, tokens, requests, customer_ids)
       SELECT $1, chain_id, sum(usd_nanos), sum(tokens), sum(requests),
              coalesce(array_agg(DISTINCT customer_id) FILTER (WHERE strpos(chain_id, customer_id) > 0), '{}')
         FROM gone WHERE chain_id IS NOT NULL GROUP BY 2
       ON CONFLICT (org_id, chain_id) DO UPDATE
         SET usd_nanos = there.usd_nanos + excluded.usd_nanos, tokens = there.tokens + excluded.tokens,
             requests = there.requests + excluded.requests,
             customer_ids = ARRAY(SELECT DISTINCT unnest(there.customer_ids || excluded.customer_ids))
     )
     SELECT count(*)::int4 AS count FROM gone`,
    [orgId, before, limit],
  );
}

export async function deleteContents(
  tx: Transaction,
  orgId: string,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> {
  return counted(
    tx,
    `WITH old AS MATERIALIZED (
       SELECT charged_at, id FROM runs
        WHERE org_id = $1 AND charged_at < $2 AND content IS NOT NULL ORDER BY charged_at, id LIMIT $3
     ), gone AS (
       UPDATE runs SET content = NULL FROM old
        WHERE runs.org_id = $1 AND runs.charged_at < $2 AND runs.charged_at = old.charged_at AND runs.id = old.id
       RETURNING 1
     )
     SELECT count(*)::int4 AS count FROM gone`,
    [orgId, before, limit],
  );
}

async function counted(db: Queryable, sql: string, params: readonly unknown[]): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql, params);
  return row?.count ?? 0;
}
