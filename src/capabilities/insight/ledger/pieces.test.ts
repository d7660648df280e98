import { expect, test } from 'vitest';
import type { TimeRange } from '../../../kernel/rollup-parts.ts';
import { DatabaseUnavailable } from '../../../platform/db/database.ts';
import type { Progress } from '../../../platform/http/routes/route.ts';
import { OverCapacity } from '../../../platform/service-unavailable.ts';
import { againIfBusy, inPieces, progressReporter } from './pieces.ts';

const dayMs = 86_400_000;

test('reports several readings as one progress: from zero to all days, never decreasing', async () => {
  const told: Progress[] = [];
  const books = { fromMs: 0, toMs: 10.5 * dayMs };
  const settled = { fromMs: 0, toMs: 10 * dayMs };
  const reportProgress = progressReporter([settled, books, books], async (progress) => {
    told.push(progress);
  });
  await inPieces(settled, 'buckets', reportProgress, async () => undefined);
  const oneOfThree = told.at(-1)?.done;
  await inPieces(books, 'buckets', reportProgress, async () => undefined);
  await inPieces(books, 'days', reportProgress, async () => undefined);
  expect(oneOfThree).toBe(3);
  expect(told.at(-1)).toEqual({ done: 11, of: 11, unit: 'days' });
  expect(told.map(({ done }) => done)).toEqual(told.map(({ done }) => done).sort((a, b) => a - b));
});

test('reads a piece again if the database was busy, and each piece once', async () => {
  const pieces: TimeRange[] = [];
  let failures = 4;
  const read = async (piece: TimeRange) => {
    if (piece.fromMs > 0 && failures > 0) {
      failures -= 1;
      throw new OverCapacity('the database is busy');
    }
    pieces.push(piece);
  };
  await inPieces({ fromMs: 0, toMs: 3 * dayMs }, 'days', async () => undefined, read);
  expect(failures).toBe(0);
  expect(pieces.map(({ fromMs }) => fromMs)).toEqual([0, ...pieces.slice(0, -1).map(({ toMs }) => toMs)]);
  expect(pieces.at(-1)?.toMs).toBeGreaterThanOrEqual(3 * dayMs);
});

test('gives up if the database stays busy, and at once if it is away', async () => {
  for (const [error, expected] of [
    [new OverCapacity('busy'), 5],
    [new DatabaseUnavailable('away'), 1],
  ] as const) {
    let attempts = 0;
    const reading = againIfBusy(async () => {
      attempts += 1;
      throw error;
    });
    await expect(reading).rejects.toBe(error);
    expect(attempts).toBe(expected);
  }
});
