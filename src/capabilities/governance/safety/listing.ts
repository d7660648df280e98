/** Lists detectors. Pages are built in memory, because there are few detectors, and built-in ones may have no rows. */
import { decodeCursor, encodeCursor, type PageOf, pageSize } from '../../../platform/http/routes/list.ts';
import { type AnyRow, viewDetector } from './detectors.ts';
import { type DetectorFilters, type DetectorView, detectorSorts } from './schema.ts';

export function detectorPage(rows: readonly AnyRow[], query: DetectorFilters): PageOf<DetectorView> {
  const { limit = pageSize.fallback, sort = 'name', cursor } = query;
  const direction = sort.startsWith('-') ? -1 : 1;
  const after = cursor === undefined ? undefined : decodeCursor(cursor, sort, detectorSorts.name).value;
  const rest = rows
    .filter(({ kind }) => query.kind === undefined || kind === query.kind)
    .filter(({ enabled }) => query.enabled === undefined || enabled === query.enabled)
    .filter(({ action }) => query.action === undefined || action === query.action)
    // Names are unique, so the name alone is the cursor.
    .filter(({ name }) => after === undefined || compare(name, String(after)) * direction > 0)
    .sort((a, b) => compare(a.name, b.name) * direction);
  const shown = rest.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(viewDetector),
    next_cursor: rest.length > limit && last !== undefined ? encodeCursor(sort, last.name, last.id) : null,
  };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
