/** The plan of an export: its time range and charge periods, its grouping and its conditions. */
import { invalidField } from '../../../contract/api-error.ts';
import { tagPrefix } from '../../../kernel/limits.ts';
import {
  conditionsOf,
  type GroupBy,
  parseDimension,
  type RowsRequest,
  spanStarts,
  spans,
  usageRange,
} from '../usage/index.ts';
import { dimensionsMax, type FocusQuery, focusDimensions } from './schema.ts';

type ChargeSpan = (typeof spans)[number];
export type Label = Exclude<GroupBy, { kind: 'span' | 'part' }>;

export interface FocusPlan extends RowsRequest {
  /** Starts of the charge periods; the first may be before the range. */
  readonly startsMs: readonly number[];
  /** Groupings in addition to charge period, provider and model. */
  readonly labels: readonly Label[];
}

/** Times are in UTC, as the specification requires, whatever the time zone of the organization. */
export function planFocus(
  orgId: string,
  query: FocusQuery,
  now: Date,
  { isByKind }: { readonly isByKind: boolean },
): FocusPlan {
  const { labels, span } = parseGrouping(query.group_by);
  const range = usageRange(query, 'UTC', now);
  const startsMs = spanStarts(span, 'UTC', range);
  return {
    orgId,
    now,
    range,
    ...conditionsOf(query),
    startsMs,
    labels,
    groupBy: [
      { kind: 'span', name: span, startsMs },
      { kind: 'field', name: 'provider' },
      { kind: 'field', name: 'model' },
      ...labels,
      ...(isByKind ? [{ kind: 'part', name: 'kind' } as const] : []),
    ],
  };
}

function parseGrouping(text = ''): { labels: Label[]; span: ChargeSpan } {
  const names = text === '' ? [] : text.split(',').map((name) => name.trim());
  const labels: Label[] = [];
  const wantedSpans: ChargeSpan[] = [];
  for (const name of names) {
    const one = parseDimension(name);
    if (one?.kind === 'span') {
      wantedSpans.push(one.name);
    } else if (one?.kind === 'tag' || (one?.kind === 'field' && focusDimensions.includes(one.name))) {
      labels.push(one);
    } else {
      throw invalidGrouping();
    }
  }
  if (new Set(names).size < names.length || wantedSpans.length > 1) {
    throw invalidGrouping();
  }
  if (labels.length > dimensionsMax) {
    throw invalidField('group_by', 'too_many', `Must have at most ${dimensionsMax} dimensions.`);
  }
  return { labels, span: wantedSpans[0] ?? 'day' };
}

function invalidGrouping() {
  const names = [...focusDimensions, `${tagPrefix}<name>`].join(', ');
  return invalidField(
    'group_by',
    'invalid_value',
    `Must be a list of these, each at most once: ${names}, and one of ${spans.join(', ')}.`,
  );
}
