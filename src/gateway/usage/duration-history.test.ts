import { expect, test } from 'vitest';
import type { LearnedCounts } from '../learned/learned-counts.ts';
import { createDurationHistory } from './duration-history.ts';

function createHistory() {
  const counts = new Map<string, Int32Array>();
  const learned: Pick<LearnedCounts, 'find' | 'add'> = {
    find: (_, name) => counts.get(name),
    add(_, name, bucket, { buckets }) {
      const known = counts.get(name) ?? new Int32Array(buckets);
      known[bucket] = (known[bucket] as number) + 1;
      counts.set(name, known);
    },
  };
  const history = createDurationHistory(learned as LearnedCounts);
  return {
    end: (seconds: number, times: number) => {
      for (let time = 0; time < times; time += 1) {
        history.learn('org_1', 'm', seconds * 1_000);
      }
    },
    restSeconds: (elapsed: number) => history.expectedRestMs('org_1', 'm', elapsed * 1_000) / 1_000,
  };
}

test('without a history, a call is expected to last twice as long as it has lasted', () => {
  const { end, restSeconds } = createHistory();
  end(10, 9);
  expect(restSeconds(4)).toBe(4);
});

test('the rest of a call is the median of those that lasted longer', () => {
  const { end, restSeconds } = createHistory();
  end(1, 100);
  end(20, 30);
  end(100, 5);
  expect(restSeconds(0)).toBeGreaterThanOrEqual(1);
  expect(restSeconds(0)).toBeLessThan(1.2);
  expect(restSeconds(4)).toBeGreaterThanOrEqual(16);
  expect(restSeconds(4)).toBeLessThan(20);
  expect(restSeconds(60)).toBe(60);
  expect(restSeconds(100_000)).toBe(100_000);
});
