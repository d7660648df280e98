import { expect, test } from 'vitest';
import { hasCalendarDate, isCalendarDate } from './calendar-date.ts';

test.each(['2026-02-28', '2028-02-29', '2026-12-31', '0001-01-01'])('%s is a date', (text) => {
  expect(isCalendarDate(text)).toBe(true);
});

test.each([
  '2026-02-30',
  '2026-02-29',
  '2026-04-31',
  '2026-13-01',
  '2026-00-10',
  '2026-1-1',
  '2026-01-01T',
  '',
])('%j is not a date', (text) => {
  expect(isCalendarDate(text)).toBe(false);
});

test('a time has the date that it starts with', () => {
  expect(hasCalendarDate('2026-02-28T00:00:00Z')).toBe(true);
  expect(hasCalendarDate('2026-02-30T00:00:00Z')).toBe(false);
});
