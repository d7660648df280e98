/** The first page: where the money goes today and this month, what is near its edge, what was refused. */

import { localTime } from '../../kernel/local-time.ts';
import { calendarWindow } from '../../kernel/windows.ts';
import { type Listed, Refused } from '../api.ts';
import { badge, card, cardOf, empty, heading, stat, table } from '../components.ts';
import { ago, capitalized, count, usd } from '../format.ts';
import { type Html, html, link, type Part } from '../html.ts';
import { leftOf, limitName, standingMeter, usedShare } from '../limit-names.ts';
import { refusalReason, refusalTitle } from '../refusal-words.ts';
import { type Screen, type ScreenVisit, seeOther, view } from '../screen.ts';
import type { LimitView, RefusalView, UsageRow, UsageView } from '../views.ts';
import {
  type AskUsage,
  type CapacityView,
  monthChart,
  spendPerDay,
  usageByDayAndModel,
} from './overview-charts.ts';

const dayMs = 86_400_000;
const spendDays = 30;
const shownBudgets = 6;
const shownTop = 6;

export const overviewScreens: readonly Screen[] = [
  {
    path: '/console',
    audience: 'everyone',
    // Operators have no spend of their own to look at.
    handler: async (visit) => (visit.credential.org === null ? seeOther('/console/orgs') : overview(visit)),
  },
];

async function overview({ api, org, now }: ScreenVisit) {
  const nowMs = now.getTime();
  const month = calendarWindow('month', org.timezone, nowMs);
  const daysLeft = Math.max(1, Math.ceil((month.endMs - nowMs) / dayMs));
  const fromMs = Math.min(
    month.startMs,
    calendarWindow('day', org.timezone, nowMs - (spendDays - 1) * dayMs).startMs,
  );
  const from = new Date(fromMs).toISOString();
  const usage: AskUsage = (query) => api.tryGet<UsageView>(link(`${org.path}/usage`, { ...query, from }));
  const top = (group_by: string) => usage({ group_by, limit: String(shownTop) });
  const [byDay, byDayAndModel, byModel, byWorkflow, byCustomer, limits, forecast, refusals, approvals] =
    await Promise.all([
      usage({ group_by: 'day', limit: '200' }),
      usageByDayAndModel(usage),
      top('model'),
      top('workflow'),
      top('customer_id'),
      api.tryGet<Listed<LimitView>>(`${org.path}/limits?limit=200`),
      api.tryGet<CapacityView>(`/v1/capacity/forecasts?horizon_days=${daysLeft}`),
      api.tryGet<Listed<RefusalView>>(`${org.path}/refusals?limit=8`),
      api.tryGet<Listed<object>>(`${org.path}/approvals?state=pending&limit=100`),
    ]);
  const today = localTime(org.timezone, nowMs).date;
  const monthStart = localTime(org.timezone, month.startMs).date;
  const days = byDay instanceof Refused ? [] : byDay.data;
  const spentToday = sumOf(days.filter(({ day }) => day === today));
  const spentThisMonth = sumOf(days.filter(({ day }) => (day ?? '') >= monthStart));
  const all = limits instanceof Refused ? [] : limits.data;
  const budget = monthBudget(all);
  const projection =
    forecast instanceof Refused ? undefined : monthProjection(days, forecast, { monthStart, today });
  const body = html`${heading('Overview', undefined, html`What the runs of ${org.name} cost, and what holds them. Days are those of ${org.timezone}.`)}
${!(byDay instanceof Refused) && days.length === 0 && firstSteps()}
<div class="stats">${[
    todayStat(
      spentToday,
      all.find(({ kind }) => kind === 'spend_cap'),
    ),
    monthStat(spentThisMonth, budget),
    stat(
      'Forecast to the end of the month',
      projection === undefined ? '–' : usd(projection),
      forecastNote(projection, budget, forecast),
    ),
    approvals instanceof Refused
      ? false
      : stat(
          'Waiting for approval',
          count(approvals.data.length),
          approvals.data.length > 0 ? html`<a href="/console/approvals">Decide</a>` : 'Nothing to decide',
        ),
  ]}</div>
<div class="grid wide">
${byDay instanceof Refused || forecast instanceof Refused ? cardOf('This month', byDay instanceof Refused ? byDay : forecast, () => '') : html`<section class="card">${monthChart({ days, forecast, budget: budget && Number(budget.limit), month: { start: monthStart, today } })}</section>`}
${byDayAndModel instanceof Refused || byDay instanceof Refused ? cardOf('Spend per day', byDayAndModel, () => '') : html`<section class="card">${spendPerDay(byDay.data, byDayAndModel)}</section>`}
</div>
<div class="grid wide">
${cardOf('Limits nearest their edge', limits, ({ data }) => nearestLimits(data))}
${cardOf('Recent refusals', refusals, ({ data }) => refusalList(data, now))}
</div>
<div class="grid">
${cardOf('Top models', byModel, ({ data }) => topList('model', data, 'model'))}
${cardOf('Top customers', byCustomer, ({ data }) => topList('customer', data, 'customer_id'))}
${cardOf('Top workflows', byWorkflow, ({ data }) => topList('workflow', data, 'workflow'))}
</div>`;
  return view('Overview', body);
}

