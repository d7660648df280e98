/** The overview: spend, forecast, limits, denials and top models, customers and workflows. */

import { localTime } from '../../../kernel/local-time.ts';
import { calendarWindow } from '../../../kernel/windows.ts';
import { ApiFailure, type Listed } from '../../api.ts';
import {
  badge,
  cardOf,
  empty,
  heading,
  linkButton,
  offered,
  requirement,
  stat,
  statOf,
  table,
} from '../../components.ts';
import { denialReason, denialTitle } from '../../denial-texts.ts';
import { ago, capitalized, count, usd } from '../../format.ts';
import { html, link, type Markup, type Part } from '../../html.ts';
import { limitName, remainingText, usageMeter, usedShare } from '../../limit-names.ts';
import { type Screen, type ScreenVisit, seeOther, view } from '../../screen.ts';
import type { DenialView, LimitView, UsageRow, UsageView } from '../../views.ts';
import { getStartedCard } from './get-started.ts';
import {
  type CapacityView,
  monthChart,
  type QueryUsage,
  spendPerDay,
  usageByDayAndModel,
} from './overview-charts.ts';

const dayMs = 86_400_000;
const spendDays = 30;
const shownBudgets = 6;
const shownTop = 6;
const approvalsCounted = 100;

export const overviewScreens: readonly Screen[] = [
  {
    path: '/console',
    audience: 'everyone',
    // Operators have no spend, so they are redirected to the organizations.
    handler: async (visit) => (visit.credential.org === null ? seeOther('/console/orgs') : overview(visit)),
  },
];

async function overview(visit: ScreenVisit) {
  const { api, org, now } = visit;
  const nowMs = now.getTime();
  const window = calendarWindow('month', org.timezone, nowMs);
  const daysLeft = Math.max(1, Math.ceil((window.endMs - nowMs) / dayMs));
  const fromMs = Math.min(
    window.startMs,
    calendarWindow('day', org.timezone, nowMs - (spendDays - 1) * dayMs).startMs,
  );
  const from = new Date(fromMs).toISOString();
  const usage: QueryUsage = (query) =>
    api.tryGet<'usage.read'>(link(`${org.path}/usage`, { ...query, from }));
  // Queries one row more than the values to show: the row of runs without the field may be among them.
  const top = (group_by: string) => usage({ group_by, limit: String(shownTop + 1) });
  const limitsOf = (query: Readonly<Record<string, string>>) =>
    api.tryGet<'limits.list'>(link(`${org.path}/limits`, { ...query, limit: '200' }));
  const [
    byDay,
    byDayAndModel,
    byModel,
    byWorkflow,
    byCustomer,
    limits,
    caps,
    budgets,
    forecast,
    denials,
    approvals,
  ] = await Promise.all([
    usage({ group_by: 'day', limit: '200' }),
    usageByDayAndModel(usage),
    top('model'),
    top('workflow'),
    top('customer_id'),
    limitsOf({}),
    // Queried by kind: among thousands of customer limits, the first page may contain neither a spend cap nor a budget.
    limitsOf({ kind: 'spend_cap' }),
    limitsOf({ kind: 'budget' }),
    api.tryGet<'forecasts.capacity'>(`/v1/capacity/forecasts?horizon_days=${daysLeft}`),
    api.tryGet<'refusals.list'>(`${org.path}/refusals?limit=8`),
    api.tryGet<'approvals.list'>(`${org.path}/approvals?state=pending&limit=${approvalsCounted}`),
  ]);
  const today = localTime(org.timezone, nowMs).date;
  const monthStart = localTime(org.timezone, window.startMs).date;
  const month = { start: monthStart, today };
  const budget = budgets instanceof ApiFailure ? undefined : monthBudget(budgets.data);
  const projection =
    byDay instanceof ApiFailure
      ? byDay
      : forecast instanceof ApiFailure
        ? forecast
        : monthProjection(byDay.data, forecast, month);
  const body = html`${heading('Overview', undefined, html`Spend and limits of ${org.name}. Times in ${org.timezone}.`)}
${!(byDay instanceof ApiFailure) && byDay.data.length === 0 && (await getStartedCard(visit))}
<div class="stats">${[
    spendStat(
      'Today',
      byDay,
      ({ day }) => day === today,
      limitNote(
        caps,
        ({ data }) => data[0],
        html`No daily cap. ${offered(visit, '/console/limits/spend-cap', html`<a href="/console/limits/spend-cap">Set cap</a>`)}`,
      ),
    ),
    spendStat(
      'This month',
      byDay,
      ({ day = '' }) => day >= monthStart,
      limitNote(
        budgets,
        () => budget,
        html`No monthly budget. ${offered(visit, '/console/limits/budgets/new', html`<a href="/console/limits/budgets/new">Create budget</a>`)}`,
      ),
    ),
    statOf('Month-end forecast', projection, usd, (cost) => forecastNote(cost, budget, forecast)),
    statOf('Pending approvals', approvals, pendingCount, ({ data }) =>
      data.length > 0 ? html`<a href="/console/approvals">Review</a>` : 'None pending',
    ),
  ]}</div>
<div class="grid wide">
${byDay instanceof ApiFailure || forecast instanceof ApiFailure ? cardOf('This month', byDay instanceof ApiFailure ? byDay : forecast, () => '') : html`<section class="card">${monthChart({ days: byDay.data, forecast, budget: budget && Number(budget.limit), month })}</section>`}
${byDayAndModel instanceof ApiFailure || byDay instanceof ApiFailure ? cardOf('Spend per day', byDay instanceof ApiFailure ? byDay : byDayAndModel, () => '') : html`<section class="card">${spendPerDay(byDay.data, byDayAndModel)}</section>`}
</div>
<div class="grid wide">
${cardOf('Limits closest to exhaustion', limits, ({ data }) => nearestLimits(data, visit))}
${cardOf('Recently blocked', denials, ({ data }) => denialList(data, now))}
</div>
<div class="grid">
${cardOf('Top models', byModel, (found) => topList('model', found, 'model'))}
${cardOf('Top customers', byCustomer, (found) => topList('customer', found, 'customer_id'))}
${cardOf('Top workflows', byWorkflow, (found) => topList('workflow', found, 'workflow'))}
</div>`;
  return view('Overview', body);
}

