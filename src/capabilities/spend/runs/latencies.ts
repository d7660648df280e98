/**
 * Latency percentiles of an org by model, over its latest runs that succeeded and reported a latency. They are queried on demand
 * and cached for 30 seconds, so that posting a run has no extra cost.
 */

import type { Queryable } from '../../../platform/db/database.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import type { Latency } from '../models/index.ts';

/** Maximum age of the counted runs. */
const recentMs = 7 * 86_400_000;
const runsMax = 5_000;
const cachedMs = 30_000;
const cachedOrgsMax = 1_000;

interface CacheEntry {
  readonly atMs: number;
  readonly byModel: Promise<ReadonlyMap<string, Latency>>;
}

export type Latencies = (orgId: string) => Promise<ReadonlyMap<string, Latency>>;

export function createLatencies({ db, clock }: { readonly db: Queryable; readonly clock: Clock }): Latencies {
  const cache = new Map<string, CacheEntry>();
  return (orgId) => {
    const atMs = clock.now().getTime();
    const cached = cache.get(orgId);
    if (cached !== undefined && atMs - cached.atMs < cachedMs) {
      return cached.byModel;
    }
    const byModel = readLatencies(db, orgId, new Date(atMs - recentMs));
    cache.delete(orgId);
    if (cache.size >= cachedOrgsMax) {
      const [oldest] = cache.keys();
      cache.delete(oldest ?? orgId);
    }
    cache.set(orgId, { atMs, byModel });
    // Removes a failed query from the cache.
    byModel.catch(() => cache.delete(orgId));
    return byModel;
  };
}

async function readLatencies(
  db: Queryable,
  orgId: string,
  since: Date,
): Promise<ReadonlyMap<string, Latency>> {
  const rows = await db.query<{ model: string; p50: bigint; p95: bigint }>(
    `SELECT model, percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms) AS p50,
            percentile_disc(0.95) WITHIN GROUP (ORDER BY latency_ms) AS p95
       FROM (SELECT model, latency_ms, status FROM runs
              WHERE org_id = $1 AND charged_at >= $2 ORDER BY charged_at DESC, id DESC LIMIT $3) AS latest
      WHERE latency_ms IS NOT NULL AND status = 'succeeded'
      GROUP BY model`,
    [orgId, since, runsMax],
  );
  return new Map(rows.map(({ model, p50, p95 }) => [model, { p50Ms: p50, p95Ms: p95 }]));
}
