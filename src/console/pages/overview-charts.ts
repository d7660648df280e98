/** The two pictures of the overview: the month so far with what is to come, and each day by model. */
import { barChart } from '../charts/bars.ts';
import { lineChart } from '../charts/line.ts';
import { shortDate, shortUsd, usd } from '../format.ts';
import type { Html } from '../html.ts';
import type { UsageRow } from '../views.ts';

export interface CapacityView {
  readonly quality: string;
  readonly days: readonly {
    readonly date: string;
    readonly cost_usd: {
      readonly expected: string;
      readonly low: string | null;
      readonly high: string | null;
    };
  }[];
}

export interface MonthChart {
  readonly days: readonly UsageRow[];
  readonly forecast: CapacityView;
  /** Undefined: there is none. */
  readonly budget: number | undefined;
  readonly month: { readonly start: string; readonly today: string };
}

/** With a budget what is left of it, day by day, down to zero; without one what was spent. */
export function monthChart({ days, forecast, budget, month }: MonthChart): Html {
  const costs = new Map(days.map(({ day = '', cost_usd }) => [day, Number(cost_usd)]));
  const ahead = forecast.days;
  const gone = datesBetween(month.start, month.today);
  const dates = [...gone, ...ahead.map(({ date }) => date).filter((date) => date > month.today)];
  const shown = (spent: number) => (budget === undefined ? spent : budget - spent);
  let spent = 0;
  const real = dates.map((date) => {
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
      ahead.map(({ date, cost_usd }) => {
        const cost = Number(cost_usd[pick] ?? cost_usd.expected);
        sum += date === month.today ? Math.max(cost, costs.get(date) ?? 0) : cost;
        return [date, shown(sum)];
      }),
    );
    return dates.map((date) =>
      date < month.today ? null : date === month.today ? shown(spent) : (sums.get(date) ?? null),
    );
  };
  const expected = projected('expected');
  const hasBand = ahead.some(({ cost_usd }) => cost_usd.high !== null);
  const last = expected.at(-1) ?? shown(spent);
  const title = budget === undefined ? 'Spent this month' : 'What is left of this month’s budget';
  return lineChart({
    id: 'month',
    title,
    summary:
      budget === undefined
        ? `${usd(spent)} spent so far; ${usd(last)} expected by the end of the month.`
        : `${usd(Math.max(0, budget - spent))} of ${usd(budget)} left; ${last >= 0 ? `${usd(last)} expected to be left at the end of the month.` : `expected to be used up ${usd(-last)} short of the month's end.`}`,
    labels: dates.map(shortDate),
    lines: [
      { name: budget === undefined ? 'Spent' : 'Left', className: 'series-1', values: real },
      { name: 'Expected', className: 'series-2', dashed: true, values: expected },
    ],
    band: hasBand ? { name: 'Likely', low: projected('low'), high: projected('high') } : undefined,
    ...(budget !== undefined && { marks: [] }),
    formatTick: shortUsd,
    format: usd,
  });
}

const shownModels = 5;

/** By model where that is known for every day, the dearest at the bottom. */
export function spendPerDay(byDay: readonly UsageRow[], byModel: readonly UsageRow[]): Html {
  const first = byDay[0]?.day;
  const last = byDay.at(-1)?.day;
  const dates = first === undefined || last === undefined ? [] : datesBetween(first, last);
  const valuesOf = (rows: readonly UsageRow[]) =>
    dates.map((date) =>
      rows.filter(({ day }) => day === date).reduce((sum, { cost_usd }) => sum + Number(cost_usd), 0),
    );
  const costs = new Map<string, number>();
  for (const { model, cost_usd } of byModel) {
    costs.set(model ?? '', (costs.get(model ?? '') ?? 0) + Number(cost_usd));
  }
  const models = [...costs].sort((a, b) => b[1] - a[1]).map(([model]) => model);
  const top = models.slice(0, shownModels);
  const parts =
    models.length === 0
      ? [{ name: 'Cost', className: 'series-1', values: valuesOf(byDay) }]
      : [
          ...top.map((model, index) => ({
            name: model,
            className: `series-${index + 1}`,
            values: valuesOf(byModel.filter((row) => row.model === model)),
          })),
          ...(models.length > shownModels
            ? [
                {
                  name: 'Others',
                  className: 'series-6',
                  values: valuesOf(byModel.filter((row) => !top.includes(row.model ?? ''))),
                },
              ]
            : []),
        ];
  const total = byDay.reduce((sum, { cost_usd }) => sum + Number(cost_usd), 0);
  return barChart({
    id: 'days',
    title: 'Spend per day',
    summary: `${usd(total)} in ${dates.length} days${top.length > 0 ? `, most of it for ${top[0]}` : ''}.`,
    labels: dates.map(shortDate),
    parts,
    formatTick: shortUsd,
    format: usd,
  });
}

/** Both included, as `YYYY-MM-DD`. */
function datesBetween(first: string, last: string): string[] {
  const dates: string[] = [];
  for (let at = Date.parse(first); at <= Date.parse(last); at += 86_400_000) {
    dates.push(new Date(at).toISOString().slice(0, 10));
  }
  return dates;
}
