/**
 * The chart of docs/guides/forecasts.md: the linear and the capacity forecast for the same half year, drawn from responses of
 * the two routes (recorded by `src/capabilities/insight/forecasts/capacity-scenarios.test.ts`).
 */
import { projectLinearly } from '../src/capabilities/insight/forecasts/linear.ts';
import { returnsOf, viewTeamReturns } from '../src/capabilities/insight/forecasts/team-returns.ts';
import { type ExampleWeek, exampleWeeks } from '../test/support/forecast-example.ts';

export const chartDays = 30;
/** The linear forecast uses the last 30 days, which contain the runs of four of these weeks. */
const linearWeeks = 4;

const nanos = (usd: number) => BigInt(Math.round(usd * 100)) * 10_000_000n;
const usd = (of: bigint) => Number(of) / 1e9;

export interface ChartAnswers {
  readonly teams: ReturnType<typeof viewTeamReturns>;
  readonly linear: readonly { readonly teams: number; readonly returnUsd: number }[];
}

export function chartAnswers(weeks: readonly ExampleWeek[] = exampleWeeks()): ChartAnswers {
  const teams = viewTeamReturns(
    returnsOf(
      weeks.map((week) => ({
        teams: week.teams,
        value: Number(nanos(week.valueUsd)),
        cost: Number(nanos(week.costUsd)),
      })),
    ),
    { weeks: chartDays / 7, value: 1, cost: 1, planned: undefined },
  );
  const last = weeks.slice(-linearWeeks);
  const sum = (of: (week: ExampleWeek) => number) =>
    last.reduce((total, week) => total + nanos(of(week)), 0n);
  const observed = {
    valueNanos: sum(({ valueUsd }) => valueUsd),
    costNanos: sum(({ costUsd }) => costUsd),
    teams: BigInt(Math.max(...last.map((week) => week.teams))),
  };
  return {
    teams,
    linear: teams.points.map((point) => ({
      teams: point.teams,
      returnUsd: usd(projectLinearly(observed, BigInt(point.teams)).returnNanos),
    })),
  };
}

const size = { width: 760, height: 420, left: 76, right: 24, top: 56, bottom: 52 };

export function forecastChart({ teams, linear }: ChartAnswers = chartAnswers()): string {
  const counts = teams.points.map((point) => point.teams);
  const values = [
    ...linear.map(({ returnUsd }) => returnUsd),
    ...teams.points.flatMap((point) => [Number(point.return_low_usd), Number(point.return_high_usd)]),
  ];
  const [lowest, highest] = [Math.min(0, ...values), Math.max(...values)];
  const last = Math.max(...counts);
  const x = (count: number) => size.left + (count / last) * (size.width - size.left - size.right);
  const y = (value: number) =>
    size.top + ((highest - value) / (highest - lowest)) * (size.height - size.top - size.bottom);
  const place = (count: number, value: number) => `${x(count).toFixed(1)},${y(value).toFixed(1)}`;
  const line = (points: readonly string[], style: string) =>
    `<polyline points="${points.join(' ')}" fill="none" stroke-width="2.5" ${style}/>`;
  const band = [
    ...teams.points.map((point) => place(point.teams, Number(point.return_high_usd))),
    ...[...teams.points].reverse().map((point) => place(point.teams, Number(point.return_low_usd))),
  ];
  const pays = teams.pays_up_to?.expected ?? last;
  const text = (at: string, words: string, more = '') => `<text ${at} ${more}>${words}</text>`;
  const upright = (count: number, words: string, rowFromBelow: number) =>
    [
      `<line x1="${x(count).toFixed(1)}" x2="${x(count).toFixed(1)}" y1="${size.top}" y2="${size.height - size.bottom}" stroke="#777" stroke-dasharray="4 4"/>`,
      text(
        `x="${(x(count) + 5).toFixed(1)}" y="${size.height - size.bottom - 10 - rowFromBelow * 18}"`,
        words,
      ),
    ].join('\n  ');
  const levels = ticks(lowest, highest);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" role="img" aria-labelledby="title" font-family="sans-serif" font-size="12" fill="#333">
  <title id="title">Return over ${chartDays} days by team count: the linear and the capacity forecast</title>
  <rect width="${size.width}" height="${size.height}" fill="#fff"/>
  ${text(`x="${size.left}" y="24"`, `Return over ${chartDays} days, by team count, from the same 26 weeks`, 'font-size="15" font-weight="bold"')}
  ${levels
    .map(
      (level) =>
        `<line x1="${size.left}" x2="${size.width - size.right}" y1="${y(level).toFixed(1)}" y2="${y(level).toFixed(1)}" stroke="${level === 0 ? '#555' : '#ddd'}"/>\n  ${text(`x="${size.left - 8}" y="${(y(level) + 4).toFixed(1)}"`, `$${level.toLocaleString('en-US')}`, 'text-anchor="end"')}`,
    )
    .join('\n  ')}
  ${counts
    .filter((count) => count % 5 === 0)
    .map((count) =>
      text(
        `x="${x(count).toFixed(1)}" y="${size.height - size.bottom + 18}"`,
        String(count),
        'text-anchor="middle"',
      ),
    )
    .join('\n  ')}
  ${text(`x="${size.width / 2}" y="${size.height - 12}"`, 'teams', 'text-anchor="middle"')}
  <polygon points="${band.join(' ')}" fill="#2563eb" fill-opacity="0.15"/>
  ${line(
    linear.map((point) => place(point.teams, point.returnUsd)),
    'stroke="#b45309" stroke-dasharray="8 5"',
  )}
  ${line(
    teams.points.map((point) => place(point.teams, Number(point.return_usd))),
    'stroke="#2563eb"',
  )}
  ${upright(teams.observed, `${teams.observed} teams observed`, 1)}
  ${upright(pays, `another team pays up to ${pays} (${teams.pays_up_to?.low ?? '?'} to ${teams.pays_up_to?.high ?? 'more'})`, 0)}
  ${text(`x="${size.left + 8}" y="44"`, 'GET /v1/forecast (linear)', 'fill="#b45309"')}
  ${text(`x="${size.left + 190}" y="44"`, 'GET /v1/capacity/forecasts, with its band', 'fill="#2563eb"')}
</svg>
`;
}

/** Returns about five round numbers. */
function ticks(lowest: number, highest: number): number[] {
  const rough = (highest - lowest) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  const first = Math.ceil(lowest / step);
  return Array.from({ length: Math.floor(highest / step) - first + 1 }, (_, index) => (first + index) * step);
}
