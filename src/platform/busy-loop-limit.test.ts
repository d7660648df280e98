import { expect, test } from 'vitest';
import { BusyLoopLimit } from './busy-loop-limit.ts';

function limitAt(max: number) {
  let nowMs = 0;
  let utilization = 0;
  const limit = new BusyLoopLimit(
    max,
    () => nowMs,
    () => utilization,
  );
  return (newUtilization: number, checks: number) => {
    utilization = newUtilization;
    for (let check = 0; check < checks; check += 1) {
      nowMs += 20;
      limit.current();
    }
    return limit.current();
  };
}

test('falls to a few while the event loop is busy', () => {
  const after = limitAt(64);
  expect(after(1, 1)).toBe(48);
  expect(after(1, 20)).toBe(4);
});

test('rises to the maximum while the event loop has idle time', () => {
  const after = limitAt(64);
  after(1, 20);
  expect(after(0.5, 10)).toBe(14);
  expect(after(0.5, 100)).toBe(64);
});

test('the delay of the event loop is checked at most every 20 ms', () => {
  const limit = new BusyLoopLimit(
    64,
    () => 0,
    () => 1,
  );
  limit.current();
  expect(limit.current()).toBe(64);
});
