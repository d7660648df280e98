/** The stored form of the gateway's learned counts (`learned-counts.ts`). */
import type { Queryable } from '../../platform/db/database.ts';
import type { AddedCounts, CountsStore, StoredCounts } from './learned-counts.ts';

export function countsStore(db: Queryable): CountsStore {
  return {
    load: (orgId, max) => selectCounts(db, orgId, max),
    merge: (orgId, added) => mergeCounts(db, orgId, added),
  };
}

/** Also deletes paces of periods that have ended. */
async function selectCounts(db: Queryable, orgId: string, max: number): Promise<StoredCounts[]> {
  await db.query(
    `DELETE FROM gateway_learned_counts
      WHERE org_id = $1 AND (name LIKE 'pace %' OR name LIKE 'pace-long %') AND updated_at < now() - interval '14 days'`,
    [orgId],
  );
  return db.query<StoredCounts>(
    `SELECT name, counts FROM gateway_learned_counts WHERE org_id = $1 ORDER BY updated_at DESC LIMIT $2`,
    [orgId, max],
  );
}

/**
 * Adds counts bucket by bucket. Halving rounds up, so that the rare calls that determine a high percentile are not lost. Rows are
 * locked in the order of their names, so that two processes cannot deadlock.
 */
function mergeCounts(db: Queryable, orgId: string, added: readonly AddedCounts[]): Promise<StoredCounts[]> {
  return db.query<StoredCounts>(
    `INSERT INTO gateway_learned_counts AS stored (org_id, name, counts, samples_max, updated_at)
     SELECT orgs.id, added.name, added.counts, added."samplesMax", now()
     FROM orgs, jsonb_to_recordset($2::jsonb) AS added (name text, counts int4[], "samplesMax" int4)
     WHERE orgs.id = $1 AND orgs.removed_at IS NULL
     ORDER BY added.name
     ON CONFLICT (org_id, name) DO UPDATE SET
       counts = (
         WITH summed AS (
           SELECT bucket, coalesce(one, 0) + coalesce(other, 0) AS count
           FROM unnest(stored.counts, excluded.counts) WITH ORDINALITY AS pairs (one, other, bucket)
         )
         SELECT array_agg(
           CASE WHEN (SELECT sum(count) FROM summed) > excluded.samples_max THEN (count + 1) / 2 ELSE count END
           ORDER BY bucket
         )
         FROM summed
       ),
       samples_max = excluded.samples_max,
       updated_at = excluded.updated_at
     RETURNING name, counts`,
    [orgId, JSON.stringify(added)],
  );
}
