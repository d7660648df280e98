import { expect, test } from 'vitest';
import { DeliveryPace } from './pace.ts';

const answer = (latencyMs: number) => ({
  status: 200,
  error: null,
  latencyMs,
  response: null,
  retryAfter: undefined,
});

test('allows more concurrent attempts after many consecutive quick responses, until a slow one', () => {
  const pace = new DeliveryPace(false);
  const widths = Array.from({ length: 30 }, () => {
    pace.note(answer(10));
    return pace.width;
  });
  expect(widths.map((width) => widths.indexOf(width))).toEqual(
    widths.map((width) => ({ 1: 0, 2: 3, 4: 11, 8: 27 })[width]),
  );
  pace.note(answer(2_000));
  expect([pace.width, pace.isSlow]).toEqual([1, true]);
  pace.note(answer(10));
  expect([pace.width, pace.isSlow]).toEqual([1, false]);
});