function firstSteps(): Html {
  return card(
    'First steps',
    html`<p>There are no runs yet. To see something here:</p><ol>
<li>Set a <a href="/console/limits/spend-cap">daily spend cap</a> or a <a href="/console/limits/budgets/new">budget</a>.</li>
<li><a href="/console/keys/new">Mint a key</a> for your gateway, with the scopes <code>edge:decide</code> and <code>runs:write</code>.</li>
<li>Ask <code>POST /v1/edge/decision</code> before each call to a model, and post the run afterwards. The <a href="/docs">API reference</a> shows how.</li></ol>`,
  );
}

function sumOf(rows: readonly UsageRow[]): number {
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
  month: { readonly monthStart: string; readonly today: string },
): number {
  const before = sumOf(days.filter(({ day = '' }) => day >= month.monthStart && day < month.today));
  const today = sumOf(days.filter(({ day }) => day === month.today));
  return forecast.days.reduce(
    (sum, { date, cost_usd }) =>
      sum + (date === month.today ? Math.max(today, Number(cost_usd.expected)) : Number(cost_usd.expected)),
    before,
  );
}

function todayStat(spent: number, cap: LimitView | undefined): Html {
  return cap?.standing == null
    ? stat('Today', usd(spent), html`No daily cap. <a href="/console/limits/spend-cap">Set one</a>`)
    : stat('Today', usd(spent), html`${standingMeter(cap, cap.standing)}${leftOf(cap, cap.standing)}`);
}

function monthStat(spent: number, budget: LimitView | undefined): Html {
  return budget?.standing == null
    ? stat(
        'This month',
        usd(spent),
        html`No monthly budget. <a href="/console/limits/budgets/new">Make one</a>`,
      )
    : stat(
        'This month',
        usd(spent),
        html`${standingMeter(budget, budget.standing)}${leftOf(budget, budget.standing)}`,
      );
}

const qualityWords: Readonly<Record<string, string>> = {
  none: 'No history to go by yet',
  low: 'Little history to go by',
  fair: 'Some history to go by',
  good: 'Good history to go by',
};

function forecastNote(
  projection: number | undefined,
  budget: LimitView | undefined,
  forecast: CapacityView | Refused,
): Part {
  if (projection === undefined || forecast instanceof Refused) {
    return 'Not to be seen with what you signed in with';
  }
  if (budget !== undefined && projection > Number(budget.limit)) {
    return badge(`${usd(projection - Number(budget.limit))} above the budget`, 'warn');
  }
  return qualityWords[forecast.quality] ?? forecast.quality;
}

function nearestLimits(limits: readonly LimitView[]): Part {
  const nearest = limits
    .filter(({ standing, kind }) => standing !== null && kind !== 'rate')
    .sort((a, b) => usedShare(b) - usedShare(a))
    .slice(0, shownBudgets);
  if (nearest.length === 0) {
    return empty(
      'Nothing holds the spend yet',
      'A budget, a spend cap or a customer limit is kept to the cent, also under parallel calls.',
      html`<a class="button primary" href="/console/limits/budgets/new">Make a budget</a>`,
    );
  }
  return html`<ul class="rows">${nearest.map(
    (limit) =>
      html`<li><div class="row-head"><span>${limitName(limit)}</span><span class="quiet">${limit.standing && leftOf(limit, limit.standing)}</span></div>${limit.standing && standingMeter(limit, limit.standing)}</li>`,
  )}</ul><p class="more"><a href="/console/limits">All limits</a></p>`;
}

function refusalList(refusals: readonly RefusalView[], now: Date): Part {
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

function topList(what: string, rows: readonly UsageRow[], field: 'model' | 'workflow' | 'customer_id'): Part {
  const named = rows.filter((row) => row[field] != null);
  if (named.length === 0) {
    return html`<p class="quiet">No run of the last ${spendDays} days names a ${what}.</p>`;
  }
  return table({
    caption: `Top ${what}s of the last ${spendDays} days`,
    rows: named,
    columns: [
      {
        title: capitalized(what),
        cell: (row) =>
          html`<a href="${link('/console/runs', { [field]: row[field] ?? undefined })}">${row[field]}</a>`,
      },
      { title: 'Runs', isNumber: true, cell: (row) => count(row.runs) },
      { title: 'Cost', isNumber: true, cell: (row) => usd(row.cost_usd) },
    ],
  });
}
