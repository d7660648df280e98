/** Spend of the last 30 days by any field of runs, or by a tag, and its export. */
import { ApiFailure } from '../../api.ts';
import { alert, card, empty, heading, nextPage, table } from '../../components.ts';
import { type Filter, filterBar } from '../../filters.ts';
import { capitalized, count, percent, usd } from '../../format.ts';
import { html, link, type Part } from '../../html.ts';
import { fieldName } from '../../limit-names.ts';
import { type Screen, type ScreenAnswer, type ScreenVisit, view } from '../../screen.ts';
import type { UsageRow, UsageView } from '../../views.ts';
import { exportedSpend, exportFields, exportForm, spendExportPath } from './spend-export.ts';

const spendPath = '/console/spend';
const fields = [
  'model',
  'provider',
  'workflow',
  'deployment',
  'department',
  'team',
  'member_id',
  'key_id',
  'customer_id',
];
const filters: readonly Filter[] = [
  {
    name: 'by',
    label: 'Group by',
    all: 'Model',
    options: fields.slice(1).map((value) => ({ value, label: capitalized(fieldName(value)) })),
  },
  { name: 'tag', label: 'Or by tag' },
];
const rowsPerPage = '50';

export const spendScreens: readonly Screen[] = [
  { path: spendPath, audience: 'org', handler: (visit) => spend(visit) },
  { path: spendExportPath, audience: 'org', handler: exported },
];

function fieldOf(query: URLSearchParams): string {
  const tag = query.get('tag')?.trim() ?? '';
  return tag === '' ? query.get('by') || 'model' : `tag:${tag}`;
}

async function exported(visit: ScreenVisit): Promise<ScreenAnswer> {
  if (!visit.query.has('from')) {
    // Not sent by the form.
    return spend(visit);
  }
  const file = await exportedSpend(visit, fieldOf(visit.query));
  if (!(file instanceof ApiFailure)) {
    return file;
  }
  if (file.fields.length === 0) {
    throw file;
  }
  return spend(visit, file);
}

/** `failure` is the error of an export, whose form is on the same page. */
async function spend(visit: ScreenVisit, failure?: ApiFailure) {
  const { api, org, query } = visit;
  const field = fieldOf(query);
  const found = await api.tryGet<'usage.read'>(
    link(`${org.path}/usage`, {
      group_by: field,
      limit: rowsPerPage,
      cursor: query.get('cursor') ?? undefined,
    }),
  );
  if (found instanceof ApiFailure && found.code !== 'validation_failed') {
    throw found;
  }
  const body =
    found instanceof ApiFailure
      ? alert('Invalid filters.', found.fields)
      : card(`Spend by ${fieldName(field)}`, rows(found, field, query));
  return view(
    'Spend',
    html`${heading('Spend', undefined, 'Cost of the last 30 days by model, team, member, key, tag and more.')}
${failure !== undefined && alert('The export failed.', failure.fields)}${exportForm(visit)}${filterBar(spendPath, filters, query, exportFields)}${body}`,
    failure?.status,
  );
}

function rows({ data, total, next_cursor }: UsageView, field: string, query: URLSearchParams): Part {
  if (data.length === 0) {
    return empty('No runs yet', 'Spend appears here when runs are posted.');
  }
  const all = Number(total.cost_usd);
  return html`${table<UsageRow>({
    caption: `Spend by ${fieldName(field)}`,
    rows: data,
    columns: [
      { title: capitalized(fieldName(field)), cell: (row) => valueCell(field, groupValue(row, field)) },
      { title: 'Cost', isNumber: true, cell: (row) => usd(row.cost_usd) },
      {
        title: 'Share',
        isNumber: true,
        cell: (row) => (all === 0 ? '–' : percent(Number(row.cost_usd) / all)),
      },
      { title: 'Runs', isNumber: true, cell: (row) => count(row.runs) },
      { title: 'Input tokens', isNumber: true, cell: (row) => count(row.input_tokens) },
      { title: 'Output tokens', isNumber: true, cell: (row) => count(row.output_tokens) },
    ],
  })}${nextPage(spendPath, query, next_cursor)}`;
}

function groupValue(row: UsageRow, field: string): string | null {
  return field.startsWith('tag:')
    ? (row.tags?.[field.slice('tag:'.length)] ?? null)
    : ((row as Readonly<Record<string, unknown>>)[field] as string | null);
}

function valueCell(field: string, value: string | null): Part {
  if (value === null) {
    return html`<span class="quiet">(none)</span>`;
  }
  const filter = field.startsWith('tag:')
    ? { tag: `${field.slice('tag:'.length)}=${value}` }
    : { [field]: value };
  return html`<a href="${link('/console/runs', filter)}">${value}</a>`;
}
