/** The usage of a limit with a wildcard by value, such as what is left of the budget of each member. */
import { apiError } from '../../../contract/api-error.ts';
import { usageDimensions } from '../../../contract/run-dimensions.ts';
import {
  fieldsOf,
  isTagField,
  type MatchField,
  type Scope,
  tagNameOf,
  WILDCARD,
  windowOf,
} from '../../../kernel/limits.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import { emptyScope } from '../../../ledger/limits/limit-usage.ts';
import { findLimitsEvenEnded, type LimitRow, toLimit } from '../../../ledger/limits/limits.ts';
import type { TimezoneOf } from '../../../ledger/limits/org-timezone.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { PageOf } from '../../../platform/http/routes/list.ts';
import { readUsage, type UsageRow } from '../usage/index.ts';
import type { LimitValuesQuery, LimitValueView } from './limit-schema.ts';
import { hasWindow, stateOf, viewUsage } from './limit-usage-list.ts';

export interface LimitValuesDependencies {
  readonly db: Database;
  readonly ledger: Pick<Ledger, 'limitUsageIn'>;
  readonly timezoneOf: TimezoneOf;
}

/** The values of the wildcards of a limit, by field. */
type Values = Readonly<Record<string, string>>;

/** Usage tells which values were used in the window; the ledger tells how much of the limit each of them has used. */
export async function listLimitValues(
  { db, ledger, timezoneOf }: LimitValuesDependencies,
  orgId: string,
  limitId: string,
  { now, ...page }: LimitValuesQuery & { readonly now: Date },
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
  const { startMs, endMs } = windowOf(limit, await timezoneOf(orgId), now.getTime());
  const period = { from: new Date(startMs).toISOString(), to: new Date(endMs).toISOString() };
  const used = await readUsage(db, orgId, { ...page, ...period, group_by: wildcards.join() }, now);
  const valuesUsed = used.data
    .map((group) => valuesOf(group, wildcards))
    .filter((values) => values !== undefined);
  const usages = await ledger.limitUsageIn(orgId, limitId, valuesUsed.map(scopeWith));
  return {
    data: usages.map((usage, index) => ({
      values: valuesUsed[index] ?? {},
      standing: viewUsage(row, usage),
      state: stateOf(row, usage),
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

/** Returns undefined for runs without a value, and for the values of a tag that usage does not tell apart. */
function valuesOf(group: UsageRow, wildcards: readonly MatchField[]): Values | undefined {
  const values = wildcards.map((field) =>
    isTagField(field) ? group.tags?.[tagNameOf(field)] : group[field as keyof UsageRow],
  );
  return values.every((value) => typeof value === 'string' && value !== WILDCARD)
    ? Object.fromEntries(wildcards.map((field, index) => [field, values[index] as string]))
    : undefined;
}

function scopeWith(values: Values): Scope {
  const entries = Object.entries(values);
  const tags = entries.flatMap(([field, value]) => (isTagField(field) ? [[tagNameOf(field), value]] : []));
  return { ...emptyScope, ...values, tags: Object.fromEntries(tags) };
}
