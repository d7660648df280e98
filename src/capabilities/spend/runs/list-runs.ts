/** Lists runs, with filters, sort orders and a count. */
import { labelDimensions, runDimensionNames } from '../../../contract/run-dimensions.ts';
import { tagsWith } from '../../../ledger/scope.ts';
import { parseUnset } from '../../../ledger/unset-fields.ts';
import type { Database, Queryable } from '../../../platform/db/database.ts';
import {
  type BoundedCount,
  type ComputedSort,
  type Condition,
  countRows,
  selectTwoWayPage,
  type TwoWayPageOf,
} from '../../../platform/http/routes/list.ts';
import { createdAtMsOf } from '../../../platform/ids.ts';
import { columnNames, type RunRow } from './queries.ts';
import { type RunFilters, runSorts } from './schema.ts';

export interface ListedRuns extends TwoWayPageOf<RunRow> {
  /** Number of matching runs; undefined unless requested. */
  readonly count?: BoundedCount;
}

/** Maximum number of counted runs. Counting this many takes about as long as reading a page of usage. */
export const countedRunsMax = 25_000;

/**
 * SQL expressions of computed sort fields. They must equal those in the indexes of migration 0064. A run without a value comes
 * before those with the value 0.
 */
const computedSorts = {
  cost_usd: { sql: 'coalesce(cost_nanos, -1)', of: ({ cost_nanos }) => cost_nanos ?? -1n },
  total_tokens: {
    sql: '(input_tokens + output_tokens)',
    of: ({ input_tokens, output_tokens }) => input_tokens + output_tokens,
  },
  latency_ms: { sql: 'coalesce(latency_ms, -1)', of: ({ latency_ms }) => latency_ms ?? -1n },
} as const satisfies Readonly<Partial<Record<keyof typeof runSorts, ComputedSort<RunRow>>>>;

/** SQL form of `isWithoutPrice` (view.ts). */
const withoutPrice = `marks @> ARRAY['unpriced'] AND (price_version IS NULL OR starts_with(price_version, 'upr_'))`;

export async function listRuns(
  db: Pick<Database, 'query' | 'transaction'>,
  orgId: string,
  query: RunFilters,
  /** Only tests set a lower maximum. */
  rowsMax = countedRunsMax,
): Promise<ListedRuns> {
  const range: readonly Condition[] = [
    ['org_id = ?', orgId],
    ['charged_at >= ?', query.from === undefined ? undefined : new Date(query.from)],
    ['charged_at < ?', query.to === undefined ? undefined : new Date(query.to)],
    ...(await withExternalId(db, orgId, query.external_id)),
    ...(await withDecision(db, orgId, query.decision_id)),
  ];
  const filters = filtersOf(query);
  const isNarrowed = [...range.slice(1), ...filters].some(([, value]) => value !== undefined);
  const isComputed = query.sort !== undefined && Object.hasOwn(computedSorts, query.sort.replace('-', ''));
  const count =
    query.count === true || (isComputed && isNarrowed)
      ? await countRows(db, { table: 'runs', scanned: range, where: filters, rowsMax })
      : undefined;
  const select = (from: Queryable) =>
    selectTwoWayPage<RunRow>(from, {
      select: `SELECT ${columnNames} FROM runs`,
      where: [...range, ...filters],
      sorts: runSorts,
      computedSorts,
      defaultSort: '-charged_at',
      query,
    });
  const page =
    isComputed && isNarrowed && count?.exact === false ? await inIndexOrder(db, select) : await select(db);
  return query.count === true && count !== undefined ? { ...page, count } : page;
}

/**
 * Returns the condition for an external id. `runs` has no index of external ids, so the run is found by its key, which is indexed
 * with the external id.
 */
async function withExternalId(
  db: Queryable,
  orgId: string,
  externalId: string | undefined,
): Promise<Condition[]> {
  if (externalId === undefined) {
    return [];
  }
  const [found] = await db.query<{ run_id: string; charged_at: Date }>(
    'SELECT run_id, charged_at FROM run_identities WHERE org_id = $1 AND external_id = $2',
    [orgId, externalId],
  );
  return found === undefined
    ? [['?::bool', false]]
    : [
        ['charged_at = ?', found.charged_at],
        ['id = ?', found.run_id],
      ];
}

