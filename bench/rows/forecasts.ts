/** Accuracy of forecasts on generated series, compared with repeating the previous week, and the CPU time of one. */
import { forecast } from '../../src/kernel/forecast/forecast.ts';
import { fitReturns } from '../../src/kernel/forecast/returns-curve.ts';
import { exampleWeeks } from '../../test/support/forecast-example.ts';
import { judgeForecasts, seededRandom, seriesKinds } from '../../test/support/series.ts';
import { type Bar, median, type SingleRow } from '../measure.ts';

const seeds = 60;
const rounds = 31;
const kinds = Object.keys(seriesKinds);
const errorOf = (kind: string) => `${kind}: error / seasonal-naive's`;
const worst = "worst: error / seasonal-naive's";
const average = "average: error / seasonal-naive's";
const bars: [string, Bar][] = [
  [average, { atMost: 0.9 }],
  [worst, { atMost: 1.2 }],
];

export const forecasts: SingleRow = {
  kind: 'single',
  name: 'forecasts',
  what: 'backtest of forecasts on series of test/support/series.ts, 28 days ahead of 60, 120 and 180 days; CPU of one',
  toReach: Object.fromEntries(bars),
  async measure({ progress }) {
    progress('series');
    const judged = judgeForecasts({ seeds });
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const ratios = judged.flatMap(({ dailyRatio, totalRatio }) => [dailyRatio, totalRatio]);
    const figures: Record<string, number> = {
      [average]: mean(judged.map(({ dailyRatio }) => dailyRatio)),
      [worst]: Math.max(...ratios),
    };
    for (const kind of kinds) {
      const ofKind = judged.filter((one) => one.kind === kind);
      figures[errorOf(kind)] = mean(ofKind.map(({ dailyRatio }) => dailyRatio));
    }
    figures['days within their band'] = mean(judged.map(({ daysCovered }) => daysCovered));
    figures['totals within their band'] = mean(judged.map(({ totalsCovered }) => totalsCovered));
    progress('cost');
    const twoYears = seriesKinds['compound growth']?.(730, seededRandom(1)) ?? [];
    figures['CPU ms, a year ahead of two years'] = medianMs(() => forecast(twoYears, 365));
    figures['CPU ms, 30 days ahead of 180'] = medianMs(() => forecast(twoYears.slice(-180), 30));
    const weeks = exampleWeeks().map(({ teams, valueUsd }) => ({ teams, value: valueUsd }));
    figures['CPU ms, curve of 26 weeks'] = medianMs(() => fitReturns(weeks)?.paysUpTo(90));
    return {
      figures,
      notes: [
        'Errors are root mean squares of days; the worst is of days and totals. Bands are to hold 0.8.',
      ],
    };
  },
};

function medianMs(work: () => unknown): number {
  const times = Array.from({ length: rounds }, () => {
    // CPU time of this process only, independent of other load on the machine.
    const start = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1_000;
  });
  return median(times);
}
