/** The usage of a limit with a wildcard by value, such as what is left of the budget of each member. */
import { apiError } from '../../../contract/api-error.ts';
import { usageDimensions } from '../../../contract/run-dimensions.ts';
import {
  emptyScope,
  fieldsOf,
  isTagField,
  type Limit,
  type Match,
  type MatchField,
  type Scope,
  tagNameOf,
  type Unit,
  WILDCARD,
  windowOf,
} from '../../../kernel/limits.ts';
import { bucketMs } from '../../../kernel/rollup-parts.ts';
import type { Window } from '../../../kernel/windows.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import { findLimitsEvenEnded, type LimitRow, toLimit } from '../../../ledger/limits/limits.ts';
import type { TimezoneOf } from '../../../ledger/limits/org-timezone.ts';
import type { Database, Queryable } from '../../../platform/db/database.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type GroupBy, Params, parseDimension, type RowsRequest, selectRows } from '../usage/index.ts';
import { type LimitValuesQuery, type LimitValueView, limitValueSorts } from './limit-schema.ts';
import { hasWindow, stateOf, viewUsage } from './limit-usage-list.ts';

export interface LimitValuesDependencies {
  readonly db: Database;
  readonly ledger: Pick<LedgerReads, 'limitUsageIn'>;
  readonly timezoneOf: TimezoneOf;
}

/** Usage tells which values were used in the window; the ledger tells how much of the limit each of them has used. */
export async function listLimitValues(
  { db, ledger, timezoneOf }: LimitValuesDependencies,
  orgId: string,
  limitId: string,
  { now, ...query }: LimitValuesQuery & { readonly now: Date },
): Promise<PageOf<LimitValueView>> {
  const [row] = await findLimitsEvenEnded(db, orgId, [limitId]);
  if (row === undefined || row.ended_at !== null) {
    throw apiError('not_found');
  }
  const limit = toLimit(row);
  const wildcards = fieldsOf(limit.match).filter((field) => limit.match[field] === WILDCARD);
  if (!isCountedByValue(row, wildcards)) {
    return { data: [], next_cursor: null };
  }
  const window = windowOf(limit, await timezoneOf(orgId), now.getTime());
  const used = await selectUsedValues(db, { orgId, window, wildcards, limit, query, now });
  const valuesUsed = used.data.map(({ id }) => namedValues(wildcards, JSON.parse(id)));
  const usages = await ledger.limitUsageIn(orgId, limitId, valuesUsed.map(scopeWith));
  return {
    data: usages.map((usage, index) => ({
      values: valuesUsed[index] ?? {},
      standing: viewUsage(row, usage),
      state: stateOf(usage),
    })),
    next_cursor: used.next_cursor,
  };
}

/** Rates are not counted in the ledger, and usage is not grouped by chain. */
function isCountedByValue(row: LimitRow, wildcards: readonly MatchField[]): boolean {
  const isDimension = (field: MatchField) =>
    isTagField(field) || usageDimensions.some((name) => name === field);
  return wildcards.length > 0 && wildcards.every(isDimension) && hasWindow(row) && row.kind !== 'rate';
}

interface UsedValuesRequest {
  readonly orgId: string;
  readonly window: Window;
  readonly wildcards: readonly MatchField[];
  readonly limit: Limit;
  readonly query: LimitValuesQuery;
  readonly now: Date;
}

interface UsedWildcards {
  /** The values of the wildcards, as a JSON array. */
  readonly id: string;
  /** A whole number. Sums of backfilled runs exceed 64 bits. */
  readonly settled: string;
}

const amountIn: Record<Unit, string> = {
  usd: 'usd_nanos',
  tokens: 'input_tokens + output_tokens',
  requests: 'runs',
};

/** A window that does not start and end on a bucket of usage is extended: the ledger has its exact amounts. */
function selectUsedValues(
  db: Queryable,
  { orgId, window, wildcards, limit: { match, unit }, query, now }: UsedValuesRequest,
): Promise<PageOf<UsedWildcards>> {
  const params = new Params();
  const range = {
    fromMs: Math.floor(window.startMs / bucketMs) * bucketMs,
    toMs: Math.ceil(window.endMs / bucketMs) * bucketMs,
  };
  const groupBy = wildcards.map((field) => parseDimension(field) as GroupBy);
  const rows = selectRows({ orgId, now, range, filters: filtersOf(match), groupBy }, params);
  const values = wildcards.map((_, index) => `v${index}`);
  // Empty: runs without a value. The wildcard: the values of a tag that usage does not tell apart.
  const named = values.map((value) => `${value} <> '' AND ${value} <> '${WILDCARD}'`);
  return selectPage<UsedWildcards>(db, {
    select: `SELECT id, settled FROM (
       SELECT json_build_array(${values.join()})::text AS id, sum(${amountIn[unit]}) AS settled
         FROM (${rows}) AS rows WHERE ${named.join(' AND ')}
        GROUP BY ${values.join()} HAVING sum(runs) <> 0 OR sum(usd_nanos) <> 0
     ) AS used`,
    params: params.values,
    where: [],
    sorts: limitValueSorts,
    defaultSort: '-settled',
    query,
  });
}

/** The fields of a match that are not wildcards. Limits with a tag have no other field. */
function filtersOf(match: Match): RowsRequest['filters'] {
  const named = usageDimensions.flatMap((name) => {
    const value = (match as Readonly<Record<string, string>>)[name];
    return value === undefined || value === WILDCARD ? [] : [[name, value]];
  });
  return Object.fromEntries(named);
}

/** The values of the wildcards of a limit, by field. */
type WildcardValues = Readonly<Record<string, string>>;

function namedValues(wildcards: readonly MatchField[], values: readonly string[]): WildcardValues {
  return Object.fromEntries(wildcards.map((field, index) => [field, values[index] ?? '']));
}

function scopeWith(values: WildcardValues): Scope {
  const tags = Object.entries(values).flatMap(([field, value]) =>
    isTagField(field) ? [[tagNameOf(field), value]] : [],
  );
  return { ...emptyScope, ...values, tags: Object.fromEntries(tags) };
}