/**
 * Windows around the time in a decision's id that may contain its runs, in milliseconds. The first covers a wait for the ledger,
 * the second covers clocks that differ much.
 */
const decisionWindowsMs = [10_000, 24 * 3_600_000];
/** Matches ids of decisions. Ids of fail-open decisions are longer. */
const isDecisionId = /^dec_[0-9a-hjkmnp-tv-z]{26}/;
const latestMs = Date.UTC(9999, 0);

/**
 * Returns the condition for a decision. `runs` has no index of decisions, because every gateway call would have to write it. A run
 * with a decision has the time of its hold, which is looked up: from the run whose id has the same number, from the ended hold, or
 * near the time in the id of the decision.
 */
async function withDecision(
  db: Queryable,
  orgId: string,
  decisionId: string | undefined,
): Promise<Condition[]> {
  if (decisionId === undefined) {
    return [];
  }
  const chargedAt =
    (await timeOfHold(db, orgId, decisionId)) ?? (await timeNearDecision(db, orgId, decisionId));
  return chargedAt === undefined ? [['?::bool', false]] : [['charged_at = ?', chargedAt]];
}

async function timeOfHold(db: Queryable, orgId: string, decisionId: string): Promise<Date | undefined> {
  const [found] = await db.query<{ charged_at: Date }>(
    `SELECT charged_at FROM run_identities WHERE org_id = $1 AND run_id = $3
     UNION ALL
     SELECT to_timestamp((body ->> 'admittedAtMs')::float8 / 1000) FROM hold_ends WHERE org_id = $1 AND hold_id = $2
     LIMIT 1`,
    [orgId, decisionId, `run${decisionId.slice('dec'.length)}`],
  );
  return found?.charged_at;
}

async function timeNearDecision(db: Queryable, orgId: string, decisionId: string): Promise<Date | undefined> {
  const decidedAtMs = isDecisionId.test(decisionId) ? createdAtMsOf(decisionId) : Number.POSITIVE_INFINITY;
  if (decidedAtMs > latestMs) {
    return undefined;
  }
  for (const windowMs of decisionWindowsMs) {
    const [found] = await db.query<{ charged_at: Date }>(
      // Sorted like the primary key, so that the planner uses that index even on the embedded engine, which has no statistics.
      `SELECT charged_at FROM runs WHERE org_id = $1 AND charged_at BETWEEN $2 AND $3 AND decision_id = $4
        ORDER BY org_id, charged_at, id LIMIT 1`,
      [orgId, new Date(decidedAtMs - windowMs), new Date(decidedAtMs + windowMs), decisionId],
    );
    if (found !== undefined) {
      return found.charged_at;
    }
  }
  return undefined;
}

/**
 * Reads many runs in index order instead of sorting them. The embedded engine has no statistics: its planner expects few runs in
 * any range and would sort them all. It is not used for few matching runs, because reading them in index order would read all
 * others too.
 */
function inIndexOrder<Result>(
  db: Pick<Database, 'transaction'>,
  select: (tx: Queryable) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    await tx.query('SET LOCAL enable_sort = off');
    return select(tx);
  });
}

function filtersOf(query: RunFilters): Condition[] {
  const unset = parseUnset(query.without, labelDimensions, query);
  return [
    ...runDimensionNames.map((name) => [`${name} = ?`, query[name]] as const),
    ...unset.fields.map((name) => [`${name} IS NULL AND ?::bool`, true] as const),
    ...unset.tags.map((name) => [`coalesce(tags ->> ?, '') = ''`, name] as const),
    ['parent_run_id = ?', query.parent_run_id],
    ['external_id = ?', query.external_id],
    ['decision_id = ?', query.decision_id],
    ['tags @> ?::jsonb', query.tag === undefined ? undefined : tagsWith(query.tag)],
    [
      query.flagged ? 'flagged_by IS NOT NULL AND ?::bool' : 'flagged_by IS NULL AND NOT ?::bool',
      query.flagged,
    ],
    ['flagged_by IS NOT NULL AND ? = ANY(flagged_by)', query.flagged_by],
    ['marks @> ARRAY[?::text]', query.mark],
    [`(${withoutPrice}) = ?::bool`, query.unpriced],
  ];
}
