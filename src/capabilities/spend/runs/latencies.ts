/**
 * How long the runs of an org took, by model: percentiles of its latest successful runs that said so. Read when somebody asks
 * and remembered for half a minute, so that posting a run costs nothing more for it.
 */

import type { Queryable } from '../../../platform/db/database.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import type { Latency } from '../models/index.ts';

/** What was long ago says little about today. */
const recentMs = 7 * 86_400_000;
const runsMax = 5_000;
const rememberedMs = 30_000;
const orgsMax = 1_000;

interface Remembered {
  readonly atMs: number;
  readonly byModel: Promise<ReadonlyMap<string, Latency>>;
}

export type Latencies = (orgId: string) => Promise<ReadonlyMap<string, Latency>>;

export function createLatencies({ db, clock }: { readonly db: Queryable; readonly clock: Clock }): Latencies {
  const remembered = new Map<string, Remembered>();
  return (orgId) => {
    const atMs = clock.now().getTime();
    const there = remembered.get(orgId);
    if (there !== undefined && atMs - there.atMs < rememberedMs) {
      return there.byModel;
    }
    const byModel = readLatencies(db, orgId, new Date(atMs - recentMs));
    remembered.delete(orgId);
    if (remembered.size >= orgsMax) {
      const [oldest] = remembered.keys();
      remembered.delete(oldest ?? orgId);
    }
    remembered.set(orgId, { atMs, byModel });
    // Whoever asks next tries again.
    byModel.catch(() => remembered.delete(orgId));
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
