import { expect, test } from 'vitest';
import { Random } from '../../../test/support/ledger-values.ts';
import { dayMs, dayRollups, midnightFor } from './rollups.ts';

const hourMs = 3_600_000;
const at = (text: string) => Date.parse(`2026-11-${text}Z`);
const nowMs = at('15T11:00');

test('whole days need no quarters', () => {
  const range = { fromMs: at('01T00:00'), toMs: at('08T00:00') };
  expect(dayRollups(range, [at('02T00:00')], nowMs)).toEqual({ days: range, corrections: [] });
});

test('what is asked up to now is today’s day, less what lies ahead', () => {
  const rollups = dayRollups({ fromMs: at('01T00:00'), toMs: at('15T11:15') }, [], nowMs);
  expect(rollups).toEqual({
    days: { fromMs: at('01T00:00'), toMs: at('16T00:00') },
    corrections: [{ spanMs: at('01T00:00'), fromMs: at('15T11:15'), toMs: at('16T00:00'), sign: -1 }],
  });
});

test('an edge takes the shorter side of its day', () => {
  const rollups = dayRollups({ fromMs: at('01T02:00'), toMs: at('08T20:00') }, [], nowMs);
  expect(rollups?.corrections.map(({ sign, fromMs, toMs }) => [sign, (toMs - fromMs) / hourMs])).toEqual([
    [-1, 2],
    [-1, 4],
  ]);
});

test.each([
  ['hours', hourMs, 0],
  ['days that begin nine hours before midnight', dayMs, 15 * hourMs],
])('quarters alone are less work for %s', (_, stepMs, offsetMs) => {
  const range = { fromMs: at('01T00:00'), toMs: at('08T00:00') };
  const steps = Array.from({ length: (7 * dayMs) / stepMs }, (__, i) => range.fromMs + offsetMs + i * stepMs);
  const cuts = steps.filter((ms) => ms > range.fromMs);
  expect(dayRollups(range, cuts, nowMs)).toBeUndefined();
});

test('every span gets each of its hours once, whatever the cuts', () => {
  const random = new Random(11);
  const faults: string[] = [];
  let used = 0;
  for (let round = 0; round < 300; round += 1) {
    const hours = Array.from({ length: 2 + random.int(5) }, () => random.int(40 * 24));
    const edges = [...new Set(hours)].sort((a, b) => a - b).map((hour) => at('01T00:00') + hour * hourMs);
    const [fromMs, toMs] = [edges[0] as number, edges.at(-1) as number];
    const rollups = dayRollups({ fromMs, toMs }, edges.slice(1, -1), nowMs);
    if (fromMs === toMs || rollups === undefined) {
      continue;
    }
    used += 1;
    for (const [index, spanMs] of edges.slice(0, -1).entries()) {
      const endMs = edges[index + 1] as number;
      const days = { fromMs: midnightFor(spanMs, nowMs), toMs: midnightFor(endMs, nowMs), sign: 1 };
      const parts = [days, ...rollups.corrections.filter((one) => one.spanMs === spanMs)];
      for (let hourAtMs = fromMs - dayMs; hourAtMs < toMs + dayMs; hourAtMs += hourMs) {
        const times = parts
          .filter((part) => part.fromMs <= hourAtMs && hourAtMs < part.toMs)
          .reduce((sum, { sign }) => sum + sign, 0);
        if (times !== (spanMs <= hourAtMs && hourAtMs < endMs ? 1 : 0)) {
          faults.push(`${new Date(hourAtMs).toISOString()}: ${times} times in the span of ${edges.join()}`);
        }
      }
    }
  }
  expect(faults).toEqual([]);
  expect(used).toBeGreaterThan(50);
});
