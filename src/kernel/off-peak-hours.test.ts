import { expect, test } from 'vitest';
import { isOffPeak } from './off-peak-hours.ts';

const during = (from: string, minutes = 0, provider = 'deepseek') =>
  isOffPeak(provider, Date.parse(from), Date.parse(from) + minutes * 60_000);

test.each([
  ['before the first peak of a Monday', '2026-11-16T00:59:59Z', true],
  ['at its start', '2026-11-16T01:00:00Z', false],
  ['at its end', '2026-11-16T04:00:00Z', true],
  ['in the second one', '2026-11-16T09:59:59Z', false],
  ['in the evening of a Friday', '2026-11-20T16:30:00Z', true],
  ['at the same hour of a Saturday', '2026-11-21T09:00:00Z', true],
])('calls of DeepSeek are off-peak outside of its hours: %s', (_, at, expected) => {
  expect(during(at)).toBe(expected);
});

test('a call that begins or ends in peak hours, or spans them, is not off-peak', () => {
  expect(during('2026-11-16T00:50:00Z', 20)).toBe(false);
  expect(during('2026-11-16T03:50:00Z', 20)).toBe(false);
  expect(during('2026-11-16T00:50:00Z', 4 * 60)).toBe(false);
  expect(during('2026-11-16T04:00:00Z', 60)).toBe(true);
});

test('other providers have no off-peak hours', () => {
  expect(during('2026-11-21T09:00:00Z', 0, 'openai')).toBe(false);
  expect(during('2026-11-21T09:00:00Z', 0, 'constructor')).toBe(false);
});
