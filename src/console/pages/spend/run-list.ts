/** The list of runs: range, filters with the values in use, sort orders and the position. */
import { ApiFailure } from '../../api.ts';
import { buttonTo } from '../../buttons.ts';
import { alert, card, empty } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { count, humanize, milliseconds, time, usd } from '../../format.ts';
import { html, link, path } from '../../html.ts';
import { nowrap, subline } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { pager } from '../../pager.ts';
import { periodBar, periodOf, periodParameters } from '../../periods.ts';
import {
  fieldFilter,
  readUsedValues,
  tagFilter,
  travellingFilters,
  type UsageField,
  type UsedValues,
  usageFields,
  withoutFilter,
} from '../../run-filters.ts';
import { type ScreenVisit, view } from '../../screen.ts';
import type { Column, SortLink } from '../../table.ts';
import { adjustedBadge, adjustedCost } from './run-cost.ts';
import { markLabels, marks, statusBadge } from './run-marks.ts';
import type { RunResponse } from './run-tree.ts';

export const listPath = '/console/runs';
const perPage = 50;
const statuses = ['running', 'succeeded', 'failed', 'cancelled'];
const sorts = [
  ['charged_at', 'Oldest first'],
  ['-cost_usd', 'Highest cost first, before adjustments'],
  ['cost_usd', 'Lowest cost first, before adjustments'],
  ['-total_tokens', 'Most tokens first'],
  ['total_tokens', 'Fewest tokens first'],
  ['-latency_ms', 'Slowest first'],
  ['latency_ms', 'Fastest first'],
] as const;
const defaultSort = '-charged_at';

export async function listRuns(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const period = periodOf(visit, 'all');
  const [found, used] = await Promise.all([
    api.tryGet<'runs.list'>(
      link('/v1/runs', {
        ...filterQuery(query, ['first', ...periodParameters]),
        ...period.api,
        sort: query.get('sort') ?? undefined,
        count: 'true',
        limit: String(perPage),
      }),
    ),
    readUsedValues(visit, period),
  ]);
  if (found instanceof ApiFailure && found.code !== 'validation_failed') {
    throw found;
  }
  const usage = link('/console/usage', { ...travellingFilters(query), ...period.query });
  const body =
    found instanceof ApiFailure
      ? alert('Invalid filters.', found.fields)
      : listing<RunResponse>({
          listed: found,
          path: listPath,
          query,
          none: empty(
            'No runs yet',
            html`Post a run with <code>POST /v1/runs</code> after each model call. See the <a href="/docs#runs.create">API reference</a>.`,
          ),
          caption: 'Runs',
          columns: columnsFor(query, org.timezone),
          pages: pager(listPath, query, found, perPage),
        });
  const calls = period.name === 'all' ? 'All model calls' : `Model calls of ${period.label}`;
  return view({
    title: 'Runs',
    actions: buttonTo(usage, 'View usage'),
    intro: `${calls}. Times in ${org.timezone}.`,
    status: found instanceof ApiFailure ? found.status : 200,
  })`
${periodBar({ path: listPath, query, period, withAll: true })}
${filterBar(listPath, filtersWith(used), query, ['first', ...periodParameters], periodParameters)}${card('Runs', body)}`;
}

const usualFields: readonly UsageField[] = ['model', 'workflow', 'customer_id', 'team'];

function filtersWith(used: UsedValues): readonly Filter[] {
  const rare = (filter: Filter): Filter => ({ ...filter, isRare: true });
  const text = (name: string, label: string): Filter => ({ name, label, isRare: true });
  return [
    {
      name: 'sort',
      label: 'Sort by',
      all: 'Newest first',
      options: sorts.map(([value, label]) => ({ value, label })),
    },
    {
      name: 'status',
      label: 'Status',
      options: statuses.map((value) => ({ value, label: humanize(value) })),
    },
    ...usualFields.map((field) => fieldFilter(field, used)),
    ...usageFields
      .filter((field) => field !== 'status' && !usualFields.includes(field))
      .map((field) => rare(fieldFilter(field, used))),
    rare(tagFilter(used)),
    rare(withoutFilter(used)),
    text('action', 'Action'),
    text('chain_id', 'Chain'),
    text('parent_run_id', 'Parent run ID'),
    text('external_id', 'External ID'),
    text('decision_id', 'Decision ID'),
    {
      name: 'mark',
      label: 'Mark',
      options: Object.entries(markLabels)
        .filter(([value]) => value !== 'flagged')
        .map(([value, label]) => ({ value, label })),
      isRare: true,
    },
    {
      name: 'unpriced',
      label: 'Price',
      options: [{ value: 'true', label: 'Without a price, not repriced' }],
      isRare: true,
    },
    { name: 'flagged', label: 'Flagged', options: [{ value: 'true', label: 'Flagged' }], isRare: true },
    text('flagged_by', 'Flagged by detector'),
  ];
}

/** Returns the link of a column head: highest value first, or lowest first if the list has that order already. */
export function sortLink(page: string, query: URLSearchParams, field: string, fallback: string): SortLink {
  const current = query.get('sort') || fallback;
  const isBy = current.replace('-', '') === field;
  const next = current === `-${field}` ? field : `-${field}`;
  return {
    href: link(page, {
      ...Object.fromEntries(query),
      sort: next,
      cursor: undefined,
      first: undefined,
      done: undefined,
    }),
    order: isBy ? (current.startsWith('-') ? 'descending' : 'ascending') : undefined,
  };
}

function columnsFor(query: URLSearchParams, timezone: string): Column<RunResponse>[] {
  const sort = (field: string) => sortLink(listPath, query, field, defaultSort);
  return [
    {
      title: 'Time',
      sort: sort('charged_at'),
      cell: (run) =>
        html`<a class="nowrap" href="${path`/console/runs/${run.id}`}">${time(run.charged_at, timezone)}</a>`,
    },
    { title: 'Model', cell: (run) => html`${run.model}${subline(run.action)}` },
    { title: 'Status', cell: (run) => html`${statusBadge(run.status)} ${marks(run)}` },
    { title: 'Workflow', cell: (run) => run.workflow ?? '–' },
    { title: 'Customer', cell: (run) => run.customer_id ?? '–' },
    {
      title: 'Tokens',
      isNumber: true,
      sort: sort('total_tokens'),
      cell: (run) =>
        html`${count(run.input_tokens + run.output_tokens)}<span class="sub nowrap">${count(run.input_tokens)} in, ${count(run.output_tokens)} out</span>`,
    },
    {
      title: 'Latency',
      isNumber: true,
      sort: sort('latency_ms'),
      cell: (run) => nowrap(milliseconds(run.latency_ms)),
    },
    {
      title: 'Cost',
      isNumber: true,
      sort: { ...sort('cost_usd'), title: 'Sort by cost before adjustments' },
      cell: (run) => html`${usd(adjustedCost(run))}${adjustedBadge(run)}`,
    },
  ];
}
