import { expect, test } from 'vitest';
import type { Progress } from '../../../platform/http/routes/route.ts';
import { inPieces, progressReporter } from './pieces.ts';

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
