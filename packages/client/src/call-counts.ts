/** Counts of the calls of this process, from which `hold: expected` and `hold: paced` learn. */
import { type CallCounts, sumOf } from '../../../src/growing-holds/call-counts.ts';

const namesMax = 1_000;

export function createCallCounts(): CallCounts {
  /** Least recently changed first. */
  const byName = new Map<string, Int32Array>();
  return {
    find: (_, name) => byName.get(name),
    add(_, name, bucket, { buckets, samplesMax }) {
      const known = byName.get(name) ?? new Int32Array(buckets);
      known[bucket] = (known[bucket] as number) + 1;
      byName.delete(name);
      // Rounded up, so that the fastest call is never forgotten.
      byName.set(name, sumOf(known) > samplesMax ? known.map((count) => Math.ceil(count / 2)) : known);
      if (byName.size > namesMax) {
        byName.delete(byName.keys().next().value as string);
      }
    },
  };
}
