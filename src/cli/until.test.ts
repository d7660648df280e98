import { expect, test } from 'vitest';
import { untilOf } from './until.ts';

const now = new Date('2026-11-15T22:30:00Z');

test.each([
  ['90m', 'UTC', '2026-11-16T00:00:00.000Z'],
  ['3d', 'UTC', '2026-11-18T22:30:00.000Z'],
  ['tomorrow', 'UTC', '2026-11-16T09:00:00.000Z'],
  // It is already the 16th there.
  ['tomorrow', 'Asia/Tokyo', '2026-11-17T00:00:00.000Z'],
  ['end-of-month', 'Europe/Berlin', '2026-11-30T23:00:00.000Z'],
  ['2026-11-20T18:00:00+01:00', 'UTC', '2026-11-20T17:00:00.000Z'],
])('%s in %s is %s', (text, timezone, expected) => {
  expect(untilOf(text, timezone, now)).toBe(expected);
});

test.each(['', 'soon', '5', '2026-11-20', '2026-11-20T18:00:00'])(
  'the text "%s" is rejected, because it is not a certain time',
  (text) => {
    expect(() => untilOf(text, 'UTC', now)).toThrow('--until must be one of');
  },
);
