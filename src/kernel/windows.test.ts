import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, test } from 'vitest';
import { seedsOf } from '../../test/support/seeds.ts';
import { calendarWindow, fixedWindow, formatInstant, lifetime, type Period, periods } from './windows.ts';

const { forAll } = seedsOf('windows');
const hourMs = 3_600_000;

function windowAt(period: Period, timeZone: string, at: string) {
  const { startMs, endMs } = calendarWindow(period, timeZone, Date.parse(at));
  return {
    start: formatInstant(startMs, timeZone),
    end: formatInstant(endMs, timeZone),
    hours: (endMs - startMs) / hourMs,
  };
}

describe('a calendar window', () => {
  test.each<[Period, string, string, number]>([
    ['day', '2026-11-15T00:00:00.000+00:00', '2026-11-16T00:00:00.000+00:00', 24],
    ['week', '2026-11-09T00:00:00.000+00:00', '2026-11-16T00:00:00.000+00:00', 168],
    ['month', '2026-11-01T00:00:00.000+00:00', '2026-12-01T00:00:00.000+00:00', 720],
    ['quarter', '2026-10-01T00:00:00.000+00:00', '2027-01-01T00:00:00.000+00:00', 2208],
    ['year', '2026-01-01T00:00:00.000+00:00', '2027-01-01T00:00:00.000+00:00', 8760],
  ])('a calendar window of a %s', (period, start, end, hours) => {
    // This day is a Sunday, the last day of its week.
    expect(windowAt(period, 'UTC', '2026-11-15T12:00:00Z')).toEqual({ start, end, hours });
  });

  test('a calendar window starts with its first millisecond and ends before that of the next window', () => {
    const { startMs, endMs } = calendarWindow('day', 'UTC', Date.parse('2026-11-15T12:00:00Z'));
    expect(calendarWindow('day', 'UTC', startMs).startMs).toBe(startMs);
    expect(calendarWindow('day', 'UTC', endMs - 1).startMs).toBe(startMs);
    expect(calendarWindow('day', 'UTC', endMs).startMs).toBe(endMs);
    expect(calendarWindow('day', 'UTC', startMs - 1).endMs).toBe(startMs);
  });

  test.each([
    ['2026-11-16T00:00:00Z', '2026-11-16'],
    ['2026-11-22T23:59:59.999Z', '2026-11-16'],
    ['2026-11-23T00:00:00Z', '2026-11-23'],
    // This week spans the end of a year.
    ['2027-01-01T12:00:00Z', '2026-12-28'],
  ])('a calendar window of a week starts on Monday: %s belongs to %s', (at, monday) => {
    expect(windowAt('week', 'UTC', at).start).toBe(`${monday}T00:00:00.000+00:00`);
  });

  test('follows the calendar in leap years and at month ends', () => {
    expect(windowAt('month', 'UTC', '2028-02-29T23:59:59Z').hours).toBe(29 * 24);
    expect(windowAt('month', 'UTC', '2026-02-28T23:59:59Z').hours).toBe(28 * 24);
    expect(windowAt('year', 'UTC', '2028-12-31T23:59:59Z').hours).toBe(366 * 24);
    for (const [at, start] of [
      ['2026-03-31T23:59:59Z', '2026-01-01'],
      ['2026-04-01T00:00:00Z', '2026-04-01'],
      ['2026-08-31T00:00:00Z', '2026-07-01'],
      ['2026-12-31T23:59:59Z', '2026-10-01'],
    ] as const) {
      expect(windowAt('quarter', 'UTC', at).start).toBe(`${start}T00:00:00.000+00:00`);
    }
  });

  test.each([
    ['Europe/Berlin', '2026-03-29T12:00:00Z', '2026-03-29T00:00:00.000+01:00', 23],
    ['Europe/Berlin', '2026-10-25T12:00:00Z', '2026-10-25T00:00:00.000+02:00', 25],
    ['America/New_York', '2026-03-08T12:00:00Z', '2026-03-08T00:00:00.000-05:00', 23],
    ['America/New_York', '2026-11-01T12:00:00Z', '2026-11-01T00:00:00.000-04:00', 25],
    // Daylight saving shifts the clock by half an hour here.
    ['Australia/Lord_Howe', '2026-10-03T20:00:00Z', '2026-10-04T00:00:00.000+10:30', 23.5],
    ['Australia/Lord_Howe', '2026-04-04T20:00:00Z', '2026-04-05T00:00:00.000+11:00', 24.5],
  ])('a calendar window in %s around %s', (timeZone, at, start, hours) => {
    expect(windowAt('day', timeZone, at)).toMatchObject({ start, hours });
  });

  test('a calendar window is the same for both occurrences of a repeated hour', () => {
    // 02:30 in summer time and, an hour later, 02:30 in winter time.
    const first = calendarWindow('day', 'Europe/Berlin', Date.parse('2026-10-25T00:30:00Z'));
    const second = calendarWindow('day', 'Europe/Berlin', Date.parse('2026-10-25T01:30:00Z'));
    expect(second).toEqual(first);
  });

  test('a calendar window starts at 01:00 if the clock skips midnight', () => {
    expect(windowAt('day', 'Africa/Cairo', '2024-04-26T12:00:00Z')).toEqual({
      start: '2024-04-26T01:00:00.000+03:00',
      end: '2024-04-27T00:00:00.000+03:00',
      hours: 23,
    });
    expect(windowAt('day', 'Africa/Cairo', '2024-04-25T12:00:00Z')).toEqual({
      start: '2024-04-25T00:00:00.000+02:00',
      end: '2024-04-26T01:00:00.000+03:00',
      hours: 24,
    });
  });

  test('a calendar window starts with the first midnight if there are two', () => {
    // Cuba sets its clocks back at 1 a.m.
    expect(windowAt('day', 'America/Havana', '2026-11-01T12:00:00Z')).toEqual({
      start: '2026-11-01T00:00:00.000-04:00',
      end: '2026-11-02T00:00:00.000-05:00',
      hours: 25,
    });
  });

  test.each([
    ['Asia/Kolkata', '2026-11-14T18:29:59.999Z', '2026-11-14T00:00:00.000+05:30'],
    ['Asia/Kolkata', '2026-11-14T18:30:00Z', '2026-11-15T00:00:00.000+05:30'],
    ['Asia/Kathmandu', '2026-11-14T18:14:59.999Z', '2026-11-14T00:00:00.000+05:45'],
    ['Asia/Kathmandu', '2026-11-14T18:15:00Z', '2026-11-15T00:00:00.000+05:45'],
    ['America/St_Johns', '2026-11-15T03:29:59Z', '2026-11-14T00:00:00.000-03:30'],
    ['Pacific/Chatham', '2026-11-14T10:15:00Z', '2026-11-15T00:00:00.000+13:45'],
    ['Pacific/Kiritimati', '2026-11-14T10:00:00Z', '2026-11-15T00:00:00.000+14:00'],
    ['Etc/GMT+12', '2026-11-15T11:59:59Z', '2026-11-14T00:00:00.000-12:00'],
  ])('a calendar window in %s at %s starts %s', (timeZone, at, start) => {
    expect(windowAt('day', timeZone, at).start).toBe(start);
  });
});

