/** Usage summed over time and by the dimensions of runs. */

import { invalidField } from '../../../contract/api-error.ts';
import { usageDimensions } from '../../../contract/run-dimensions.ts';
import { namedKinds, requestedCode } from '../../../kernel/cost-parts.ts';
import { tagPrefix } from '../../../kernel/limits.ts';
import { bucketMs, dayMs, type TimeRange } from '../../../kernel/rollup-parts.ts';
import { calendarWindow } from '../../../kernel/windows.ts';
import { tagsWith } from '../../../ledger/scope.ts';
import { parseUnset } from '../../../ledger/unset-fields.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { decodeCursor, encodeCursor, pageSize } from '../../../platform/http/routes/list.ts';
import { isInstant } from '../../../platform/http/routes/validation.ts';
import { readPage } from './page.ts';
import { findTimezone, type GroupsRequest } from './queries.ts';
import type { GroupBy, RowsRequest } from './rows.ts';
import {
  dimensions,
  dimensionsMax,
  optionalDimensions,
  spans,
  type UsageConditions,
  type UsageQuery,
  type UsageView,
} from './schema.ts';
import { previousRange, spanStarts } from './time-spans.ts';
import { viewCompared, viewGroup } from './view.ts';

const defaultRangeMs = 30 * dayMs;
const rangeMaxDays = 366;

/** A parsed usage query, with its time range and time zone. */
export interface UsagePlan extends GroupsRequest {
  readonly timezone: string;
}

export async function planUsage(
  db: Queryable,
  orgId: string,
  query: UsageQuery,
  now: Date,
): Promise<UsagePlan> {
  const wanted = dimensionsOf(query.group_by);
  const timezone = await findTimezone(db, orgId);
  const range = usageRange(query, timezone, now);
  const before = query.compare === undefined ? undefined : previousRange(range, timezone);
  if (before !== undefined && !isSupportedTime(before.fromMs)) {
    throw invalidField('compare', 'out_of_range', 'The previous period would start before the year 1900.');
  }
  const placedIn = (at: TimeRange) => ({
    range: at,
    groupBy: wanted.map((one) => placed(one, timezone, at)),
  });
  return {
    timezone,
    orgId,
    now,
    ...placedIn(range),
    // Spans are compared by their number: the first day with the first day, and so on.
    before: before && placedIn(before),
    ...conditionsOf(query),
    latencies: true,
  };
}

/** Returns the conditions on runs that the query states. */
export function conditionsOf(
  query: UsageConditions,
): Pick<RowsRequest, 'filters' | 'tags' | 'part'> & Required<Pick<RowsRequest, 'withoutTags'>> {
  const unset = parseUnset(query.without, optionalDimensions, query);
  const filters = usageDimensions.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]]));
  return {
    // In usage, the value of a field that runs do not have is empty.
    filters: Object.fromEntries([...filters, ...unset.fields.map((name) => [name, ''])]),
    tags: query.tag === undefined ? undefined : tagsWith(query.tag),
    withoutTags: unset.tags,
    part: query.kind === undefined ? undefined : partOf(query.kind),
  };
}

/** Returns the code of the kind of usage that a query names. */
export function partOf(kind: string): string {
  const code = requestedCode(kind);
  if (code === undefined) {
    const message = `Must be one of ${namedKinds.join(', ')} or unit:<name>.`;
    throw invalidField('kind', 'invalid_value', message);
  }
  return code;
}

export async function readUsage(
  db: Queryable,
  orgId: string,
  query: UsageQuery,
  now: Date,
): Promise<UsageView> {
  const plan = await planUsage(db, orgId, query, now);
  const { timezone, range, groupBy, before } = plan;
  const order = groupBy.map(({ kind, name }) => `${kind} ${name}`).join();
  const after = query.cursor === undefined ? undefined : parseRank(query.cursor, order, groupBy);
  const limit = query.limit ?? pageSize.fallback;
  const { total, groups } = await readPage(db, { ...plan, after, limit: limit + 1 });
  const page = groups.slice(0, limit);
  const last = groups.length > limit ? page.at(-1) : undefined;
  return {
    ...viewRange(range),
    timezone,
    ...(before && { previous: viewRange(before.range) }),
    total: viewCompared(total),
    data: page.map((group) => viewGroup(group, groupBy, timezone)),
    next_cursor: last === undefined ? null : encodeCursor(order, JSON.stringify(last.rank), ''),
  };
}

