/** When a weekly digest is due, and which week it covers. */
import { Temporal } from 'temporal-polyfill';
import type { TimeRange } from '../../../kernel/rollup-parts.ts';

const dueHour = 9;

export interface DueDigest {
  /** The Monday on which it is due, as `YYYY-MM-DD`. */
  readonly dueOn: string;
  readonly dueAtMs: number;
  /** The seven days before that Monday, and the seven days before those. */
  readonly week: Week;
  readonly weekBefore: Week;
}

export interface Week extends TimeRange {
  readonly start: string;
  /** Exclusive. */
  readonly end: string;
}

/** Returns the latest digest that is due: after a downtime, only the last week is sent. */
export function dueDigest(timeZone: string, nowMs: number): DueDigest {
  const now = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(timeZone);
  const thisMonday = now.toPlainDate().subtract({ days: now.dayOfWeek - 1 });
  const dueAtMs = (monday: Temporal.PlainDate) =>
    monday.toZonedDateTime({ timeZone, plainTime: { hour: dueHour } }).epochMilliseconds;
  const monday = dueAtMs(thisMonday) <= nowMs ? thisMonday : thisMonday.subtract({ days: 7 });
  const weekUntil = (end: Temporal.PlainDate): Week => {
    const start = end.subtract({ days: 7 });
    const startOf = (date: Temporal.PlainDate) => date.toZonedDateTime({ timeZone }).epochMilliseconds;
    return { start: start.toString(), end: end.toString(), fromMs: startOf(start), toMs: startOf(end) };
  };
  return {
    dueOn: monday.toString(),
    dueAtMs: dueAtMs(monday),
    week: weekUntil(monday),
    weekBefore: weekUntil(monday.subtract({ days: 7 })),
  };
}
