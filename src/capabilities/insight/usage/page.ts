/**
 * Reads one page of usage with as few rows as possible. Time spans come first in the order, so if they have many
 * groups, the first hours or days fill a page; only the total needs all of them.
 */
import type { Queryable } from '../../../platform/db/database.ts';
import { type SummedUsage, sumUsage, type Times, type TimesOf, type UsageRequest } from './queries.ts';
import { type GroupBy, isTimeOnly } from './rows.ts';

const spansFirst = 8;
const spansFactorMax = 16;

/**
 * Each attempt is a complete statement. If the range of an attempt was too narrow to fill the page, the next range is
 * wider.
 */
export async function readPage(db: Queryable, request: UsageRequest): Promise<SummedUsage> {
  for (let spans = spansFirst; ; ) {
    const narrowed = isTimeOnly(request) ? undefined : narrow(request, spans);
    const sums = await sumUsage(db, { ...request, within: narrowed?.times });
    if (narrowed === undefined || narrowed.isRest || sums.groups.length >= request.limit) {
      return sums;
    }
    const factor = (1.5 * request.limit) / Math.max(1, sums.groups.length);
    spans = Math.ceil(spans * Math.min(spansFactorMax, Math.max(2, factor)));
  }
}

/**
 * Restricts the request to `spans` spans, starting with the last one of the previous page. Undefined if that is the
 * whole range, or if no grouping is by time.
 */
function narrow(request: UsageRequest, spans: number): { times: Times; isRest: boolean } | undefined {
  const { groupBy, before, after } = request;
  const dimensions = groupBy.filter(({ kind }) => kind === 'span');
  const finest = dimensions.toSorted((a, b) => startsOf(b).length - startsOf(a).length)[0];
  if (finest === undefined) {
    return undefined;
  }
  const count = startsOf(finest).length;
  const first = Math.max(0, Number(after?.[dimensions.indexOf(finest)] ?? 1) - 1);
  const isRest = first + spans >= count;
  const cut = (of: TimesOf): TimesOf => {
    const starts = startsOf(of.groupBy[groupBy.indexOf(finest)]);
    const at = (index: number) => (index === 0 ? of.range.fromMs : (starts[index] ?? of.range.toMs));
    return { ...of, range: { fromMs: at(first), toMs: isRest ? of.range.toMs : at(first + spans) } };
  };
  return first === 0 && isRest
    ? undefined
    : { times: { range: cut(request).range, before: before && cut(before) }, isRest };
}

function startsOf(one: GroupBy | undefined): readonly number[] {
  return one?.kind === 'span' ? one.startsMs : [];
}