export function viewRange({ fromMs, toMs }: TimeRange): { from: string; to: string } {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

/** A requested grouping, before its time range is known. */
export type RequestedGroupBy = GroupBy | { readonly kind: 'span'; readonly name: (typeof spans)[number] };

export function placed(one: RequestedGroupBy, timezone: string, range: TimeRange): GroupBy {
  return one.kind === 'span' ? { ...one, startsMs: spanStarts(one.name, timezone, range) } : one;
}

function dimensionsOf(text: string | undefined): RequestedGroupBy[] {
  const names = text === undefined || text === '' ? [] : text.split(',').map((name) => name.trim());
  const wanted = names.map(parseDimension);
  if (wanted.includes(undefined) || new Set(names).size < names.length) {
    throw invalidField(
      'group_by',
      'invalid_value',
      `Must be a list of these, each at most once: ${dimensions.join(', ')}.`,
    );
  }
  if (names.length > dimensionsMax) {
    throw invalidField('group_by', 'too_many', `Must have at most ${dimensionsMax} entries.`);
  }
  return wanted as RequestedGroupBy[];
}

/** Parses the name of a grouping; undefined if there is none of this name. */
export function parseDimension(text: string): RequestedGroupBy | undefined {
  const field = usageDimensions.find((one) => one === text);
  const span = spans.find((one) => one === text);
  if (field !== undefined) {
    return { kind: 'field', name: field };
  }
  if (span !== undefined) {
    return { kind: 'span', name: span };
  }
  if (text === 'kind') {
    return { kind: 'part', name: text };
  }
  const name = text.startsWith(tagPrefix) ? text.slice(tagPrefix.length) : '';
  return name === '' ? undefined : { kind: 'tag', name };
}

/** Returns the requested range, rounded to whole 15-minute buckets, the resolution of usage. */
export function usageRange(
  { from, to }: Pick<UsageQuery, 'from' | 'to'>,
  timezone: string,
  now: Date,
): TimeRange {
  const toMs = to === undefined ? now.getTime() + 1 : Date.parse(to);
  const fromMs =
    from === undefined ? calendarWindow('day', timezone, toMs - defaultRangeMs).startMs : Date.parse(from);
  if (fromMs >= toMs && to === undefined) {
    throw invalidField('from', 'out_of_range', 'Must be in the past if `to` is omitted.');
  }
  if (fromMs >= toMs) {
    throw invalidField('to', 'out_of_range', 'Must be later than `from`.');
  }
  if (toMs - fromMs > rangeMaxDays * dayMs + 1) {
    throw invalidField('to', 'out_of_range', `Must be at most ${rangeMaxDays} days after \`from\`.`);
  }
  const range = {
    fromMs: Math.floor(fromMs / bucketMs) * bucketMs,
    toMs: Math.ceil(toMs / bucketMs) * bucketMs,
  };
  // The response contains these times too, and rounding may move one out of the supported years.
  if (!isSupportedTime(range.fromMs) || !isSupportedTime(range.toMs)) {
    throw invalidField('to', 'out_of_range', 'The range must be within the years 1900 to 2199.');
  }
  return range;
}

function isSupportedTime(atMs: number): boolean {
  return isInstant(new Date(atMs).toISOString());
}

/**
 * Parses the sort key of the last group of the previous page. Its numbers are parameters of a statement, so they must
 * be numeric.
 */
function parseRank(cursor: string, order: string, groupBy: readonly GroupBy[]): string[] {
  const { value } = decodeCursor(cursor, order, 'text');
  const spansFirst = groupBy.filter(({ kind }) => kind === 'span').length;
  try {
    const rank = JSON.parse(String(value)) as unknown[];
    const usable =
      Array.isArray(rank) &&
      rank.length === groupBy.length + 1 &&
      rank.every((part) => typeof part === 'string' && !part.includes('\u0000')) &&
      rank.slice(0, spansFirst).every((part) => /^\d{1,9}$/.test(String(part))) &&
      // The cost, which is numeric: sums exceed 64 bits.
      /^-?\d+$/.test(String(rank[spansFirst]));
    if (usable) {
      return rank as string[];
    }
  } catch {
    // The cursor is not from this service: it is rejected below.
  }
  throw invalidField('cursor', 'invalid_value', 'This cursor does not belong to this query.');
}