const zones = [
  'UTC',
  'Europe/Berlin',
  'Europe/London',
  'America/New_York',
  'America/St_Johns',
  'America/Havana',
  'America/Santiago',
  'America/Nuuk',
  'America/Scoresbysund',
  'Atlantic/Azores',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Asia/Beirut',
  'Asia/Gaza',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Tehran',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Etc/GMT+12',
] as const;

describe('windows', () => {
  const instants = fc.integer({ min: Date.UTC(2015, 0, 1), max: Date.UTC(2040, 0, 1) });

  test('contain their time, have no gaps or overlaps, and start with a local day', () => {
    forAll(
      fc.property(
        fc.constantFrom(...periods),
        fc.constantFrom(...zones),
        // Often near midnight, where windows start and end.
        fc.oneof(
          instants,
          instants.map((ms) => Math.round(ms / hourMs) * hourMs),
          instants.map((ms) => Math.round(ms / (24 * hourMs)) * 24 * hourMs),
        ),
        (period, timeZone, atMs) => {
          const window = calendarWindow(period, timeZone, atMs);
          expect(window.startMs).toBeLessThanOrEqual(atMs);
          expect(atMs).toBeLessThan(window.endMs);
          const before = calendarWindow(period, timeZone, window.startMs - 1);
          const after = calendarWindow(period, timeZone, window.endMs);
          expect(before.endMs).toBe(window.startMs);
          expect(after.startMs).toBe(window.endMs);
          expect(calendarWindow(period, timeZone, window.endMs - 1)).toEqual(window);
          // Checks independently of the code under test that the local date changes exactly at the start.
          const dateOf = (ms: number) =>
            Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone).toPlainDate().toString();
          expect(dateOf(window.startMs - 1)).not.toBe(dateOf(window.startMs));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('windows of every time zone consist of whole 15-minute buckets', () => {
    forAll(
      fc.property(fc.constantFrom(...zones), instants, (timeZone, atMs) => {
        expect(calendarWindow('day', timeZone, atMs).startMs % (15 * 60_000)).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  test('do not depend on earlier calls', () => {
    const at = Date.parse('2026-11-15T12:00:00Z');
    const first = calendarWindow('month', 'Asia/Tokyo', at);
    calendarWindow('month', 'Asia/Tokyo', at + 90 * 24 * hourMs);
    calendarWindow('month', 'UTC', at);
    expect(calendarWindow('month', 'Asia/Tokyo', at)).toEqual(first);
  });
});

describe('a fixed window', () => {
  test.each([1, 60, 3_600, 86_400, 100_000])(
    'a fixed window of %d seconds is counted from the epoch',
    (seconds) => {
      forAll(
        fc.property(fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) }), (atMs) => {
          const { startMs, endMs } = fixedWindow(seconds, atMs);
          expect(endMs - startMs).toBe(seconds * 1_000);
          expect(startMs % (seconds * 1_000)).toBe(0);
          expect(startMs <= atMs && atMs < endMs).toBe(true);
        }),
        { numRuns: 200 },
      );
    },
  );
});

test('the lifetime window contains every time that the service accepts', () => {
  expect(lifetime.startMs).toBe(0);
  expect(lifetime.endMs).toBeGreaterThan(Date.parse('2199-12-31T23:59:59.999Z'));
});

test('a time is formatted with the offset of its time zone at that time', () => {
  expect(formatInstant(Date.parse('2026-07-01T00:00:00Z'), 'Europe/Berlin')).toBe(
    '2026-07-01T02:00:00.000+02:00',
  );
  expect(formatInstant(Date.parse('2026-12-01T00:00:00.5Z'), 'Asia/Kathmandu')).toBe(
    '2026-12-01T05:45:00.500+05:45',
  );
});
