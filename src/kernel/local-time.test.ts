import { expect, test } from 'vitest';
import { localTime } from './local-time.ts';

test.each([
  ['UTC', '2026-11-15T12:00:00Z', { hour: 12, weekday: 7, date: '2026-11-15' }],
  ['Pacific/Auckland', '2026-11-15T12:00:00Z', { hour: 1, weekday: 1, date: '2026-11-16' }],
  ['Asia/Kathmandu', '2026-11-15T18:14:59Z', { hour: 23, weekday: 7, date: '2026-11-15' }],
  ['Asia/Kathmandu', '2026-11-15T18:15:00Z', { hour: 0, weekday: 1, date: '2026-11-16' }],
  // The hour that daylight saving skips, and the one that it repeats.
  ['Europe/Berlin', '2026-03-29T00:59:59Z', { hour: 1, weekday: 7, date: '2026-03-29' }],
  ['Europe/Berlin', '2026-03-29T01:00:00Z', { hour: 3, weekday: 7, date: '2026-03-29' }],
  ['Europe/Berlin', '2026-10-25T00:30:00Z', { hour: 2, weekday: 7, date: '2026-10-25' }],
  ['Europe/Berlin', '2026-10-25T01:30:00Z', { hour: 2, weekday: 7, date: '2026-10-25' }],
])('local time in %s at %s', (timeZone, at, expected) => {
  expect(localTime(timeZone, Date.parse(at))).toEqual(expected);
  // The second call returns the cached value.
  expect(localTime(timeZone, Date.parse(at))).toEqual(expected);
});
