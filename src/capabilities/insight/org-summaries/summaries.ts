/** Figures of organizations for operators: computed for one, or read as a job has stored them for all. */
import { formatUsd } from '../../../kernel/money.ts';
import { calendarWindow } from '../../../kernel/windows.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import type { LimitUsage } from '../../../ledger/limits/limit-usage.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { type PageOf, viewPage } from '../../../platform/http/routes/list.ts';
import type { OrgRow } from '../../access/orgs/index.ts';
import {
  findOrgWideLimits,
  listSummaries,
  type OrgInZone,
  type OrgWideLimit,
  readUsageFigures,
  type SummaryFigures,
  type SummaryRow,
} from './queries.ts';
import type { OrgSummaryView, SummaryFilters } from './schema.ts';

export interface SummaryDependencies {
  readonly db: Queryable;
  readonly ledger: Pick<LedgerReads, 'limitUsage'>;
}

export async function computeFigures(
  { db, ledger }: SummaryDependencies,
  { id, timezone }: OrgInZone,
  now: Date,
): Promise<SummaryFigures> {
  const month = calendarWindow('month', timezone, now.getTime());
  const usage = await readUsageFigures(db, id, month);
  const limits = await findOrgWideLimits(db, id);
  const usages =
    limits.length === 0
      ? []
      : await ledger.limitUsage(
          id,
          limits.map((limit) => limit.id),
        );
  const used = new Map(usages.map((one) => [one.limit.id, usedOf(one)]));
  const prepaid = limits.find(({ kind }) => kind === 'prepaid');
  return {
    month,
    spendNanos: BigInt(usage.spend_nanos),
    runs: usage.runs,
    lastActiveAt: usage.last_active_at,
    balanceNanos: prepaid === undefined ? null : prepaid.capacity - (used.get(prepaid.id) ?? 0n),
    nearest: nearestOf(limits, usages),
  };
}

function usedOf({ settled, held }: LimitUsage): bigint {
  return settled + held;
}

/** Capacities include active raises. */
function nearestOf(
  limits: readonly OrgWideLimit[],
  usages: readonly LimitUsage[],
): SummaryFigures['nearest'] {
  const shares = limits.flatMap(({ id, kind }) => {
    const usage = usages.find(({ limit }) => limit.id === id);
    return usage === undefined ? [] : [{ kind, percent: percentOf(usedOf(usage), usage.limit.capacity) }];
  });
  return shares.reduce<SummaryFigures['nearest']>(
    (nearest, one) => (nearest === null || one.percent > nearest.percent ? one : nearest),
    null,
  );
}

/** Rounded down, so that a limit is at 100 % only once it is used up. A limit of zero is used up. */
function percentOf(amount: bigint, capacity: bigint): bigint {
  return capacity <= 0n ? 100n : (amount * 100n) / capacity;
}

export async function readSummary(
  deps: SummaryDependencies,
  org: OrgRow,
  now: Date,
): Promise<OrgSummaryView> {
  const { month, spendNanos, runs, lastActiveAt, balanceNanos, nearest } = await computeFigures(
    deps,
    org,
    now,
  );
  return {
    ...identityOf(org),
    month_start: new Date(month.startMs).toISOString(),
    spend_usd: formatUsd(spendNanos),
    runs: Number(runs),
    prepaid_balance_usd: balanceNanos === null ? null : formatUsd(balanceNanos),
    nearest_limit: nearest && { kind: nearest.kind, used_percent: Number(nearest.percent) },
    last_active_at: lastActiveAt?.toISOString() ?? null,
    as_of: now.toISOString(),
  };
}

export async function readSummaries(
  db: Queryable,
  query: SummaryFilters,
  now: Date,
): Promise<PageOf<OrgSummaryView>> {
  return viewPage(listSummaries(db, query, now), (row) => viewRow(row, now));
}

function viewRow(row: SummaryRow, now: Date): OrgSummaryView {
  const { nearest_kind, balance_nanos, refreshed_at } = row;
  return {
    ...identityOf(row),
    month_start: new Date(calendarWindow('month', row.timezone, now.getTime()).startMs).toISOString(),
    spend_usd: formatUsd(row.spend_usd),
    runs: Number(row.runs),
    prepaid_balance_usd: balance_nanos === null ? null : formatUsd(balance_nanos),
    nearest_limit:
      nearest_kind === null ? null : { kind: nearest_kind, used_percent: Number(row.used_percent) },
    last_active_at: row.last_active_at.getTime() === 0 ? null : row.last_active_at.toISOString(),
    as_of: refreshed_at?.toISOString() ?? null,
  };
}

function identityOf({
  id,
  name,
  slug,
  status,
  created_at,
}: Pick<OrgRow, 'id' | 'name' | 'slug' | 'status' | 'created_at'>) {
  return { id, name, slug, status, created_at: created_at.toISOString() };
}
