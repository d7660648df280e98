/** What was used, summed over time and by what the runs were about. */
import { refuseField } from '../../contract/refusal.ts';
import { formatUsd } from '../../kernel/money.ts';
import { calendarWindow } from '../../kernel/windows.ts';
import type { Queryable } from '../../platform/db/database.ts';
import { decodeCursor, encodeCursor, pageSize } from '../../platform/http/list.ts';
import { isInstant } from '../../platform/http/validation.ts';
import { bucketMs } from '../../platform/ledger/counters.ts';
import { findTimezone, type GroupBy, type Measures, sumUsage, type UsageGroup } from './queries.ts';
import { dayMs } from './rollups.ts';
import {
  type Dimension,
  dimensions,
  dimensionsMax,
  fields,
  spans,
  type UsageQuery,
  type UsageRow,
  type UsageTotal,
  type UsageView,
} from './schema.ts';
import { beginnings, labelOf, type TimeRange } from './time-spans.ts';

const defaultRangeMs = 30 * dayMs;
const rangeMaxDays = 366;

export async function readUsage(
  db: Queryable,
  orgId: string,
  query: UsageQuery,
  now: Date,
): Promise<UsageView> {
  const wanted = dimensionsOf(query.group_by);
  const timezone = await findTimezone(db, orgId);
  const range = rangeOf(query, timezone, now);
  const groupBy = wanted.map((name): GroupBy => {
    const span = spans.find((one) => one === name);
    return span === undefined
      ? { kind: 'field', name: name as (typeof fields)[number] }
      : { kind: 'span', name: span, startsMs: beginnings(span, timezone, range) };
  });
  const limit = query.limit ?? pageSize.fallback;
  const order = wanted.join();
  const { total, groups } = await sumUsage(db, {
    orgId,
    range,
    now,
    filters: Object.fromEntries(
      fields.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])),
    ),
    groupBy,
    after: query.cursor === undefined ? undefined : rankIn(query.cursor, order, groupBy),
    limit: limit + 1,
  });
  const page = groups.slice(0, limit);
  const last = page.at(-1);
  const more = groups.length > limit && last !== undefined;
  return {
    from: new Date(range.fromMs).toISOString(),
    to: new Date(range.toMs).toISOString(),
    timezone,
    total: viewSums(total),
    data: page.map((group) => viewGroup(group, groupBy, timezone)),
    next_cursor: more ? encodeCursor(order, JSON.stringify(last.rank), '') : null,
  };
}

function dimensionsOf(text: string | undefined): Dimension[] {
  const names = text === undefined || text === '' ? [] : text.split(',').map((name) => name.trim());
  const wanted = dimensions.filter((name) => names.includes(name));
  if (wanted.length < names.length) {
    throw refuseField('group_by', 'invalid_value', `Each of these, at most once: ${dimensions.join(', ')}.`);
  }
  if (names.length > dimensionsMax) {
    throw refuseField('group_by', 'too_many', `At most ${dimensionsMax}.`);
  }
  return wanted;
}

/** In whole quarters of an hour, which is as finely as usage is summed. */
function rangeOf({ from, to }: UsageQuery, timezone: string, now: Date): TimeRange {
  const toMs = to === undefined ? now.getTime() + 1 : Date.parse(to);
  const fromMs =
    from === undefined ? calendarWindow('day', timezone, toMs - defaultRangeMs).startMs : Date.parse(from);
  if (fromMs >= toMs) {
    throw refuseField('to', 'out_of_range', 'This has to be later than `from`.');
  }
  if (toMs - fromMs > rangeMaxDays * dayMs + 1) {
    throw refuseField('to', 'out_of_range', `This may be at most ${rangeMaxDays} days after \`from\`.`);
  }
  const range = {
    fromMs: Math.floor(fromMs / bucketMs) * bucketMs,
    toMs: Math.ceil(toMs / bucketMs) * bucketMs,
  };
  // What is answered are times too, and rounding may carry one out of the years that there are.
  if (!isTold(range.fromMs) || !isTold(range.toMs)) {
    throw refuseField('to', 'out_of_range', 'The range has to lie within the years 1900 to 2199.');
  }
  return range;
}

function isTold(atMs: number): boolean {
  return isInstant(new Date(atMs).toISOString());
}

/** Where the page before ended. Its numbers go into a statement, so they have to be numbers. */
function rankIn(cursor: string, order: string, groupBy: readonly GroupBy[]): string[] {
  const { value } = decodeCursor(cursor, order, 'text');
  const spansFirst = groupBy.filter(({ kind }) => kind === 'span').length;
  try {
    const rank = JSON.parse(String(value)) as unknown[];
    const usable =
      Array.isArray(rank) &&
      rank.length === groupBy.length + 1 &&
      rank.every((part) => typeof part === 'string' && !part.includes('\u0000')) &&
      rank.slice(0, spansFirst + 1).every((part) => /^-?\d{1,18}$/.test(String(part)));
    if (usable) {
      return rank as string[];
    }
  } catch {
    // Falls through to the refusal: whatever it was, we did not make it.
  }
  throw refuseField('cursor', 'invalid_value', 'This cursor was not given out for these groups.');
}

function viewGroup(group: UsageGroup, groupBy: readonly GroupBy[], timezone: string): UsageRow {
  const values = groupBy.map((one, index) => {
    const value = group.values[index] ?? '';
    return one.kind === 'field'
      ? [one.name, value === '' ? null : value]
      : [one.name, labelOf(one.name, timezone, one.startsMs[Number(value) - 1] ?? 0)];
  });
  return { ...Object.fromEntries(values), ...viewSums(group) };
}

function viewSums(sums: Measures): UsageTotal {
  return {
    runs: Number(sums.runs),
    input_tokens: Number(sums.input_tokens),
    cached_input_tokens: Number(sums.cached_input_tokens),
    cache_write_tokens: Number(sums.cache_write_tokens),
    output_tokens: Number(sums.output_tokens),
    cost_usd: formatUsd(BigInt(sums.usd_nanos)),
    value_usd: formatUsd(BigInt(sums.value_nanos)),
  };
}
