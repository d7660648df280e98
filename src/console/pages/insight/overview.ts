/** The first page: where the money goes today and this month, what is near its edge, what was refused. */

import { localTime } from '../../../kernel/local-time.ts';
import { calendarWindow } from '../../../kernel/windows.ts';
import { ApiFailure, type Listed } from '../../api.ts';
import {
  badge,
  card,
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
import { refusalReason, refusalTitle } from '../../denial-texts.ts';
import { ago, capitalized, count, usd } from '../../format.ts';
import { html, link, type Markup, type Part } from '../../html.ts';
import { leftOf, limitName, usageMeter, usedShare } from '../../limit-names.ts';
import { type Screen, type ScreenVisit, seeOther, view } from '../../screen.ts';
import type { DenialView, LimitView, UsageRow, UsageView } from '../../views.ts';
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
    // Operators have no spend of their own to look at.
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
  // One more than is shown: runs without the field may take the place of one.
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
    refusals,
    approvals,
  ] = await Promise.all([
    usage({ group_by: 'day', limit: '200' }),
    usageByDayAndModel(usage),
    top('model'),
    top('workflow'),
    top('customer_id'),
    limitsOf({}),
    // By kind: among thousands of customer limits the first page of all limits may hold neither.
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
  const body = html`${heading('Overview', undefined, html`What the runs of ${org.name} cost, and what holds them. Days are those of ${org.timezone}.`)}
${!(byDay instanceof ApiFailure) && byDay.data.length === 0 && firstSteps(visit)}
<div class="stats">${[
    spendStat(
      'Today',
      byDay,
      ({ day }) => day === today,
      limitNote(
        caps,
        ({ data }) => data[0],
        html`No daily cap. ${offered(visit, '/console/limits/spend-cap', html`<a href="/console/limits/spend-cap">Set one</a>`)}`,
      ),
    ),
    spendStat(
      'This month',
      byDay,
      ({ day = '' }) => day >= monthStart,
      limitNote(
        budgets,
        () => budget,
        html`No monthly budget. ${offered(visit, '/console/limits/budgets/new', html`<a href="/console/limits/budgets/new">Make one</a>`)}`,
      ),
    ),
    statOf('Forecast to the end of the month', projection, usd, (cost) =>
      forecastNote(cost, budget, forecast),
    ),
    statOf('Waiting for approval', approvals, pendingCount, ({ data }) =>
      data.length > 0 ? html`<a href="/console/approvals">Decide</a>` : 'Nothing to decide',
    ),
  ]}</div>
<div class="grid wide">
${byDay instanceof ApiFailure || forecast instanceof ApiFailure ? cardOf('This month', byDay instanceof ApiFailure ? byDay : forecast, () => '') : html`<section class="card">${monthChart({ days: byDay.data, forecast, budget: budget && Number(budget.limit), month })}</section>`}
${byDayAndModel instanceof ApiFailure || byDay instanceof ApiFailure ? cardOf('Spend per day', byDay instanceof ApiFailure ? byDay : byDayAndModel, () => '') : html`<section class="card">${spendPerDay(byDay.data, byDayAndModel)}</section>`}
</div>
<div class="grid wide">
${cardOf('Limits nearest their edge', limits, ({ data }) => nearestLimits(data, visit))}
${cardOf('Recent refusals', refusals, ({ data }) => refusalList(data, now))}
</div>
<div class="grid">
${cardOf('Top models', byModel, (found) => topList('model', found, 'model'))}
${cardOf('Top customers', byCustomer, (found) => topList('customer', found, 'customer_id'))}
${cardOf('Top workflows', byWorkflow, (found) => topList('workflow', found, 'workflow'))}
</div>`;
  return view('Overview', body);
}

/** The steps that the visitor may take. */
function firstSteps(visit: ScreenVisit): Markup {
  const cap = '/console/limits/spend-cap';
  const key = '/console/keys/new';
  return card(
    'First steps',
    html`<p>There are no runs yet. To see something here:</p><ol>
${offered(visit, cap, html`<li>Set a <a href="${cap}">daily spend cap</a> or a <a href="/console/limits/budgets/new">budget</a>.</li>`)}
${offered(visit, key, html`<li><a href="${key}">Mint a key</a> for your gateway, with the scopes <code>edge:decide</code> and <code>runs:write</code>.</li>`)}
<li>Ask <code>POST /v1/edge/decision</code> before each call to a model, and post the run afterwards. The <a href="/docs">API reference</a> shows how.</li></ol>`,
  );
}

function sumOf(rows: readonly Pick<UsageRow, 'cost_usd'>[]): number {
  return rows.reduce((sum, { cost_usd }) => sum + Number(cost_usd), 0);
}

/** The tightest budget of the whole org for the month. */
function monthBudget(limits: readonly LimitView[]): LimitView | undefined {
  return limits
    .filter(({ kind, match, standing }) => {
      const [start, end] = [standing?.window_start, standing?.window_end].map((at) => Date.parse(at ?? ''));
      const days = ((end ?? 0) - (start ?? 0)) / dayMs;
      return kind === 'budget' && Object.keys(match).length === 0 && days > 27 && days < 32;
    })
    .sort((a, b) => Number(a.limit) - Number(b.limit))[0];
}

/** What is spent before today, and what is expected from today on; today at least what it has cost already. */
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

/** What some days have cost, and where the limit on them stands. */
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

/** `none` is said only where it is known that there is no such limit. */
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
    return html`${usageMeter(limit, limit.standing)}${leftOf(limit, limit.standing)}`;
  }
  return limits.next_cursor === null ? none : html`<a href="/console/limits?kind=budget">All budgets</a>`;
}

