/** Files of the usage page: the rows of its table, and the export for cost management tools. */
import { ApiFailure } from '../../api.ts';
import { html, link, type Markup } from '../../html.ts';
import type { ScreenAnswer, ScreenVisit } from '../../screen.ts';
import { isInterval, type UsageState, usagePath } from './usage-view.ts';

export const usageExportPath = `${usagePath}/export`;

interface ExportFormat {
  readonly name: string;
  readonly label: string;
  readonly fileName: string;
  /** Returns the path and the query of the API, which also has the filters of the page unless the query says otherwise. */
  request(state: UsageState): {
    readonly path: string;
    readonly query: Readonly<Record<string, string | undefined>>;
  };
}

const compared = ({ isCompared }: UsageState): Readonly<Record<string, string>> =>
  isCompared ? { compare: 'previous' } : {};

/** Provider and model are in every row of FOCUS. Its exports cannot be filtered by kind of usage. */
const focusQuery = ({ groupBy }: UsageState, version: string, format: string) => ({
  path: '/usage/focus',
  query: {
    version,
    format,
    kind: undefined,
    ...(!['model', 'provider', 'status', 'kind'].includes(groupBy) && { group_by: groupBy }),
  },
});

const formats: readonly [ExportFormat, ...ExportFormat[]] = [
  {
    name: 'csv',
    label: 'CSV',
    fileName: 'usage.csv',
    request: (state) => ({
      path: '/usage',
      query: { format: 'csv', group_by: tableGroups(state), ...compared(state) },
    }),
  },
  {
    name: 'csv_days',
    label: 'CSV per day',
    fileName: 'usage-per-day.csv',
    request: (state) => ({
      path: '/usage',
      query: { format: 'csv', group_by: `day,${state.groupBy}`, ...compared(state) },
    }),
  },
  {
    name: 'focus_1_4_csv',
    label: 'FOCUS 1.4 CSV',
    fileName: 'focus-1.4.csv',
    request: (state) => focusQuery(state, '1.4', 'csv'),
  },
  {
    name: 'focus_1_4_parquet',
    label: 'FOCUS 1.4 Parquet',
    fileName: 'focus-1.4.parquet',
    request: (state) => focusQuery(state, '1.4', 'parquet'),
  },
  {
    name: 'focus_csv',
    label: 'FOCUS 1.2 CSV',
    fileName: 'focus.csv',
    request: (state) => focusQuery(state, '1.2', 'csv'),
  },
  {
    name: 'focus_parquet',
    label: 'FOCUS 1.2 Parquet',
    fileName: 'focus.parquet',
    request: (state) => focusQuery(state, '1.2', 'parquet'),
  },
];

/** The `group_by` of the table. */
export function tableGroups({ groupBy, thenBy }: UsageState): string {
  return isInterval(thenBy) ? groupBy : `${groupBy},${thenBy}`;
}

/** A form, so that a download does not look like a page that is loading. */
function exportForm({ query }: UsageState, buttons: Markup | readonly Markup[]): Markup {
  const hidden = Object.entries(query).map(
    ([name, value]) => value !== '' && html`<input type="hidden" name="${name}" value="${value}">`,
  );
  return html`<form method="get" action="${usageExportPath}" class="inline" data-download>${hidden}${buttons}</form>`;
}

export function exportButton(state: UsageState): Markup {
  return exportForm(
    state,
    html`<button class="button primary" name="format" value="csv">Export CSV</button>`,
  );
}

export function otherExports(state: UsageState): Markup {
  const buttons = formats
    .slice(1)
    .map(({ name, label }) => html`<button class="button" name="format" value="${name}">${label}</button>`);
  return html`<details class="more-exports"><summary>More exports</summary><div class="presets">${exportForm(state, buttons)}</div>
<p class="sub">The days of FOCUS are in UTC. FOCUS 1.4 has a row for each kind of usage.${
    state.filters.kind !== undefined && ' All kinds are exported, also those that the page leaves out.'
  }</p></details>`;
}

/** Returns the file, or the error that the page shows. */
export async function exportedUsage(
  { api, org, query }: ScreenVisit,
  state: UsageState,
): Promise<ScreenAnswer | ApiFailure> {
  const format = formats.find(({ name }) => name === query.get('format')) ?? formats[0];
  const { path, query: wanted } = format.request(state);
  const stream = await api.open(
    link(`${org.path}${path}`, { ...state.filters, ...state.period.api, ...wanted }),
  );
  return stream instanceof ApiFailure ? stream : { kind: 'download', fileName: format.fileName, ...stream };
}
