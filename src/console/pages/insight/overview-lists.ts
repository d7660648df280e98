/** The lists of the overview: limits closest to exhaustion, blocked requests, and the largest spenders. */
import { ApiFailure, type Listed } from '../../api.ts';
import { linkButton } from '../../buttons.ts';
import { empty } from '../../components.ts';
import type { DayRange } from '../../day-range.ts';
import { denialName, denialReason } from '../../denial-texts.ts';
import { runsLink, usageLink } from '../../drill-down.ts';
import { ago, capitalized, count, percent, usd } from '../../format.ts';
import { html, link, type Part, path } from '../../html.ts';
import { nowrap, subline } from '../../inline.ts';
import { limitName, limitPath, remainingText, usageMeter, usedShare } from '../../limit-names.ts';
import { filtersFor, notSet } from '../../run-filters.ts';
import type { ScreenVisit } from '../../screen.ts';
import { table } from '../../table.ts';
import type { DenialItem, LimitItem, UsageItem, UsageResponse } from '../../views.ts';
import { sumOf } from './overview-stats.ts';

const shownLimits = 6;
/** Values in a list of the largest spenders. */
export const topRows = 6;

/** `listed`: the first page of limits. Only if there are more, those in need of attention are searched. */
export async function nearestLimits(
  listed: Listed<LimitItem> | ApiFailure,
  { api, org, ...visit }: ScreenVisit,
): Promise<Part> {
  if (listed instanceof ApiFailure) {
    return false;
  }
  const inState = (state: string) =>
    api.tryGet<'limits.list'>(link(`${org.path}/limits`, { state, limit: '200' }));
  const others =
    listed.next_cursor === null ? [] : await Promise.all([inState('exhausted'), inState('near')]);
  const all = [listed, ...others].flatMap((found) => (found instanceof ApiFailure ? [] : found.data));
  const nearest = [...new Map(all.map((limit) => [limit.id, limit])).values()]
    .filter(({ standing, kind }) => standing !== null && kind !== 'rate')
    .sort((a, b) => usedShare(b) - usedShare(a))
    .slice(0, shownLimits);
  if (nearest.length === 0) {
    return empty(
      'No limits yet',
      'Limits are enforced to the cent, even under concurrent requests.',
      linkButton(visit, { path: '/console/limits/budgets/new', label: 'Create budget', tone: 'primary' }),
    );
  }
  return html`<ul class="rows">${nearest.map(
    (limit) =>
      html`<li><a class="row-link" href="${limitPath(limit)}"><span class="row-head"><span>${limitName(limit)}</span>
<span class="quiet">${limit.standing && remainingText(limit, limit.standing)}</span></span>
${limit.standing && usageMeter(limit, limit.standing)}</a></li>`,
  )}</ul><p class="more"><a href="/console/limits">All limits</a></p>`;
}

export function denialList(denials: readonly DenialItem[], { org, now }: ScreenVisit): Part {
  if (denials.length === 0) {
    return html`<p class="quiet">Nothing blocked recently.</p>`;
  }
  return html`${table({
    caption: 'Recently blocked',
    rows: denials,
    columns: [
      {
        title: 'Reason',
        cell: (row) =>
          html`<a href="${path`/console/refusals/${row.id}`}">${denialName(row)}</a>${
            row.count > 1 && html` <span class="quiet">× ${count(row.count)}</span>`
          }${subline(denialReason(row, org.timezone))}`,
      },
      {
        title: 'Request',
        cell: (row) =>
          html`${row.model ?? row.operation}${subline([row.customer_id, row.workflow].filter(Boolean).join(', '))}`,
      },
      { title: 'Time', cell: (row) => nowrap(ago(row.last_at, now)) },
    ],
  })}<p class="more"><a href="/console/refusals">All blocked requests</a></p>`;
}

export interface TopList {
  readonly noun: string;
  readonly field: 'model' | 'workflow' | 'customer_id';
  readonly days: DayRange;
}

/** The largest rows, including the row of runs without the field, and the sum of all others. */
export function topList({ noun, field, days }: TopList, { data, total }: UsageResponse): Part {
  const rows: readonly TopRow[] = shownRows(data, field).map((row) => ({ ...row, name: row[field] ?? null }));
  if (rows.length === 0) {
    return html`<p class="quiet">No runs in this period.</p>`;
  }
  const others: TopRow = {
    name: undefined,
    runs: total.runs - rows.reduce((sum, { runs }) => sum + runs, 0),
    // Amounts have nine decimals; anything smaller comes from adding floating-point numbers.
    cost_usd: (Number(total.cost_usd) - sumOf(rows)).toFixed(9),
  };
  const whole = Number(total.cost_usd);
  return table<TopRow>({
    caption: `Top ${noun}s, ${days.from} to ${days.to}`,
    rows: others.runs > 0 ? [...rows, others] : rows,
    columns: [
      {
        title: capitalized(noun),
        cell: ({ name }) =>
          name === undefined
            ? html`<a class="quiet" href="${usageLink({ group_by: field }, days)}">Other</a>`
            : html`<a${name === null && html` class="quiet"`} href="${runsLink(filtersFor([[field, name]]), days)}">${name ?? notSet}</a>`,
      },
      { title: 'Runs', isNumber: true, cell: (row) => count(row.runs) },
      { title: 'Cost', isNumber: true, cell: (row) => usd(row.cost_usd) },
      {
        title: 'Share',
        isNumber: true,
        cell: (row) => (whole > 0 ? percent(Number(row.cost_usd) / whole) : '–'),
      },
    ],
  });
}

interface TopRow extends Pick<UsageItem, 'runs' | 'cost_usd'> {
  /** Null: runs without the field. Undefined: all other values. */
  readonly name: string | null | undefined;
}

/** The first `topRows` values, plus the row of runs without the field. */
function shownRows(rows: readonly UsageItem[], field: 'model' | 'workflow' | 'customer_id') {
  const last = rows.filter((row) => row[field] != null)[topRows - 1];
  return last === undefined
    ? rows
    : rows.filter((row, index) => row[field] == null || index <= rows.indexOf(last));
}