/** More than a page of them are not counted. */
function pendingCount({ data, next_cursor }: Listed<object>): string {
  return `${count(data.length)}${next_cursor === null ? '' : '+'}`;
}

const qualityWords: Readonly<Record<string, string>> = {
  none: 'No history to go by yet',
  low: 'Little history to go by',
  fair: 'Some history to go by',
  good: 'Good history to go by',
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
    return badge(`${usd(projection - Number(budget.limit))} above the budget`, 'warn');
  }
  return qualityWords[forecast.quality] ?? forecast.quality;
}

function nearestLimits(limits: readonly LimitView[], visit: ScreenVisit): Part {
  const nearest = limits
    .filter(({ standing, kind }) => standing !== null && kind !== 'rate')
    .sort((a, b) => usedShare(b) - usedShare(a))
    .slice(0, shownBudgets);
  if (nearest.length === 0) {
    return empty(
      'Nothing holds the spend yet',
      'A budget, a spend cap or a customer limit is kept to the cent, also under parallel calls.',
      linkButton(visit, { path: '/console/limits/budgets/new', label: 'Make a budget', tone: 'primary' }),
    );
  }
  return html`<ul class="rows">${nearest.map(
    (limit) =>
      html`<li><div class="row-head"><span>${limitName(limit)}</span><span class="quiet">${limit.standing && leftOf(limit, limit.standing)}</span></div>${limit.standing && usageMeter(limit, limit.standing)}</li>`,
  )}</ul><p class="more"><a href="/console/limits">All limits</a></p>`;
}

function refusalList(refusals: readonly DenialView[], now: Date): Part {
  if (refusals.length === 0) {
    return html`<p class="quiet">Nothing was refused lately.</p>`;
  }
  return html`${table({
    caption: 'Recent refusals',
    rows: refusals,
    columns: [
      {
        title: 'Why',
        cell: (row) =>
          html`<strong>${refusalTitle(row.code)}</strong>${row.count > 1 && html` <span class="quiet">× ${count(row.count)}</span>`}<span class="sub">${refusalReason(row)}</span>`,
      },
      {
        title: 'What',
        cell: (row) =>
          html`${row.model ?? row.operation}<span class="sub">${[row.customer_id, row.workflow].filter(Boolean).join(', ')}</span>`,
      },
      { title: 'When', cell: (row) => html`<span class="nowrap">${ago(row.last_at, now)}</span>` },
    ],
  })}<p class="more"><a href="/console/refusals">All refusals</a></p>`;
}

/** The largest rows, with the runs that do not name the field, and all others as one. */
function topList(
  what: string,
  { data, total }: UsageView,
  field: 'model' | 'workflow' | 'customer_id',
): Part {
  const rows: readonly TopRow[] = shownRows(data, field).map((row) => ({ ...row, name: row[field] ?? null }));
  if (rows.length === 0) {
    return html`<p class="quiet">There are no runs in the last ${spendDays} days.</p>`;
  }
  const others: TopRow = {
    name: undefined,
    runs: total.runs - rows.reduce((sum, { runs }) => sum + runs, 0),
    cost_usd: String(Number(total.cost_usd) - sumOf(rows)),
  };
  return table<TopRow>({
    caption: `Top ${what}s of the last ${spendDays} days`,
    rows: others.runs > 0 ? [...rows, others] : rows,
    columns: [
      {
        title: capitalized(what),
        cell: ({ name }) =>
          name == null
            ? html`<span class="quiet">${name === null ? `(no ${what})` : 'Other'}</span>`
            : html`<a href="${link('/console/runs', { [field]: name })}">${name}</a>`,
      },
      { title: 'Runs', isNumber: true, cell: (row) => count(row.runs) },
      { title: 'Cost', isNumber: true, cell: (row) => usd(row.cost_usd) },
    ],
  });
}

interface TopRow extends Pick<UsageRow, 'runs' | 'cost_usd'> {
  /** Null: the runs do not name one. Undefined: those of all other values. */
  readonly name: string | null | undefined;
}

/** So many values, and beside them the runs without one. */
function shownRows(rows: readonly UsageRow[], field: 'model' | 'workflow' | 'customer_id') {
  const last = rows.filter((row) => row[field] != null)[shownTop - 1];
  return last === undefined
    ? rows
    : rows.filter((row, index) => row[field] == null || index <= rows.indexOf(last));
}
