import type { LimitKind } from '../../../kernel/limits.ts';
import type { Window } from '../../../kernel/windows.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type SummaryFilters, summarySorts } from './schema.ts';

export interface OrgInZone {
  readonly id: string;
  readonly timezone: string;
}

/** The computed figures of an org. */
export interface SummaryFigures {
  readonly month: Window;
  readonly spendNanos: bigint;
  readonly runs: bigint;
  readonly lastActiveAt: Date | null;
  readonly balanceNanos: bigint | null;
  readonly nearest: { readonly kind: LimitKind; readonly percent: bigint } | null;
}

export interface UsageFigures {
  /** A whole number. Sums of backfilled runs exceed 64 bits. */
  readonly spend_nanos: string;
  readonly runs: bigint;
  readonly last_active_at: Date | null;
}

export async function readUsageFigures(db: Queryable, orgId: string, month: Window): Promise<UsageFigures> {
  const [row] = await db.query<UsageFigures>(
    `SELECT coalesce(sum(usd_nanos), 0)::text AS spend_nanos, coalesce(sum(requests), 0)::int8 AS runs,
            greatest((SELECT max(bucket) FROM usage_totals WHERE org_id = $1),
                     (SELECT max(last_used_at) FROM keys WHERE org_id = $1)) AS last_active_at
       FROM usage_totals WHERE org_id = $1 AND bucket >= $2 AND bucket < $3`,
    [orgId, new Date(month.startMs), new Date(month.endMs)],
  );
  return row ?? { spend_nanos: '0', runs: 0n, last_active_at: null };
}

export interface OrgWideLimit {
  readonly id: string;
  readonly kind: LimitKind;
  readonly capacity: bigint;
}

/** The kinds of limits that can apply to all requests of an org and have a usage. */
const orgWideKinds: readonly LimitKind[] = [
  'plan_runs',
  'plan_tokens',
  'prepaid',
  'quota',
  'spend_cap',
  'budget',
];
const orgWideLimitsMax = 50;

export function findOrgWideLimits(db: Queryable, orgId: string): Promise<OrgWideLimit[]> {
  return db.query<OrgWideLimit>(
    `SELECT id, kind, capacity FROM limits
      WHERE org_id = $1 AND ended_at IS NULL AND match = '{}'::jsonb AND kind = ANY($2)
      ORDER BY created_at, id LIMIT $3`,
    [orgId, orgWideKinds, orgWideLimitsMax],
  );
}

export interface DueOptions {
  readonly now: Date;
  /** Orgs with usage since their last refresh are due after this time, the others after `idleSeconds`. */
  readonly activeSeconds: number;
  readonly idleSeconds: number;
  /** Ids of orgs that are left out. */
  readonly except: readonly string[];
  readonly limit: number;
}

/** Returns the orgs whose figures are missing or old, those without figures first. */
export function findDueOrgs(db: Queryable, options: DueOptions): Promise<OrgInZone[]> {
  const { now, activeSeconds, idleSeconds, except, limit } = options;
  return db.query<OrgInZone>(
    `SELECT orgs.id, orgs.timezone FROM orgs LEFT JOIN org_summaries AS stored ON stored.org_id = orgs.id
      WHERE orgs.removed_at IS NULL AND orgs.id <> ALL($5::text[]) AND (
        stored.refreshed_at IS NULL
        OR stored.refreshed_at <= $1::timestamptz - make_interval(secs => $3)
        OR stored.month_ends_at <= $1
        -- Citus runs no subquery that refers to \`orgs\`, which is a reference table.
        OR orgs.id IN (
          SELECT org_id FROM org_summaries AS active
           WHERE refreshed_at <= $1::timestamptz - make_interval(secs => $2) AND EXISTS (
             SELECT FROM usage_totals AS used
              -- A bucket is named by its start.
              WHERE used.org_id = active.org_id AND used.bucket > active.refreshed_at - interval '15 minutes')))
      ORDER BY stored.refreshed_at NULLS FIRST, orgs.id LIMIT $4`,
    [now, activeSeconds, idleSeconds, limit, except],
  );
}

