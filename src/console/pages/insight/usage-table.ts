/** The table of the usage page, and the figures above it. */
import { stat } from '../../components.ts';
import { capitalized, count, milliseconds, shareText, shortCount, usd } from '../../format.ts';
import { html, type Markup, type Part } from '../../html.ts';
import { badge } from '../../inline.ts';
import { fieldName } from '../../limit-names.ts';
import { filtersFor, notSet } from '../../run-filters.ts';
import { type Column, table } from '../../table.ts';
import type { UsageItem, UsageResponse } from '../../views.ts';
import type { NameOf } from './usage-charts.ts';
import { costPerRun, type MeasureSums, measured, tokensOf } from './usage-measures.ts';
import { groupValue, isInterval, runsHref, type UsageState, valueHref } from './usage-view.ts';

/** Measures that the table always has. */
const tableMeasures = ['spend', 'runs', 'cost_per_run', 'p95'];

export function usageTable(state: UsageState, { data, total }: UsageResponse, nameOf: NameOf): Markup {
  const { groupBy, thenBy, isByKind, isCompared } = state;
  const fields = isInterval(thenBy) ? [groupBy] : [groupBy, thenBy];
  const all = Number(total.cost_usd);
  const columns: readonly TotaledColumn[] = [
    ...fields.map((field, index) => ({
      title: capitalized(fieldName(field)),
      ...(index === 0 && { total: 'Total' }),
      cell: (row: UsageItem) => valueCell(state, field, groupValue(row, field), nameOf),
    })),
    { title: 'Spend', isNumber: true, cell: ({ cost_usd }) => usd(cost_usd), total: usd(total.cost_usd) },
    {
      title: 'Share',
      isNumber: true,
      cell: (row) => (all === 0 ? '–' : shareText(Number(row.cost_usd) / all)),
      total: all === 0 ? '–' : '100%',
    },
    ...(isCompared
      ? [
          {
            title: 'vs previous',
            isNumber: true as const,
            cell: (row: UsageItem) => changeText(Number(row.cost_usd), Number(row.previous?.cost_usd ?? 0)),
            total: changeText(all, Number(total.previous?.cost_usd ?? 0)),
          },
        ]
      : []),
    ...(isByKind ? [quantityColumn] : runColumns(state, total)),
    {
      title: '',
      cell: (row) => {
        if (fields.every((field) => field === 'kind')) {
          return '';
        }
        const filters = filtersFor(
          fields.map((field) => [field, groupValue(row, field)] as const),
          state.filters,
        );
        const about = fields.map((field) => nameOf(field, groupValue(row, field))).join(', ');
        return html`<a class="nowrap" href="${runsHref(state, filters)}">View runs<span class="hidden"> of ${about}</span></a>`;
      },
      total: html`<a class="nowrap" href="${runsHref(state)}">View all runs</a>`,
    },
  ];
  return table<UsageItem>({
    caption: `Usage by ${fields.map(fieldName).join(' and ')}`,
    rows: data,
    columns,
    totals: columns.map(({ total: cell }) => cell),
  });
}

interface TotaledColumn extends Column<UsageItem> {
  readonly total?: Part;
}

const quantityColumn: TotaledColumn = {
  title: 'Quantity',
  isNumber: true,
  cell: ({ quantity }) => (quantity === 0 ? '–' : count(quantity)),
};

/** The columns of usage that is not split by kind. */
function runColumns({ measure }: UsageState, total: UsageResponse['total']): readonly TotaledColumn[] {
  return [
    { title: 'Runs', isNumber: true, cell: ({ runs }) => count(runs), total: count(total.runs) },
    {
      title: 'Cost per run',
      isNumber: true,
      cell: (row) => usd(costPerRun(row)),
      total: usd(costPerRun(total)),
    },
    ...(tableMeasures.includes(measure.name)
      ? []
      : [
          {
            title: measure.label,
            isNumber: true as const,
            cell: (row: UsageItem) => measured(measure, row),
            total: measured(measure, total),
          },
        ]),
    {
      title: 'p95 latency',
      isNumber: true,
      cell: (row) => milliseconds(row.latency_p95_ms),
      total: milliseconds(total.latency_p95_ms),
    },
  ];
}

function valueCell(state: UsageState, field: string, value: string | null, nameOf: NameOf): Part {
  const name = nameOf(field, value);
  return html`<a href="${valueHref(state, [[field, value]])}"${name === notSet && html` class="quiet"`}>${name}</a>`;
}

/** The change against the previous period, such as “+18%”. */
export function changeText(now: number, before: number): string {
  if (before === 0) {
    return now === 0 ? '–' : 'new';
  }
  const percent = Math.round(((now - before) / before) * 100);
  return percent === 0 ? '0%' : `${percent > 0 ? '+' : '−'}${count(Math.abs(percent))}%`;
}

/** Spend, runs, cost per run and tokens, each with its change. Of one kind of usage, only spend and quantity. */
export function usageStats({ isCompared, filters }: UsageState, { total }: UsageResponse): Markup {
  const failed = total.failure_rate === null ? 'No runs' : `${shareText(total.failure_rate)} failed`;
  const cached = total.input_tokens === 0 ? undefined : total.cached_input_tokens / total.input_tokens;
  const change = (
    of: (sums: MeasureSums) => number | null,
    format: (value: number) => string,
    isCost: boolean,
  ): Part => {
    const [now, before] = [of(total), total.previous === undefined ? null : of(total.previous)];
    return (
      isCompared &&
      now !== null &&
      before !== null &&
      html`${changeBadge(now, before, isCost)} vs ${format(before)}`
    );
  };
  const notes = (...parts: Part[]) =>
    parts.flatMap((part) => (part === false ? [] : [html`<span class="note-line">${part}</span>`]));
  const spend = stat(
    'Spend',
    usd(total.cost_usd),
    notes(change(({ cost_usd }) => Number(cost_usd), usd, true)),
  );
  if (filters.kind !== undefined) {
    return html`<div class="stats">${[spend, stat('Quantity', count(total.quantity))]}</div>`;
  }
  return html`<div class="stats">${[
    spend,
    stat(
      'Runs',
      count(total.runs),
      notes(
        change(({ runs }) => runs, count, false),
        failed,
      ),
    ),
    stat(
      'Cost per run',
      usd(costPerRun(total)),
      notes(change(costPerRun, usd, true), `p95 latency ${milliseconds(total.latency_p95_ms)}`),
    ),
    stat(
      'Tokens',
      shortCount(tokensOf(total)),
      notes(
        change(tokensOf, shortCount, false),
        cached === undefined ? 'No input tokens' : `${Math.round(cached * 100)}% of input from cache`,
        Number(total.cache_savings_usd) > 0 && `${usd(total.cache_savings_usd)} saved by caches`,
      ),
    ),
  ]}</div>`;
}

/** More cost is marked; more runs or tokens are not a problem by themselves. */
function changeBadge(now: number, before: number, isCost: boolean): Part {
  const text = changeText(now, before);
  if (text === 'new' || text === '–' || text === '0%') {
    return badge(text);
  }
  const isUp = now > before;
  const tone = isCost ? (isUp ? 'warn' : 'good') : 'plain';
  return badge(`${isUp ? '▲' : '▼'} ${text.slice(1)}`, tone);
}
