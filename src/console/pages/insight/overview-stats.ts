/** The figures at the top of the overview, each with a link to what it is made of. */
import { ApiFailure, type Listed } from '../../api.ts';
import { offered } from '../../buttons.ts';
import { requirement, stat, statOf } from '../../components.ts';
import type { DayRange } from '../../day-range.ts';
import { usageLink } from '../../drill-down.ts';
import { count, shortDate, usd } from '../../format.ts';
import { html, type Markup, type Part } from '../../html.ts';
import { badge } from '../../inline.ts';
import { limitPath, remainingText, usageMeter } from '../../limit-names.ts';
import type { ScreenVisit } from '../../screen.ts';
import type { LimitItem, UsageItem, UsageResponse } from '../../views.ts';
import { exhaustionDate, hasForecast, type SpendForecast } from './overview-charts.ts';

const dayMs = 86_400_000;

export interface OverviewFigures {
  readonly byDay: UsageResponse | ApiFailure;
  readonly caps: Listed<LimitItem> | ApiFailure;
  readonly budgets: Listed<LimitItem> | ApiFailure;
  /** The budget of the month. */
  readonly budget: LimitItem | undefined;
  readonly forecast: SpendForecast | ApiFailure;
  readonly approvals: Listed<object> | ApiFailure;
  readonly month: { readonly start: string; readonly today: string };
  readonly monthDays: DayRange;
}

export function overviewStats(visit: ScreenVisit, figures: OverviewFigures): Markup {
  const { byDay, caps, budgets, budget, forecast, approvals, month, monthDays } = figures;
  const projection =
    byDay instanceof ApiFailure
      ? byDay
      : forecast instanceof ApiFailure
        ? forecast
        : monthProjection(byDay.data, forecast, month);
  const runsOut =
    byDay instanceof ApiFailure || forecast instanceof ApiFailure
      ? undefined
      : exhaustionDate({ days: byDay.data, forecast, budget: budget && Number(budget.limit), month });
  return html`<div class="stats">${[
    spendStat(
      'Today',
      byDay,
      { from: month.today, to: month.today },
      limitNote(
        caps,
        ({ data }) => data[0],
        html`No daily cap. ${offered(visit, '/console/limits/spend-cap', html`<a href="/console/limits/spend-cap">Set cap</a>`)}`,
      ),
    ),
    spendStat(
      'This month',
      byDay,
      { from: month.start, to: month.today },
      limitNote(
        budgets,
        () => budget,
        html`No monthly budget. ${offered(visit, '/console/limits/budgets/new', html`<a href="/console/limits/budgets/new">Create budget</a>`)}`,
      ),
      monthDays,
    ),
    statOf(
      'Month-end forecast',
      projection,
      (cost) => html`<a href="/console/forecasts">${usd(cost)}</a>`,
      (cost) => forecastNote(cost, budget, forecast, runsOut),
    ),
    statOf(
      'Pending approvals',
      approvals,
      (listed) => html`<a href="/console/approvals">${pendingCount(listed)}</a>`,
      ({ data }) => (data.length > 0 ? html`<a href="/console/approvals">Review</a>` : 'None pending'),
    ),
  ]}</div>`;
}

export function sumOf(rows: readonly Pick<UsageItem, 'cost_usd'>[]): number {
  return rows.reduce((sum, { cost_usd }) => sum + Number(cost_usd), 0);
}

/** The lowest monthly budget of the entire organization. */
export function monthBudget(limits: readonly LimitItem[]): LimitItem | undefined {
  return limits
    .filter(({ kind, match, standing }) => {
      const [start, end] = [standing?.window_start, standing?.window_end].map((at) => Date.parse(at ?? ''));
      const days = ((end ?? 0) - (start ?? 0)) / dayMs;
      return kind === 'budget' && Object.keys(match).length === 0 && days > 27 && days < 32;
    })
    .sort((a, b) => Number(a.limit) - Number(b.limit))[0];
}

/** Spend before today plus the forecast from today on, which is at least today's spend; undefined without a forecast. */
function monthProjection(
  days: readonly UsageItem[],
  forecast: SpendForecast,
  month: { readonly start: string; readonly today: string },
): number | undefined {
  if (!hasForecast(forecast)) {
    return undefined;
  }
  const before = sumOf(days.filter(({ day = '' }) => day >= month.start && day < month.today));
  const today = sumOf(days.filter(({ day }) => day === month.today));
  return forecast.forecast.reduce(
    (sum, { date, expected }) =>
      sum + (date === month.today ? Math.max(today, Number(expected)) : Number(expected)),
    before,
  );
}

/** The spend of some days, with the usage of their limit. `shown`: the period to name, if it is longer. */
function spendStat(
  label: string,
  byDay: UsageResponse | ApiFailure,
  days: DayRange,
  note: Part,
  shown: DayRange = days,
): Markup {
  if (byDay instanceof ApiFailure) {
    return stat(label, '–', html`${requirement(byDay)}<br>${note}`);
  }
  const spent = sumOf(byDay.data.filter(({ day = '' }) => day >= days.from && day <= days.to));
  const period =
    shown.from === shown.to ? shortDate(shown.from) : `${shortDate(shown.from)} – ${shortDate(shown.to)}`;
  return stat(
    label,
    html`<a href="${usageLink({}, days)}">${usd(spent)}</a>`,
    html`<span class="period">${period}</span>${note}`,
  );
}

/** `none` is shown only if there is certainly no such limit. */
function limitNote(
  limits: Listed<LimitItem> | ApiFailure,
  pick: (limits: Listed<LimitItem>) => LimitItem | undefined,
  none: Markup,
): Part {
  if (limits instanceof ApiFailure) {
    return requirement(limits);
  }
  const limit = pick(limits);
  if (limit?.standing != null) {
    return html`<a class="meter-link" href="${limitPath(limit)}">${usageMeter(limit, limit.standing)}</a>${remainingText(limit, limit.standing)}`;
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
  projection: number | undefined,
  budget: LimitItem | undefined,
  forecast: SpendForecast | ApiFailure,
  runsOut: string | undefined,
): Part {
  if (forecast instanceof ApiFailure) {
    return requirement(forecast);
  }
  if (projection === undefined || budget === undefined || projection <= Number(budget.limit)) {
    return confidenceLabels[forecast.quality] ?? forecast.quality;
  }
  const over = badge(`${usd(projection - Number(budget.limit))} over budget`, 'warn');
  return Number(budget.standing?.remaining) === 0
    ? html`${over} Budget is used up`
    : html`${over} ${runsOut !== undefined && `Budget runs out around ${shortDate(runsOut)}`}`;
}
