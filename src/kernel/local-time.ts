/** What clock and calendar show in a time zone at an instant, as far as rules ask for it. */
import { Temporal } from 'temporal-polyfill';

export interface LocalTime {
  readonly hour: number;
  /** 1 is Monday, 7 is Sunday. */
  readonly weekday: number;
  /** `YYYY-MM-DD`. */
  readonly date: string;
}

/** Every zone's offset is a multiple of a quarter of an hour, so within one of these nothing here changes. */
const slotMs = 15 * 60_000;

/** Computing one is dear, and nearly always it is the one that was just asked for. */
const recent = new Map<string, { readonly slot: number; readonly time: LocalTime }>();
const recentMax = 10_000;

export function localTime(timeZone: string, atMs: number): LocalTime {
  const slot = Math.floor(atMs / slotMs);
  const known = recent.get(timeZone);
  if (known?.slot === slot) {
    return known.time;
  }
  const there = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone);
  const time = { hour: there.hour, weekday: there.dayOfWeek, date: there.toPlainDate().toString() };
  if (recent.size >= recentMax) {
    recent.clear();
  }
  recent.set(timeZone, { slot, time });
  return time;
}
