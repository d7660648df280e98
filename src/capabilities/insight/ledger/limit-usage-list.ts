/** Lists every limit of an org with its settled and held amounts. */
import { inUnit } from '../../../kernel/denial.ts';
import { limitKinds } from '../../../kernel/limits.ts';
import { formatUsd } from '../../../kernel/money.ts';
import { matchFieldOf } from '../../../kernel/scope-kinds.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import type { LimitUsage } from '../../../ledger/limits/limit-usage.ts';
import { isConcurrency, type LimitRow, listLimits } from '../../../ledger/limits/limits.ts';
import type { Database } from '../../../platform/db/database.ts';
import { type Condition, encodeCursor, type PageOf, pageSize } from '../../../platform/http/routes/list.ts';
import {
  type CurrentUsage,
  type LimitFilters,
  type LimitState,
  type LimitUsageView,
  limitSorts,
  nearPercent,
} from './limit-schema.ts';

export interface LimitUsageDependencies {
  readonly db: Database;
  readonly ledger: Pick<LedgerReads, 'limitUsage'>;
}

const defaultSort = 'created_at';
/** Maximum number of limits that one request examines for their state. */
const examinedMax = 1_000;

export async function listLimitUsage(
  deps: LimitUsageDependencies,
  orgId: string,
  query: LimitFilters,
): Promise<PageOf<LimitUsageView>> {
  const { state } = query;
  return state === undefined ? readPage(deps, orgId, query) : readInState(deps, orgId, query, state);
}

async function readPage(
  { db, ledger }: LimitUsageDependencies,
  orgId: string,
  query: LimitFilters,
): Promise<PageOf<LimitUsageView>> {
  const { data, next_cursor } = await listLimits(db, {
    orgId,
    kind: query.kind ?? limitKinds,
    where: [
      [`match ->> 'customer_id' = ?`, query.customer_id],
      scopeCondition(query.scope_kind),
      ['? IN (SELECT value FROM jsonb_each_text(match))', query.scope_id],
      [
        `strpos(lower(concat_ws(chr(10), name, id, owner, (SELECT string_agg(value, chr(10)) FROM jsonb_each_text(match)))),
                lower(?)) > 0`,
        query.search,
      ],
    ],
    sorts: limitSorts,
    defaultSort,
    query,
  });
  const usages = await ledger.limitUsage(
    orgId,
    data.map(({ id }) => id),
  );
  const byId = new Map(usages.map((usage) => [usage.limit.id, usage]));
  return { data: data.map((row) => viewLimitUsage(row, byId.get(row.id))), next_cursor };
}

function scopeCondition(scopeKind: LimitFilters['scope_kind']): Condition {
  if (scopeKind === 'org') {
    return ['match = ?::jsonb', '{}'];
  }
  const field = scopeKind === 'customer' ? 'customer_id' : scopeKind && matchFieldOf(scopeKind);
  return ['(match ->> ?::text) IS NOT NULL', field];
}

/** The state depends on counters, so it cannot be a condition of the statement: limits are examined page by page. */
async function readInState(
  deps: LimitUsageDependencies,
  orgId: string,
  query: LimitFilters,
  state: LimitState,
): Promise<PageOf<LimitUsageView>> {
  const { limit = pageSize.fallback, sort = defaultSort } = query;
  const found: LimitUsageView[] = [];
  let next: PageOf<LimitUsageView>['next_cursor'] = query.cursor ?? null;
  for (let examined = 0; examined < examinedMax; examined += pageSize.max) {
    const page = await readPage(deps, orgId, {
      ...query,
      limit: pageSize.max,
      ...(next !== null && { cursor: next }),
    });
    for (const [index, one] of page.data.entries()) {
      if (one.state === state) {
        found.push(one);
      }
      const isLast = index === page.data.length - 1 && page.next_cursor === null;
      if (found.length === limit && !isLast) {
        return { data: found, next_cursor: encodeCursor(sort, one.created_at, one.id) };
      }
    }
    next = page.next_cursor;
    if (next === null) {
      break;
    }
  }
  return { data: found, next_cursor: next };
}

export function viewLimitUsage(row: LimitRow, usage: LimitUsage | undefined): LimitUsageView {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    unit: isConcurrency(row) ? 'concurrent' : row.unit,
    match: { ...row.match } as Record<string, string>,
    enforcement: row.enforcement,
    limit: inUnit(row, usage?.limit.capacity ?? row.capacity),
    standing: usage === undefined ? null : viewUsage(row, usage),
    state: usage === undefined ? null : stateOf(usage),
    period: row.period,
    window_seconds: row.window_seconds,
    timezone: row.timezone,
    alert_thresholds: [...row.alert_thresholds],
    owner: row.owner,
    expires_at: row.expires_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  };
}

export function stateOf({ limit: { capacity }, settled, held }: LimitUsage): LimitState {
  const used = settled + held;
  if (used >= capacity) {
    return 'exhausted';
  }
  return used * 100n >= capacity * BigInt(nearPercent) ? 'near' : 'ok';
}

/** The capacity includes active raises. */
export function viewUsage(
  row: LimitRow,
  { limit: { capacity, raised }, settled, held, window }: LimitUsage,
): CurrentUsage {
  const left = capacity - settled - held;
  const instant = (atMs: number) => (hasWindow(row) ? new Date(atMs).toISOString() : null);
  return {
    settled: inUnit(row, settled),
    held: inUnit(row, held),
    remaining: inUnit(row, left > 0n ? left : 0n),
    raised_usd: raised === undefined ? null : formatUsd(raised.amount),
    raised_until: raised === undefined ? null : new Date(raised.untilMs).toISOString(),
    window_start: instant(window.startMs),
    window_end: instant(window.endMs),
  };
}

export function hasWindow({ period, window_seconds }: LimitRow): boolean {
  return period !== null || window_seconds !== null;
}
