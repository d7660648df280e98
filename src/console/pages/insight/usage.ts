/** Usage: where the money goes, by any field of runs and over time, compared with the previous period. */
import { namedKinds } from '../../../kernel/cost-parts.ts';
import { ApiFailure } from '../../api.ts';
import { alert, card, empty, nextPage, panel } from '../../components.ts';
import { paidForCardOf, usageKindName } from '../../cost-kinds.ts';
import { type Filter, filterFields, moreFilters } from '../../filters.ts';
import { capitalized, humanize } from '../../format.ts';
import { type Option, selectOptions } from '../../forms.ts';
import { html, link, type Markup, type Part } from '../../html.ts';
import { hiddenInputs, labeled } from '../../inputs.ts';
import { fieldName } from '../../limit-names.ts';
import { periodBar, rangeLabel } from '../../periods.ts';
import {
  fieldFilter,
  notSet,
  readUsedValues,
  tagFilter,
  type UsedValues,
  usageFields,
  withoutFilter,
} from '../../run-filters.ts';
import { type Screen, type ScreenAnswer, type ScreenVisit, view } from '../../screen.ts';
import type { UsageResponse, UsageSeriesResponse } from '../../views.ts';
import { chartByFields, chartOverTime, type NameOf } from './usage-charts.ts';
import { exportButton, exportedUsage, otherExports, tableGroups, usageExportPath } from './usage-export.ts';
import { measures } from './usage-measures.ts';
import { usageStats, usageTable } from './usage-table.ts';
import {
  intervals,
  isInterval,
  runsHref,
  type UsageState,
  usageHref,
  usagePath,
  usageState,
} from './usage-view.ts';

const rowsPerPage = '50';
/** Pairs of values in a chart by two fields. */
const pairsMax = '100';
const barsMax = '12';

export const usageScreens: readonly Screen[] = [
  { path: usagePath, audience: 'org', handler: (visit) => usage(visit) },
  { path: usageExportPath, audience: 'org', handler: exported },
];

async function exported(visit: ScreenVisit): Promise<ScreenAnswer> {
  if (!visit.query.has('format')) {
    // Not sent by the form.
    return usage(visit);
  }
  const file = await exportedUsage(visit, usageState(visit));
  if (!(file instanceof ApiFailure)) {
    return file;
  }
  if (file.fields.length === 0) {
    throw file;
  }
  return usage(visit, file);
}

/** `failure` is the error of an export. */
async function usage(visit: ScreenVisit, failure?: ApiFailure) {
  const { api, org, query, now } = visit;
  const state = usageState(visit);
  const { period, filters, isCompared } = state;
  const request = { ...filters, ...period.api };
  const [found, drawn, used, paidFor] = await Promise.all([
    api.tryGet<'usage.read'>(
      link(`${org.path}/usage`, {
        ...request,
        group_by: tableGroups(state),
        compare: isCompared ? 'previous' : undefined,
        limit: isInterval(state.thenBy) ? rowsPerPage : pairsMax,
        cursor: query.get('cursor') ?? undefined,
      }),
    ),
    readChart(visit, state, request),
    readUsedValues(visit, period),
    // Split already, or restricted to one kind.
    state.isByKind ? false : paidForCardOf(visit, request, (kind) => usageHref(state, { kind })),
  ]);
  for (const answer of [found, drawn]) {
    if (answer instanceof ApiFailure && answer.code !== 'validation_failed') {
      throw answer;
    }
  }
  const nameOf: NameOf = (field, value) =>
    value === null
      ? notSet
      : field === 'kind'
        ? usageKindName(value)
        : value === '*' && field.startsWith('tag:')
          ? '(many values)'
          : used.nameOf(field, value);
  const isToday = Date.parse(period.api.to ?? '') > now.getTime();
  const previous = found instanceof ApiFailure ? undefined : found.previous;
  const before = previous && rangeLabel(Date.parse(previous.from), Date.parse(previous.to), org.timezone);
  const intro = html`${period.label} (${org.timezone})${before && `, compared with ${before}`}.${isToday && before && ' Today is not over yet.'}`;
  const body =
    found instanceof ApiFailure || drawn instanceof ApiFailure
      ? alert('Invalid filters.', (found instanceof ApiFailure ? found : (drawn as ApiFailure)).fields)
      : html`${shown(state, found, drawn, { nameOf, query })}${found.total.runs > 0 && paidFor}`;
  const status = failure?.status ?? (found instanceof ApiFailure ? found.status : 200);
  return view({
    title: 'Usage',
    actions: html`<a class="button" href="${runsHref(state)}">View runs</a>${exportButton(state)}`,
    intro,
    status,
  })`
${failure !== undefined && alert('The export failed.', failure.fields)}${periodBar({ path: usagePath, query, period })}
${controls(state, used)}${chips(state, nameOf)}${body}`;
}

const kindFilter: Filter = {
  name: 'kind',
  label: 'Kind of usage',
  suggestions: namedKinds.map((value) => ({ value, label: usageKindName(value) })),
};