function sumOf(rows: readonly Pick<UsageRow, 'cost_usd'>[]): number {
  return rows.reduce((sum, { cost_usd }) => sum + Number(cost_usd), 0);
}

/** The lowest monthly budget of the entire organization. */
function monthBudget(limits: readonly LimitView[]): LimitView | undefined {
  return limits
    .filter(({ kind, match, standing }) => {
      const [start, end] = [standing?.window_start, standing?.window_end].map((at) => Date.parse(at ?? ''));
      const days = ((end ?? 0) - (start ?? 0)) / dayMs;
      return kind === 'budget' && Object.keys(match).length === 0 && days > 27 && days < 32;
    })
    .sort((a, b) => Number(a.limit) - Number(b.limit))[0];
}

/** Spend before today plus the forecast from today on; today's forecast is at least today's spend. */
function monthProjection(
  days: readonly UsageRow[],
  forecast: CapacityView,
  month: { readonly start: string; readonly today: string },
): number {
  const before = sumOf(days.filter(({ day = '' }) => day >= month.start && day < month.today));
  const today = sumOf(days.filter(({ day }) => day === month.today));
  return forecast.days.reduce(
    (sum, { date, cost_usd }) =>
      sum + (date === month.today ? Math.max(today, Number(cost_usd.expected)) : Number(cost_usd.expected)),
    before,
  );
}

/** The spend of some days, with the usage of their limit. */
function spendStat(
  label: string,
  byDay: UsageView | ApiFailure,
  counts: (row: UsageRow) => boolean,
  note: Part,
): Markup {
  return byDay instanceof ApiFailure
    ? stat(label, '–', html`${requirement(byDay)}<br>${note}`)
    : stat(label, usd(sumOf(byDay.data.filter(counts))), note);
}

/** `none` is shown only if there is certainly no such limit. */
function limitNote(
  limits: Listed<LimitView> | ApiFailure,
  pick: (limits: Listed<LimitView>) => LimitView | undefined,
  none: Markup,
): Part {
  if (limits instanceof ApiFailure) {
    return requirement(limits);
  }
  const limit = pick(limits);
  if (limit?.standing != null) {
    return html`${usageMeter(limit, limit.standing)}${remainingText(limit, limit.standing)}`;
  }
  return limits.next_cursor === null ? none : html`<a href="/console/limits?kind=budget">All budgets</a>`;
}

