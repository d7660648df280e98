/** Lists every limit of an org with its settled and held amounts. */
import { inUnit } from '../../../kernel/denial.ts';
import { limitKinds } from '../../../kernel/limits.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import type { LimitUsage } from '../../../ledger/limits/limit-usage.ts';
import { isConcurrency, type LimitRow, listLimits } from '../../../ledger/limits/limits.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { PageOf } from '../../../platform/http/routes/list.ts';
import { type LimitFilters, type LimitUsageView, limitSorts } from './schema.ts';

export interface LimitUsageDependencies {
  readonly db: Database;
  readonly ledger: Pick<Ledger, 'limitUsage'>;
}

export async function listLimitUsage(
  { db, ledger }: LimitUsageDependencies,
  orgId: string,
  query: LimitFilters,
): Promise<PageOf<LimitUsageView>> {
  const { data, next_cursor } = await listLimits(db, {
    orgId,
    kind: query.kind ?? limitKinds,
    where: [[`match ->> 'customer_id' = ?`, query.customer_id]],
    sorts: limitSorts,
    defaultSort: 'created_at',
    query,
  });
  const usages = await ledger.limitUsage(
    orgId,
    data.map(({ id }) => id),
  );
  const byId = new Map(usages.map((usage) => [usage.limit.id, usage]));
  return { data: data.map((row) => view(row, byId.get(row.id))), next_cursor };
}

function view(row: LimitRow, usage: LimitUsage | undefined): LimitUsageView {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    unit: isConcurrency(row) ? 'concurrent' : row.unit,
    match: { ...row.match } as Record<string, string>,
    enforcement: row.enforcement,
    limit: inUnit(row, row.capacity),
    standing: usage === undefined ? null : viewUsage(row, usage),
    expires_at: row.expires_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  };
}

function viewUsage(row: LimitRow, { settled, held, window }: LimitUsage): LimitUsageView['standing'] {
  const left = row.capacity - settled - held;
  const hasWindow = row.period !== null || row.window_seconds !== null;
  const instant = (atMs: number) => (hasWindow ? new Date(atMs).toISOString() : null);
  return {
    settled: inUnit(row, settled),
    held: inUnit(row, held),
    remaining: inUnit(row, left > 0n ? left : 0n),
    window_start: instant(window.startMs),
    window_end: instant(window.endMs),
  };
}
