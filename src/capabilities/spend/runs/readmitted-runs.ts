/** Moves runs in progress whose holds were admitted again at another time. */
import type { Hold } from '../../../ledger/holds/hold.ts';
import type { Transaction } from '../../../platform/db/database.ts';

/**
 * Moves runs in progress that are dated after `after` to the time of their holds, because a run is charged at the time of its hold.
 * Other runs stay unchanged, so this can be repeated.
 */
export async function moveRunsToHolds(
  tx: Transaction,
  orgId: string,
  holds: readonly Pick<Hold, 'id' | 'admittedAtMs'>[],
  after: Date,
): Promise<void> {
  const moved = await tx.query<{ readonly id: string; readonly charged_at: Date }>(
    `UPDATE runs SET charged_at = held.admitted_at
       FROM unnest($2::text[], $3::timestamptz[]) AS held(hold_id, admitted_at)
      WHERE runs.org_id = $1 AND runs.charged_at > $4 AND runs.decision_id = held.hold_id
        AND runs.status = 'running' AND runs.cost_nanos IS NULL
     RETURNING runs.id, runs.charged_at`,
    [orgId, holds.map(({ id }) => id), holds.map(({ admittedAtMs }) => new Date(admittedAtMs)), after],
  );
  if (moved.length > 0) {
    await tx.query(
      `UPDATE run_identities SET charged_at = moved.charged_at
         FROM unnest($2::text[], $3::timestamptz[]) AS moved(run_id, charged_at)
        WHERE run_identities.org_id = $1 AND run_identities.run_id = moved.run_id`,
      [orgId, moved.map(({ id }) => id), moved.map(({ charged_at }) => charged_at)],
    );
  }
}
