/** Counts of ended calls, per org and name: the number of calls in each bucket. What a caller learns from them is kept elsewhere. */

export interface CallCounts {
  /** Returns the known counts; undefined if there are none. Never waits: a store loads them in the background. */
  find(orgId: string, name: string): Int32Array | undefined;
  /** Counts one call. All counts of a name have the same shape. */
  add(orgId: string, name: string, bucket: number, shape: CountsShape): void;
}

export interface CountsShape {
  readonly buckets: number;
  /** Number of calls after which all counts are halved, so that recent calls weigh more. */
  readonly samplesMax: number;
}

/** Returns the bucket of a percentile; undefined without counts. Only uses a part of the array. */
export function percentileBucket(
  counts: Int32Array,
  percentile: number,
  first = 0,
  end = counts.length,
): number | undefined {
  const wanted = sumOf(counts, first, end) * percentile;
  let sum = 0;
  for (let bucket = first; bucket < end; bucket += 1) {
    sum += counts[bucket] as number;
    if (sum > 0 && sum >= wanted) {
      return bucket - first;
    }
  }
  return undefined;
}

export function sumOf(counts: Int32Array, first = 0, end = counts.length): number {
  let sum = 0;
  for (let bucket = first; bucket < end; bucket += 1) {
    sum += counts[bucket] as number;
  }
  return sum;
}
