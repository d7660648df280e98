/** The charts of the overview: the month with its forecast, and daily spend by model. */
import { barChart } from '../../charts/bars.ts';
import { lineChart } from '../../charts/line.ts';
import { shortDate, shortUsd, usd } from '../../format.ts';
import { link, type Markup } from '../../html.ts';
import type { Responses } from '../../responses.ts';
import type { UsageItem, UsageSeriesResponse } from '../../views.ts';

export type SpendForecast = Responses['forecasts.list']['data'][number];

export type CostRow = Pick<UsageItem, 'day' | 'model' | 'cost_usd'>;

export interface MonthChart {
  readonly days: readonly CostRow[];
  readonly forecast: Pick<SpendForecast, 'forecast' | 'quality'>;
  /** The budget of the month; undefined if there is none. */
  readonly budget: number | undefined;
  readonly month: { readonly start: string; readonly today: string };
}

/** Returns false if the forecast has no history. The API then forecasts zero, which is not an expectation. */
export function hasForecast({ quality }: Pick<SpendForecast, 'quality'>): boolean {
  return quality !== 'none';
}

/** Returns the first day on which the budget is expected to be used up; undefined if not in this month, or no budget. */
export function exhaustionDate({ days, forecast, budget, month }: MonthChart): string | undefined {
  if (!hasForecast(forecast)) {
    return undefined;
  }
  const costOf = (date: string) =>
    days.reduce((sum, { day, cost_usd }) => sum + (day === date ? Number(cost_usd) : 0), 0);
  let spent = days.reduce(
    (sum, { day = '', cost_usd }) => sum + (day >= month.start && day < month.today ? Number(cost_usd) : 0),
    0,
  );
  return forecast.forecast.find(({ date, expected }) => {
    spent += date === month.today ? Math.max(Number(expected), costOf(date)) : Number(expected);
    return budget !== undefined && spent > budget;
  })?.date;
}

/** The remaining budget per day, or without a budget the cumulative spend. */
export function monthChart({ days, forecast, budget, month }: MonthChart): Markup {
  const costs = new Map(days.map(({ day = '', cost_usd }) => [day, Number(cost_usd)]));
  const isForecast = hasForecast(forecast);
  const ahead = isForecast ? forecast.forecast : [];
  const past = datesBetween(month.start, month.today);
  const dates = [...past, ...ahead.map(({ date }) => date).filter((date) => date > month.today)];
  const shown = (spent: number) => (budget === undefined ? spent : budget - spent);
  let spent = 0;
  const actual = dates.map((date) => {
    if (date > month.today) {
      return null;
    }
    spent += costs.get(date) ?? 0;
    return shown(spent);
  });
  const before = spent - (costs.get(month.today) ?? 0);
  const projected = (pick: 'expected' | 'low' | 'high') => {
    let sum = before;
    const sums = new Map(
      ahead.map(({ date, ...amounts }) => {
        const cost = Number(amounts[pick] ?? amounts.expected);
        sum += date === month.today ? Math.max(cost, costs.get(date) ?? 0) : cost;
        return [date, shown(sum)];
      }),
    );
    return dates.map((date) =>
      date < month.today ? null : date === month.today ? shown(spent) : (sums.get(date) ?? null),
    );
  };
  const expected = projected('expected');
  const hasBand = ahead.some(({ high }) => high !== null);
  const last = expected.at(-1) ?? shown(spent);
  const name = budget === undefined ? 'Spend this month' : 'Remaining monthly budget';
  const title = `${name}, ${daySpan(dates)}`;
  return lineChart({
    id: 'month',
    title,
    summary:
      budget === undefined
        ? `${usd(spent)} spent so far${isForecast ? `; ${usd(last)} expected by the end of the month` : ''}.`
        : budgetSummary({
            budget,
            spent,
            last: isForecast ? last : undefined,
            runsOut: exhaustionDate({ days, forecast, budget, month }),
          }),
    labels: dates.map(shortDate),
    lines: [
      { name: budget === undefined ? 'Spent' : 'Remaining', className: 'series-1', values: actual },
      ...(isForecast
        ? [{ name: 'Forecast', className: 'series-2', dashed: true as const, values: expected }]
        : []),
    ],
    band: hasBand ? { name: '80% range', low: projected('low'), high: projected('high') } : undefined,
    ...(budget !== undefined && { marks: [] }),
    formatTick: shortUsd,
    format: usd,
  });
}

interface BudgetOutlook {
  readonly budget: number;
  readonly spent: number;
  /** Expected remaining budget at the end of the month; negative if exceeded, undefined without a forecast. */
  readonly last: number | undefined;
  /** The first day on which the budget is used up. */
  readonly runsOut: string | undefined;
}

