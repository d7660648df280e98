/**
 * Projects a daily series: a straight line by least squares, with a level of its own for each weekday once there are
 * three weeks to learn them from, and a band from how far the days lay from that line. It knows no holidays, no steps and
 * no saturation, and says how much it had to go by.
 */

/** Days are numbered without gaps, from anywhere: the same weekday comes again after seven. */
export interface Day {
  readonly number: number;
  readonly value: number;
}

export interface Projected {
  readonly expected: number;
  /** Four days in five should lie between the two, if the days to come scatter like those gone by. */
  readonly low: number | null;
  readonly high: number | null;
}

export const methods = ['none', 'mean', 'trend', 'trend_and_weekday'] as const;
export type Method = (typeof methods)[number];

const daysForTrend = 7;
const daysForWeekdays = 21;
const daysOfWeek = 7;

export function methodFor(days: number): Method {
  if (days === 0) {
    return 'none';
  }
  if (days < daysForTrend) {
    return 'mean';
  }
  return days < daysForWeekdays ? 'trend' : 'trend_and_weekday';
}

export const qualities = ['none', 'low', 'fair', 'good'] as const;
export type Quality = (typeof qualities)[number];

const daysForGood = 56;

/** Told by what there was to learn from alone; how well it fits shows in the bands. */
export function qualityFor(days: number, horizonDays: number): Quality {
  if (days === 0) {
    return 'none';
  }
  if (days < daysForWeekdays || horizonDays > days) {
    return 'low';
  }
  return days < daysForGood || horizonDays > days / 2 ? 'fair' : 'good';
}

/** The 90th percentile of the normal distribution: a tenth of the days above the band, a tenth below. */
const bandWidth = 1.2816;

/** The days of a weekday, or all of them where weekdays are not told apart. */
interface Group {
  readonly count: number;
  readonly meanNumber: number;
  readonly meanValue: number;
}

/** One value for each of the days wanted, by the method that so many days allow. Never below zero. */
export function project(history: readonly Day[], wanted: readonly number[]): Projected[] {
  const method = methodFor(history.length);
  if (method === 'none') {
    return wanted.map(() => ({ expected: 0, low: null, high: null }));
  }
  const groupOf = (number: number) => (method === 'trend_and_weekday' ? number % daysOfWeek : 0);
  const groups = groupsOf(history, groupOf);
  const levelOf = (number: number) => groups.get(groupOf(number)) as Group;

  // The slope within weekdays, which is what least squares over slope and seven levels at once comes to.
  let spread = 0;
  let covariance = 0;
  for (const { number, value } of history) {
    const { meanNumber, meanValue } = levelOf(number);
    spread += (number - meanNumber) ** 2;
    covariance += (number - meanNumber) * (value - meanValue);
  }
  const slope = method === 'mean' ? 0 : covariance / spread;
  const at = (number: number) => {
    const { meanNumber, meanValue } = levelOf(number);
    return meanValue + slope * (number - meanNumber);
  };

  const squaredErrors = history.reduce((sum, { number, value }) => sum + (value - at(number)) ** 2, 0);
  const freedom = history.length - groups.size - (method === 'mean' ? 0 : 1);
  const scatter = freedom > 0 ? Math.sqrt(squaredErrors / freedom) : null;

  return wanted.map((number) => {
    const { count, meanNumber } = levelOf(number);
    const expected = at(number);
    // The further out, the less certain is the line itself.
    const ofSlope = method === 'mean' ? 0 : (number - meanNumber) ** 2 / spread;
    const width = scatter === null ? null : bandWidth * scatter * Math.sqrt(1 + 1 / count + ofSlope);
    return {
      expected: Math.max(0, expected),
      low: width === null ? null : Math.max(0, expected - width),
      high: width === null ? null : Math.max(0, expected + width),
    };
  });
}

function groupsOf(history: readonly Day[], groupOf: (number: number) => number): Map<number, Group> {
  const byGroup = new Map<number, Day[]>();
  for (const day of history) {
    const group = groupOf(day.number);
    byGroup.set(group, [...(byGroup.get(group) ?? []), day]);
  }
  return new Map(
    [...byGroup].map(([group, days]) => [
      group,
      {
        count: days.length,
        meanNumber: mean(days.map(({ number }) => number)),
        meanValue: mean(days.map(({ value }) => value)),
      },
    ]),
  );
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
