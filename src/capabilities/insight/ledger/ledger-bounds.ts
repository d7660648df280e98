/** Reads when postings were made. */
import type { TimeRange } from '../../../kernel/rollup-parts.ts';
import type { Queryable } from '../../../platform/db/database.ts';

/** Returns the time range of an org's ledger; undefined if it is empty. */
export async function findBounds(db: Queryable, orgId: string): Promise<TimeRange | undefined> {
  const [row] = await db.query<{ first: Date | null; last: Date | null }>(
    `SELECT least(e.first, r.first, u.first, d.first, t.first) AS first,
            greatest(e.last, r.last, u.last, d.last, t.last) AS last
       FROM (SELECT min(charged_at) AS first, max(charged_at) AS last FROM ledger_entries WHERE org_id = $1) e,
            (SELECT min(charged_at) AS first, max(charged_at) AS last FROM runs WHERE org_id = $1) r,
            (SELECT min(bucket) AS first, max(bucket) AS last FROM usage_rollups WHERE org_id = $1) u,
            (SELECT min(day) AS first, max(day) AS last FROM usage_days WHERE org_id = $1) d,
            (SELECT min(bucket) AS first, max(bucket) AS last FROM usage_totals WHERE org_id = $1) t`,
    [orgId],
  );
  return row?.first == null || row.last == null
    ? undefined
    : { fromMs: row.first.getTime(), toMs: row.last.getTime() + 1 };
}

/** Returns orgs with recent postings, latest first. */
export async function findRecentlyBooked(
  db: Queryable,
  limit: number,
): Promise<{ org_id: string; last_at: Date }[]> {
  return db.query<{ org_id: string; last_at: Date }>(
    `SELECT org_id, last_at FROM ledger_orgs WHERE last_at > '1970-01-01T00:00:00Z' ORDER BY last_at DESC LIMIT $1`,
    [limit],
  );
}