function budgetSummary({ budget, spent, last, runsOut }: BudgetOutlook): string {
  const now =
    spent > budget
      ? `${usd(spent - budget)} over the budget of ${usd(budget)}.`
      : `${usd(budget - spent)} of ${usd(budget)} remaining.`;
  if (last === undefined) {
    return now;
  }
  if (last >= 0) {
    return `${now} ${usd(last)} expected to remain at the end of the month.`;
  }
  const when = spent > budget || runsOut === undefined ? '' : `; runs out around ${shortDate(runsOut)}`;
  return `${now} Expected to exceed the budget by ${usd(-last)} at the end of the month${when}.`;
}

const shownModels = 5;

/** The query of the usage per day that `costsByModel` takes. */
export const modelsPerDay = { group_by: 'model', interval: 'day', top: String(shownModels) };

/** The cost per day of the models that have a series of their own. */
export function costsByModel({
  points: days,
  series,
}: Pick<UsageSeriesResponse, 'points' | 'series'>): CostRow[] {
  return series
    .filter(({ kind }) => kind === 'value')
    .flatMap(({ value, points }) =>
      days.map((day, index) => ({ day, model: value, cost_usd: points[index]?.cost_usd ?? '0' })),
    );
}

/**
 * Stacks the most expensive models of `byModel`, the first at the bottom, and the rest of each day on top. Each bar and segment leads to
 * the usage of its day; `filters` are those of the page.
 */
export function spendPerDay(
  byDay: readonly CostRow[],
  byModel: readonly CostRow[],
  filters: Readonly<Record<string, string>> = {},
): Markup {
  const first = byDay[0]?.day;
  const last = byDay.at(-1)?.day;
  const dates = first === undefined || last === undefined ? [] : datesBetween(first, last);
  const dailyCosts = (rows: readonly CostRow[]) => {
    const costs = new Map<string, number>();
    for (const { day = '', cost_usd } of rows) {
      costs.set(day, (costs.get(day) ?? 0) + Number(cost_usd));
    }
    return dates.map((date) => costs.get(date) ?? 0);
  };
  const costs = new Map<string, number>();
  for (const { model, cost_usd } of byModel) {
    costs.set(model ?? '', (costs.get(model ?? '') ?? 0) + Number(cost_usd));
  }
  const top = [...costs]
    .sort((a, b) => b[1] - a[1])
    .slice(0, shownModels)
    .map(([model]) => model);
  const usageOn = (index: number, more: Readonly<Record<string, string>> = {}) =>
    link('/console/usage', { ...filters, ...more, range: 'custom', from: dates[index], to: dates[index] });
  const parts = top.map((model, index) => ({
    name: model,
    className: `series-${index + 1}`,
    values: dailyCosts(byModel.filter((row) => row.model === model)),
    segmentHref: (at: number) => usageOn(at, { model, group_by: 'workflow' }),
  }));
  const others = dailyCosts(byDay).map((sum, index) =>
    parts.reduce((rest, { values }) => rest - (values[index] ?? 0), sum),
  );
  const total = byDay.reduce((sum, { cost_usd }) => sum + Number(cost_usd), 0);
  return barChart({
    id: 'days',
    title: dates.length === 0 ? 'Spend per day' : `Spend per day, ${daySpan(dates)}`,
    summary: `${usd(total)} in ${dates.length} days${top.length > 0 ? `, most of it for ${top[0]}` : ''}.`,
    labels: dates.map(shortDate),
    barHref: (index) => usageOn(index),
    parts: [
      ...parts,
      // Smaller amounts are floating-point errors.
      ...(parts.length === 0 || others.some((cost) => cost >= nanodollar)
        ? [
            {
              name: parts.length === 0 ? 'Cost' : 'Others',
              className: parts.length === 0 ? 'series-1' : 'series-6',
              values: others.map((cost) => (cost < nanodollar ? 0 : cost)),
            },
          ]
        : []),
    ],
    formatTick: shortUsd,
    format: usd,
  });
}

function daySpan(dates: readonly string[]): string {
  return [dates[0], dates.at(-1)].map((date) => shortDate(date ?? '')).join(' – ');
}

const nanodollar = 1e-9;

/** Returns all dates from `first` to `last`, both included, as `YYYY-MM-DD`. */
function datesBetween(first: string, last: string): string[] {
  const dates: string[] = [];
  for (let at = Date.parse(first); at <= Date.parse(last); at += 86_400_000) {
    dates.push(new Date(at).toISOString().slice(0, 10));
  }
  return dates;
}