const storedMax = 2n ** 63n - 1n;

/** Returns the nearest number that fits into a column: a figure beyond it must not keep the others from being stored. */
function storable(figure: bigint): bigint {
  if (figure > storedMax) {
    return storedMax;
  }
  return figure < -storedMax ? -storedMax : figure;
}

/** Stores nothing for an org that was removed meanwhile, nor older figures than the stored ones. */
export async function storeFigures(
  db: Queryable,
  orgId: string,
  { month, spendNanos, runs, lastActiveAt, balanceNanos, nearest }: SummaryFigures,
  now: Date,
): Promise<void> {
  await db.query(
    `INSERT INTO org_summaries AS stored (org_id, month_starts_at, month_ends_at, spend_nanos, runs, last_active_at,
                                          balance_nanos, nearest_kind, nearest_percent, refreshed_at)
     SELECT id, $2::timestamptz, $3::timestamptz, $4::int8, $5::int8, $6::timestamptz, $7::int8, $8::text, $9::int8,
            $10::timestamptz
       FROM orgs WHERE id = $1 AND removed_at IS NULL
     ON CONFLICT (org_id) DO UPDATE SET
       month_starts_at = excluded.month_starts_at, month_ends_at = excluded.month_ends_at,
       spend_nanos = excluded.spend_nanos, runs = excluded.runs, last_active_at = excluded.last_active_at,
       balance_nanos = excluded.balance_nanos, nearest_kind = excluded.nearest_kind,
       nearest_percent = excluded.nearest_percent, refreshed_at = excluded.refreshed_at
     WHERE stored.refreshed_at <= excluded.refreshed_at`,
    [
      orgId,
      new Date(month.startMs),
      new Date(month.endMs),
      storable(spendNanos),
      runs,
      lastActiveAt,
      balanceNanos === null ? null : storable(balanceNanos),
      nearest?.kind ?? null,
      storable(nearest?.percent ?? 0n),
      now,
    ],
  );
}

/** A row of the list. Sort columns have the names of the sort fields and are never null. */
export interface SummaryRow {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly timezone: string;
  readonly status: 'active' | 'suspended';
  readonly created_at: Date;
  /** In nanodollars. */
  readonly spend_usd: bigint;
  readonly runs: bigint;
  readonly balance_nanos: bigint | null;
  readonly nearest_kind: LimitKind | null;
  readonly used_percent: bigint;
  /** The epoch, if the org was never active. */
  readonly last_active_at: Date;
  readonly refreshed_at: Date | null;
}

export function listSummaries(db: Queryable, query: SummaryFilters, now: Date): Promise<PageOf<SummaryRow>> {
  // Until they are refreshed, figures of last month do not count in this one.
  const ofThisMonth = (column: string) =>
    `CASE WHEN month_ends_at > '${now.toISOString()}'::timestamptz THEN ${column} ELSE 0 END`;
  return selectPage<SummaryRow>(db, {
    select: `SELECT * FROM (
      SELECT orgs.id, orgs.name, orgs.slug, orgs.timezone, orgs.status, orgs.created_at,
             ${ofThisMonth('spend_nanos')} AS spend_usd, ${ofThisMonth('runs')} AS runs, balance_nanos, nearest_kind,
             coalesce(nearest_percent, 0) AS used_percent,
             coalesce(last_active_at, to_timestamp(0)) AS last_active_at, refreshed_at
        FROM orgs LEFT JOIN org_summaries ON org_id = orgs.id WHERE removed_at IS NULL) AS summaries`,
    where: [
      ['status = ?', query.status],
      [`position(lower(?) IN lower(name || E'\\n' || slug || E'\\n' || id)) > 0`, query.search],
    ],
    sorts: summarySorts,
    defaultSort: '-created_at',
    query,
  });
}
