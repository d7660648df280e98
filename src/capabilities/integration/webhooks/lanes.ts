/**
 * The lanes: who works on which subscription's deliveries, and when there is something to do. Leases are measured by the
 * database's clock, whatever a test's clock says; what is due is measured by the clock that made it due.
 */
import type { Queryable, Transaction } from '../../../platform/db/database.ts';

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

/** What is known of the receiver is not known of another one. */
export async function forgetReceiver(tx: Queryable, orgId: string, subscriptionId: string): Promise<void> {
  await tx.query(
    'UPDATE webhook_lanes SET failing_since = NULL, slow_at = NULL WHERE org_id = $1 AND subscription_id = $2',
    [orgId, subscriptionId],
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

export interface ClaimedLane extends Lane {
  readonly is_slow: boolean;
}

/**
 * Takes lanes that have something to do and that nobody alive is working on. Two processes never take the same. Those with
 * slow receivers are counted apart, so that any number of them leaves room for the others.
 */
export async function claimLanes(
  db: Queryable,
  owner: string,
  at: Date,
  room: { readonly quick: number; readonly slow: number },
): Promise<ClaimedLane[]> {
  const isFree = 'next_due_at <= $2 AND (leased_until IS NULL OR leased_until < now())';
  return db.query<ClaimedLane>(
    `WITH quick AS (
       SELECT org_id, subscription_id FROM webhook_lanes
        WHERE ${isFree} AND slow_at IS NULL ORDER BY next_due_at LIMIT $4 FOR UPDATE SKIP LOCKED),
     slow AS (
       SELECT org_id, subscription_id FROM webhook_lanes
        WHERE ${isFree} AND slow_at IS NOT NULL ORDER BY slow_at LIMIT $5 FOR UPDATE SKIP LOCKED)
     UPDATE webhook_lanes SET owner = $1, leased_until = now() + make_interval(secs => $3)
      WHERE (org_id, subscription_id) IN (SELECT * FROM quick UNION ALL SELECT * FROM slow)
     RETURNING org_id, subscription_id, slow_at IS NOT NULL AS is_slow`,
    [owner, at, leaseSeconds, Math.max(0, room.quick), Math.max(0, room.slow)],
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
 *
 * With nothing left to do nothing is failing: what comes days later is judged by itself.
 */
export async function leaveLane(
  tx: Transaction,
  owner: string,
  lane: Lane,
  isSlow: boolean | undefined,
  at: Date,
): Promise<void> {
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
    `UPDATE webhook_lanes
        SET owner = NULL, leased_until = NULL, next_due_at = next.due_at,
            failing_since = CASE WHEN next.due_at IS NULL THEN NULL ELSE failing_since END,
            slow_at = CASE WHEN $3::bool IS NULL THEN slow_at WHEN $3 THEN $4::timestamptz ELSE NULL END
       FROM (SELECT min(due_at) AS due_at FROM webhook_deliveries d
              WHERE d.org_id = $1 AND d.subscription_id = $2 AND d.state = 'waiting'
                AND NOT EXISTS (SELECT 1 FROM webhook_subscriptions s
                                 WHERE s.org_id = $1 AND s.id = $2 AND s.status = 'paused' AND s.deleted_at IS NULL)
            ) AS next
      WHERE org_id = $1 AND subscription_id = $2`,
    [...params, isSlow ?? null, at],
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

/** Longer than two attempts at the same delivery are apart: the failures before are no part of the same story. */
const silenceHours = 48;

/**
 * Something arrived, or nothing did. Writes only where that is news, or was an hour ago. Returns since when nothing has:
 * without a silence in between, so that a long time means many failures all over it.
 */
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
    `UPDATE webhook_lanes
        SET last_failed_at = $3,
            failing_since = CASE WHEN last_failed_at >= $3::timestamptz - interval '${silenceHours} hours'
                                 THEN coalesce(failing_since, $3) ELSE $3 END
      WHERE (failing_since IS NULL OR last_failed_at IS NULL OR last_failed_at < $3::timestamptz - interval '1 hour')
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
