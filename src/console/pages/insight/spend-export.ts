/** The export of spend as a file: the form on the page, and the download. */
import { ApiFailure } from '../../api.ts';
import { instantOf, localTime } from '../../forms.ts';
import { html, link, type Markup } from '../../html.ts';
import type { ScreenAnswer, ScreenVisit } from '../../screen.ts';

export const spendExportPath = '/console/spend/export';
/** Query parameters of the form, which is shown again with its values after an error. */
export const exportFields = ['from', 'to', 'format'];

interface ExportFormat {
  readonly name: string;
  readonly label: string;
  readonly fileName: string;
  /** Returns the path and the query of the API, for spend by a field of runs or a tag. */
  request(field: string): { readonly path: string; readonly query: Readonly<Record<string, string>> };
}

/** Provider and model are in every row of FOCUS. */
const focusQuery = (field: string, format: string) => ({
  path: '/usage/focus',
  query: { format, ...(field !== 'model' && field !== 'provider' && { group_by: field }) },
});
const formats: readonly [ExportFormat, ...ExportFormat[]] = [
  {
    name: 'csv',
    label: 'CSV',
    fileName: 'spend.csv',
    request: (field) => ({ path: '/usage', query: { format: 'csv', group_by: `day,${field}` } }),
  },
  {
    name: 'focus_csv',
    label: 'FOCUS 1.2, CSV',
    fileName: 'focus.csv',
    request: (field) => focusQuery(field, 'csv'),
  },
  {
    name: 'focus_parquet',
    label: 'FOCUS 1.2, Parquet',
    fileName: 'focus.parquet',
    request: (field) => focusQuery(field, 'parquet'),
  },
];
const monthMs = 30 * 86_400_000;

export function exportForm({ org, now, query }: ScreenVisit): Markup {
  const at = (name: string, ms: number) =>
    query.get(name) ?? localTime(new Date(ms).toISOString(), org.timezone);
  const hidden = ['by', 'tag'].flatMap((name) => {
    const value = query.get(name);
    return value === null || value === ''
      ? []
      : [html`<input type="hidden" name="${name}" value="${value}">`];
  });
  return html`<details class="fold"${query.has('from') && html` open`}><summary>Export</summary><form method="get" action="${spendExportPath}" class="filters" data-download>${hidden}
<div class="field"><label for="export-from">From</label><input type="datetime-local" id="export-from" name="from" value="${at('from', now.getTime() - monthMs)}" required></div>
<div class="field"><label for="export-to">To</label><input type="datetime-local" id="export-to" name="to" value="${at('to', now.getTime())}" required></div>
<div class="field"><label for="export-format">Format</label><select id="export-format" name="format">${formats.map(({ name, label }) => html`<option value="${name}"${name === query.get('format') && html` selected`}>${label}</option>`)}</select></div>
<button class="button">Export</button></form><p class="quiet">By day, model and the selected field, at most 366 days, in the time zone of the organization (${org.timezone}); the days of FOCUS are in UTC.</p></details>`;
}

/** Returns the file, or the error that the page shows. */
export async function exportedSpend(
  { api, org, query }: ScreenVisit,
  field: string,
): Promise<ScreenAnswer | ApiFailure> {
  const format = formats.find(({ name }) => name === query.get('format')) ?? formats[0];
  const { path, query: wanted } = format.request(field);
  const instant = (name: string) => instantOf(query.get(name) ?? '', org.timezone);
  const stream = await api.open(
    link(`${org.path}${path}`, { ...wanted, from: instant('from'), to: instant('to') }),
  );
  return stream instanceof ApiFailure ? stream : { kind: 'download', fileName: format.fileName, ...stream };
}
