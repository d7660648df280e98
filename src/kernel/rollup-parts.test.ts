import { expect, test } from 'vitest';
import { Random } from '../../test/support/ledger-values.ts';
import { bucketMs, dayMs, type RollupPart, rollupParts, type TimeRange } from './rollup-parts.ts';
import { calendarWindow, periods } from './windows.ts';

const hourMs = 3_600_000;
const at = (text: string) => Date.parse(`2026-11-${text}Z`);
const nowMs = at('15T11:00');
const brief = (parts: readonly RollupPart[]) =>
  parts.map(({ unit, sign, fromMs, toMs }) => [unit, sign, (toMs - fromMs) / hourMs]);

test('whole days need no buckets', () => {
  const range = { fromMs: at('01T00:00'), toMs: at('08T00:00') };
  expect(rollupParts(range, nowMs)).toEqual([{ unit: 'day', sign: 1, ...range }]);
});

test('a range up to now uses the rollup of today minus the buckets ahead', () => {
  expect(rollupParts({ fromMs: at('01T00:00'), toMs: at('15T11:15') }, nowMs)).toEqual([
    { unit: 'day', sign: 1, fromMs: at('01T00:00'), toMs: at('16T00:00') },
    { unit: 'bucket', sign: -1, fromMs: at('15T11:15'), toMs: at('16T00:00') },
  ]);
});

test('an end uses the shorter side of its day', () => {
  expect(brief(rollupParts({ fromMs: at('01T02:00'), toMs: at('08T20:00') }, nowMs))).toEqual([
    ['day', 1, 8 * 24],
    ['bucket', -1, 2],
    ['bucket', -1, 4],
  ]);
  expect(brief(rollupParts({ fromMs: at('01T22:00'), toMs: at('08T03:00') }, nowMs))).toEqual([
    ['day', 1, 6 * 24],
    ['bucket', 1, 2],
    ['bucket', 1, 3],
  ]);
});

test.each([
  ['an hour', at('01T05:00'), at('01T06:00')],
  ['a day that begins nine hours before midnight', at('01T15:00'), at('02T15:00')],
  ['half an hour around midnight', at('01T23:45'), at('02T00:15')],
])('only buckets are read for %s', (_, fromMs, toMs) => {
  expect(rollupParts({ fromMs, toMs }, nowMs)).toEqual([{ unit: 'bucket', sign: 1, fromMs, toMs }]);
});

/**
 * Returns the buckets that are counted wrongly, from a day before to a day after the range: a bucket must be counted
 * exactly once inside the range, and not at all outside.
 */
function faultsOf(range: TimeRange, parts: readonly RollupPart[]): string[] {
  const faults: string[] = [];
  for (const { unit, fromMs, toMs } of parts) {
    const stepMs = unit === 'day' ? dayMs : bucketMs;
    if (fromMs % stepMs !== 0 || toMs % stepMs !== 0 || fromMs >= toMs) {
      faults.push(`no ${unit}s: ${fromMs} to ${toMs}`);
    }
  }
  // The count only changes where a part starts or ends.
  const edges = [range, ...parts].flatMap(({ fromMs, toMs }) => [
    fromMs - bucketMs,
    fromMs,
    toMs - bucketMs,
    toMs,
  ]);
  for (const bucketStartMs of edges) {
    const times = parts
      .filter(({ fromMs, toMs }) => fromMs <= bucketStartMs && bucketStartMs < toMs)
      .reduce((sum, { sign }) => sum + sign, 0);
    if (times !== (range.fromMs <= bucketStartMs && bucketStartMs < range.toMs ? 1 : 0)) {
      faults.push(`${new Date(bucketStartMs).toISOString()}: ${times} times in ${JSON.stringify(range)}`);
    }
  }
  return faults;
}

test('every bucket of a range is counted once, and none outside', () => {
  const random = new Random(11);
  const faults: string[] = [];
  let withDays = 0;
  for (let round = 0; round < 2_000; round += 1) {
    const fromMs = at('01T00:00') + random.int(40 * 96) * bucketMs;
    const range = { fromMs, toMs: fromMs + (1 + random.int(random.of([8, 96, 960, 35_000]))) * bucketMs };
    const parts = rollupParts(range, random.of([nowMs, undefined]));
    withDays += parts.some(({ unit }) => unit === 'day') ? 1 : 0;
    faults.push(...faultsOf(range, parts));
  }
  expect(faults).toEqual([]);
  expect(withDays).toBeGreaterThan(500);
});

test('windows of every time zone count each bucket once, and long windows read few buckets', () => {
  const random = new Random(12);
  const zones = Intl.supportedValuesOf('timeZone');
  const faults: string[] = [];
  for (let round = 0; round < 500; round += 1) {
    const period = random.of(periods);
    const zone = random.of(zones);
    const { startMs, endMs } = calendarWindow(
      period,
      zone,
      Date.UTC(2026, 0, 1) + random.int(365 * 24) * hourMs,
    );
    const range = { fromMs: startMs, toMs: endMs };
    const parts = rollupParts(range);
    faults.push(...faultsOf(range, parts).map((fault) => `${zone}: ${fault}`));
    const bucketsMs = parts
      .filter(({ unit }) => unit === 'bucket')
      .reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
    if (period !== 'day' && bucketsMs > dayMs) {
      faults.push(`${zone}: a ${period} reads ${bucketsMs / hourMs} hours of buckets`);
    }
  }
  expect(faults).toEqual([]);
});