/** A chart over time, or by two fields: the totals of its bars. */
type Drawn =
  | { readonly kind: 'time'; readonly series: UsageSeriesResponse }
  | { readonly kind: 'fields'; readonly bars: UsageResponse };

async function readChart(
  { api, org }: ScreenVisit,
  { groupBy, thenBy, measure }: UsageState,
  request: Readonly<Record<string, string | undefined>>,
): Promise<Drawn | ApiFailure> {
  if (isInterval(thenBy)) {
    const series = await api.tryGet<'usage.series'>(
      link(`${org.path}/usage/series`, {
        ...request,
        group_by: groupBy,
        interval: thenBy,
        latency: measure.name === 'p95' ? 'true' : undefined,
      }),
    );
    return series instanceof ApiFailure ? series : { kind: 'time', series };
  }
  const bars = await api.tryGet<'usage.read'>(
    link(`${org.path}/usage`, { ...request, group_by: groupBy, limit: barsMax }),
  );
  return bars instanceof ApiFailure ? bars : { kind: 'fields', bars };
}

function shown(
  state: UsageState,
  found: UsageResponse,
  drawn: Drawn,
  { nameOf, query }: { readonly nameOf: NameOf; readonly query: URLSearchParams },
): Markup {
  if (found.data.length === 0 && found.total.runs === 0) {
    return html`${usageStats(state, found)}${panel(
      Object.keys(state.filters).length > 0
        ? empty('No matches', 'Try a longer range, or remove a filter.')
        : empty('No runs in this range', 'Usage appears here when runs are posted.'),
    )}`;
  }
  const chart =
    drawn.kind === 'time'
      ? chartOverTime(state, drawn.series, nameOf)
      : chartByFields(state, drawn.bars.data, found.data, nameOf);
  return html`${usageStats(state, found)}${panel(chart)}
${card(`By ${tableGroups(state).split(',').map(fieldName).join(' and ')}`, [
  usageTable(state, found, nameOf),
  nextPage(usagePath, query, found.next_cursor),
  otherExports(state),
])}`;
}

function controls(state: UsageState, used: UsedValues): Markup {
  const { query, period, groupBy, thenBy, fittingInterval, measure, filters } = state;
  const fields: readonly string[] = [
    ...usageFields,
    'kind',
    ...Object.keys(used.tags).map((name) => `tag:${name}`),
  ];
  const option = (value: string, label: string): Option => ({ value, label });
  const fieldOptions = (current: string) =>
    (fields.includes(current) || isInterval(current) ? fields : [...fields, current]).map((name) =>
      option(name, capitalized(fieldName(name))),
    );
  const select = (name: string, label: string, options: readonly Option[], value: string) =>
    labeled(
      `view-${name}`,
      label,
      html`<select id="view-${name}" name="${name}">${selectOptions(options, value)}</select>`,
    );
  const filterList: readonly Filter[] = [
    ...usageFields.map((field) => fieldFilter(field, used)),
    tagFilter(used),
    withoutFilter(used),
    kindFilter,
  ];
  const unlisted = Object.keys(filters)
    .filter((name) => filterList.every((filter) => filter.name !== name))
    .map((name): Filter => ({ name, label: humanize(name) }));
  return html`<form method="get" action="${usagePath}" class="filters" role="search" aria-label="View and filters" data-submit-on-change>
${hiddenInputs(period.query)}
${select('group_by', 'Group by', fieldOptions(groupBy), groupBy)}
${select(
  'then_by',
  'Then by',
  [
    // The interval that fits the range is not a choice: it changes with the range.
    ...intervals.map((name) => option(name === fittingInterval ? '' : name, capitalized(name))),
    ...fieldOptions(thenBy),
  ],
  thenBy === fittingInterval ? '' : thenBy,
)}
${select(
  'measure',
  'Measure',
  measures.map(({ name, label }) => option(name, label)),
  measure.name,
)}
${select('compare', 'Compare with', [option('', 'Previous period'), option('off', 'Nothing')], query.compare ?? '')}
${moreFilters('Filters', false, filterFields([...filterList, ...unlisted], new URLSearchParams(filters)))}
<button class="button">Apply</button></form>`;
}

/** The active filters, each with a link that removes it. */
function chips(state: UsageState, nameOf: NameOf): Part {
  const entries = Object.entries(state.filters);
  const label = (name: string, value: string) =>
    name === 'without'
      ? `Not set: ${value.split(',').map(fieldName).join(', ')}`
      : `${capitalized(fieldName(name))}: ${nameOf(name, value)}`;
  const chip = ([name, value]: readonly [string, string]) => {
    const href = usageHref(state, { [name]: undefined });
    return html`<li><a class="chip" href="${href}"><span class="hidden">Remove filter </span>${label(name, value)} <span aria-hidden="true">×</span></a></li>`;
  };
  return entries.length > 0 && html`<ul class="chips" aria-label="Active filters">${entries.map(chip)}</ul>`;
}
