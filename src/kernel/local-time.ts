/** Local time in a time zone, as far as policy conditions use it. */
import { Temporal } from 'temporal-polyfill';

export interface LocalTime {
  readonly hour: number;
  /** 1 is Monday, 7 is Sunday. */
  readonly weekday: number;
  /** `YYYY-MM-DD`. */
  readonly date: string;
}

/** Offsets of time zones are multiples of 15 minutes, so the local hour and date are constant within a slot. */
const slotMs = 15 * 60_000;

/** Cache: the computation is expensive, and nearly always the last result is needed again. */
const cache = new Map<string, { readonly slot: number; readonly time: LocalTime }>();
const cacheMax = 10_000;

export function localTime(timeZone: string, atMs: number): LocalTime {
  const slot = Math.floor(atMs / slotMs);
  const cached = cache.get(timeZone);
  if (cached?.slot === slot) {
    return cached.time;
  }
  const zoned = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone);
  const time = { hour: zoned.hour, weekday: zoned.dayOfWeek, date: zoned.toPlainDate().toString() };
  if (cache.size >= cacheMax) {
    cache.clear();
  }
  cache.set(timeZone, { slot, time });
  return time;
}
