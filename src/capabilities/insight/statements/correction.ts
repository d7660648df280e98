/** Identifies the runs that reconciliations post, so that later comparisons find them without an index of their own. */

/** The `external_id` of every correction starts with it. */
export const correctionPrefix = 'statement:';

const noonMs = 12 * 3_600_000;

/** Returns the time of a correction: noon UTC of its day, or the start of the day if its noon is still to come. */
export function correctionTime(day: string, now: Date): Date {
  const startMs = Date.parse(day);
  return new Date(startMs + noonMs > now.getTime() ? startMs : startMs + noonMs);
}

/** Returns all times that a correction of the day may have. */
export function correctionTimes(dayStartMs: number): Date[] {
  return [new Date(dayStartMs), new Date(dayStartMs + noonMs)];
}