/** Counts at most one page. */
function pendingCount({ data, next_cursor }: Listed<object>): string {
  return `${count(data.length)}${next_cursor === null ? '' : '+'}`;
}

const confidenceLabels: Readonly<Record<string, string>> = {
  none: 'Not enough history yet',
  low: 'Low confidence',
  fair: 'Medium confidence',
  good: 'High confidence',
};

function forecastNote(
  projection: number,
  budget: LimitView | undefined,
  forecast: CapacityView | ApiFailure,
): Part {
  if (forecast instanceof ApiFailure) {
    return requirement(forecast);
  }
  if (budget !== undefined && projection > Number(budget.limit)) {
    return badge(`${usd(projection - Number(budget.limit))} over budget`, 'warn');
  }
  return confidenceLabels[forecast.quality] ?? forecast.quality;
}

function nearestLimits(limits: readonly LimitView[], visit: ScreenVisit): Part {
  const nearest = limits
    .filter(({ standing, kind }) => standing !== null && kind !== 'rate')
    .sort((a, b) => usedShare(b) - usedShare(a))
    .slice(0, shownBudgets);
  if (nearest.length === 0) {
    return empty(
      'No limits yet',
      'Limits are enforced to the cent, even under concurrent requests.',
      linkButton(visit, { path: '/console/limits/budgets/new', label: 'Create budget', tone: 'primary' }),
    );
  }
  return html`<ul class="rows">${nearest.map(
    (limit) =>
      html`<li><div class="row-head"><span>${limitName(limit)}</span><span class="quiet">${limit.standing && remainingText(limit, limit.standing)}</span></div>${limit.standing && usageMeter(limit, limit.standing)}</li>`,
  )}</ul><p class="more"><a href="/console/limits">All limits</a></p>`;
}

function denialList(denials: readonly DenialView[], now: Date): Part {
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
          html`<strong>${denialTitle(row.code)}</strong>${row.count > 1 && html` <span class="quiet">× ${count(row.count)}</span>`}<span class="sub">${denialReason(row)}</span>`,
      },
      {
        title: 'Request',
        cell: (row) =>
          html`${row.model ?? row.operation}<span class="sub">${[row.customer_id, row.workflow].filter(Boolean).join(', ')}</span>`,
      },
      { title: 'Time', cell: (row) => html`<span class="nowrap">${ago(row.last_at, now)}</span>` },
    ],
  })}<p class="more"><a href="/console/refusals">All blocked requests</a></p>`;
}

/** The largest rows, including the row of runs without the field, and the sum of all others. */
function topList(
  noun: string,
  { data, total }: UsageView,
  field: 'model' | 'workflow' | 'customer_id',
): Part {
  const rows: readonly TopRow[] = shownRows(data, field).map((row) => ({ ...row, name: row[field] ?? null }));
  if (rows.length === 0) {
    return html`<p class="quiet">No runs in the last ${spendDays} days.</p>`;
  }
  const others: TopRow = {
    name: undefined,
    runs: total.runs - rows.reduce((sum, { runs }) => sum + runs, 0),
    cost_usd: String(Number(total.cost_usd) - sumOf(rows)),
  };
  return table<TopRow>({
    caption: `Top ${noun}s of the last ${spendDays} days`,
    rows: others.runs > 0 ? [...rows, others] : rows,
    columns: [
      {
        title: capitalized(noun),
        cell: ({ name }) =>
          name == null
            ? html`<span class="quiet">${name === null ? `(no ${noun})` : 'Other'}</span>`
            : html`<a href="${link('/console/runs', { [field]: name })}">${name}</a>`,
      },
      { title: 'Runs', isNumber: true, cell: (row) => count(row.runs) },
      { title: 'Cost', isNumber: true, cell: (row) => usd(row.cost_usd) },
    ],
  });
}

interface TopRow extends Pick<UsageRow, 'runs' | 'cost_usd'> {
  /** Null: runs without the field. Undefined: all other values. */
  readonly name: string | null | undefined;
}

/** The first `shownTop` values, plus the row of runs without the field. */
function shownRows(rows: readonly UsageRow[], field: 'model' | 'workflow' | 'customer_id') {
  const last = rows.filter((row) => row[field] != null)[shownTop - 1];
  return last === undefined
    ? rows
    : rows.filter((row, index) => row[field] == null || index <= rows.indexOf(last));
}
