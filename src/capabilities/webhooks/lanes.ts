/**
 * The lanes: who works on which subscription's deliveries, and when there is something to do. Leases are measured by the
 * database's clock, whatever a test's clock says; what is due is measured by the clock that made it due.
 */
import type { Queryable, Transaction } from '../../platform/db/database.ts';

const leaseSeconds = 20;

export interface Lane {
  readonly org_id: string;
  readonly subscription_id: string;
}

/** The subscription was paused, resumed, disabled or deleted: what waits has to be looked at anew. */
export async function restartLane(
  tx: Queryable,
  orgId: string,
  subscriptionId: string,
  at: Date,
): Promise<void> {
  await tx.query(
    'UPDATE webhook_lanes SET next_due_at = $3, failing_since = NULL WHERE org_id = $1 AND subscription_id = $2',
    [orgId, subscriptionId, at],
  );
}

/** Something was added: holds the lanes' locks until the transaction ends. */
export async function wakeLanes(tx: Queryable, lanes: readonly Lane[], at: Date): Promise<void> {
  await tx.query(
    `UPDATE webhook_lanes SET next_due_at = least(coalesce(next_due_at, $3), $3)
      WHERE (org_id, subscription_id) IN (SELECT unnest($1::text[]), unnest($2::text[]))`,
    [lanes.map(({ org_id }) => org_id), lanes.map(({ subscription_id }) => subscription_id), at],
  );
}

/** Takes lanes that have something to do and that nobody alive is working on. Two processes never take the same. */
export async function claimLanes(db: Queryable, owner: string, at: Date, limit: number): Promise<Lane[]> {
  return db.query<Lane>(
    `UPDATE webhook_lanes SET owner = $1, leased_until = now() + make_interval(secs => $4)
      WHERE (org_id, subscription_id) IN (
        SELECT org_id, subscription_id FROM webhook_lanes
         WHERE next_due_at <= $2 AND (leased_until IS NULL OR leased_until < now())
         ORDER BY next_due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
      RETURNING org_id, subscription_id`,
    [owner, at, limit, leaseSeconds],
  );
}

export async function renewLeases(db: Queryable, owner: string, lanes: readonly Lane[]): Promise<void> {
  await db.query(
    `UPDATE webhook_lanes SET leased_until = now() + make_interval(secs => $2)
      WHERE owner = $1 AND (org_id, subscription_id) IN (SELECT unnest($3::text[]), unnest($4::text[]))`,
    [
      owner,
      leaseSeconds,
      lanes.map(({ org_id }) => org_id),
      lanes.map(({ subscription_id }) => subscription_id),
    ],
  );
}

/**
 * Lets go of a lane and notes when it has something to do again. The lane is locked first: whoever adds work at this
 * moment either has committed it, and it is seen, or waits for the lock and wakes the lane afterwards.
 */
export async function leaveLane(tx: Transaction, owner: string, lane: Lane): Promise<void> {
  const params = [lane.org_id, lane.subscription_id];
  const mine = await tx.query(
    'SELECT 1 AS one FROM webhook_lanes WHERE org_id = $1 AND subscription_id = $2 AND owner = $3 FOR UPDATE',
    [...params, owner],
  );
  if (mine.length === 0) {
    // The lease ran out and another process took over.
    return;
  }
  await tx.query(
    `UPDATE webhook_lanes SET owner = NULL, leased_until = NULL, next_due_at = (
       SELECT min(due_at) FROM webhook_deliveries d
        WHERE d.org_id = $1 AND d.subscription_id = $2 AND d.state = 'waiting'
          AND NOT EXISTS (SELECT 1 FROM webhook_subscriptions s
                           WHERE s.org_id = $1 AND s.id = $2 AND s.status = 'paused' AND s.deleted_at IS NULL))
      WHERE org_id = $1 AND subscription_id = $2`,
    params,
  );
}

/** Where there is only one process, whoever held a lane before it is dead. */
export async function freeAllLanes(db: Queryable): Promise<void> {
  await db.query('UPDATE webhook_lanes SET owner = NULL, leased_until = NULL WHERE owner IS NOT NULL', []);
}

/** On the way out: the next process need not wait for the leases to end. */
export async function leaveAllLanes(db: Queryable, owner: string): Promise<void> {
  await db.query('UPDATE webhook_lanes SET owner = NULL, leased_until = NULL WHERE owner = $1', [owner]);
}

/** Something arrived, or nothing did. Writes only where that is news. Returns since when nothing has. */
export async function noteOutcomes(
  tx: Queryable,
  at: Date,
  arrived: readonly Lane[],
  failed: readonly Lane[],
): Promise<(Lane & { readonly failing_since: Date })[]> {
  if (arrived.length > 0) {
    await tx.query(
      `UPDATE webhook_lanes SET failing_since = NULL
        WHERE failing_since IS NOT NULL
          AND (org_id, subscription_id) IN (SELECT unnest($1::text[]), unnest($2::text[]))`,
      [arrived.map(({ org_id }) => org_id), arrived.map(({ subscription_id }) => subscription_id)],
    );
  }
  if (failed.length === 0) {
    return [];
  }
  const params = [failed.map(({ org_id }) => org_id), failed.map(({ subscription_id }) => subscription_id)];
  await tx.query(
    `UPDATE webhook_lanes SET failing_since = $3
      WHERE failing_since IS NULL
        AND (org_id, subscription_id) IN (SELECT unnest($1::text[]), unnest($2::text[]))`,
    [...params, at],
  );
  return tx.query(
    `SELECT org_id, subscription_id, failing_since FROM webhook_lanes
      WHERE failing_since IS NOT NULL
        AND (org_id, subscription_id) IN (SELECT unnest($1::text[]), unnest($2::text[]))`,
    params,
  );
}
