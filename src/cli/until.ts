/** Reads the end of a raise as people write it: a time, a duration, `tomorrow` or `end-of-month`. */
import { Temporal } from 'temporal-polyfill';
import { calendarWindow } from '../kernel/windows.ts';

const minuteMs = 60_000;
const unitMs: Readonly<Record<string, number>> = { m: minuteMs, h: 60 * minuteMs, d: 1_440 * minuteMs };

export const untilHelp =
  'RFC 3339 time, duration such as 90m, 4h or 3d, tomorrow (9:00 in the time zone of the organization), or end-of-month';

/** Returns true if the time depends on the time zone of the organization. */
export function needsTimezone(text: string): boolean {
  return text === 'tomorrow' || text === 'end-of-month';
}

/** Returns the time as RFC 3339. Throws if the text is none of these. */
export function untilOf(text: string, timezone: string, now: Date): string {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (count !== undefined) {
    return new Date(now.getTime() + Number(count) * (unitMs[unit] ?? 0)).toISOString();
  }
  if (text === 'tomorrow') {
    const today = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(timezone);
    const morning = today.toPlainDate().add({ days: 1 }).toPlainDateTime({ hour: 9 });
    return new Date(morning.toZonedDateTime(timezone).epochMilliseconds).toISOString();
  }
  if (text === 'end-of-month') {
    return new Date(calendarWindow('month', timezone, now.getTime()).endMs).toISOString();
  }
  if (Number.isNaN(Date.parse(text)) || !/[zZ]$|[+-]\d\d:\d\d$/.test(text)) {
    throw new Error(`--until must be one of: ${untilHelp}`);
  }
  return new Date(text).toISOString();
}
