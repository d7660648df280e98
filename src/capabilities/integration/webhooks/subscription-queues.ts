/**
 * Queues of deliveries, one per subscription (table `webhook_lanes`): the process that works on each, and when it is
 * due. Leases use the database clock, also in tests; due times are compared with `agreedNow`.
 */
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Channel } from './queries.ts';

const leaseSeconds = 20;

export interface SubscriptionQueue {
  readonly org_id: string;
  readonly subscription_id: string;
}

/**
 * Makes the queue due after its subscription was paused, resumed, disabled or deleted, because its waiting deliveries
 * must be checked again.
 */
export async function restartQueue(
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

/** Resets what is known about the receiver, because its URL has changed. */
export async function forgetReceiver(tx: Queryable, orgId: string, subscriptionId: string): Promise<void> {
  await tx.query(
    'UPDATE webhook_lanes SET failing_since = NULL, slow_at = NULL WHERE org_id = $1 AND subscription_id = $2',
    [orgId, subscriptionId],
  );
}

/** Wakes queues with new deliveries; holds their locks until the transaction ends. */
export async function wakeQueues(
  tx: Queryable,
  queues: readonly SubscriptionQueue[],
  at: Date,
): Promise<void> {
  await tx.query(
    `UPDATE webhook_lanes SET next_due_at = least(coalesce(next_due_at, $3), $3)
      WHERE (org_id, subscription_id) IN (SELECT unnest($1::text[]), unnest($2::text[]))`,
    [queues.map(({ org_id }) => org_id), queues.map(({ subscription_id }) => subscription_id), at],
  );
}

export interface ClaimedQueue extends SubscriptionQueue {
  readonly is_slow: boolean;
}

/**
 * Claims queues that are due and not leased. Two processes never claim the same one. Queues with slow receivers have a
 * separate bound, so that any number of them leaves room for the others.
 */
export async function claimQueues(
  db: Queryable,
  owner: string,
  at: Date,
  room: { readonly quick: number; readonly slow: number },
  channel: Channel = 'http',
): Promise<ClaimedQueue[]> {
  const isFree = 'next_due_at <= $2 AND (leased_until IS NULL OR leased_until < now()) AND channel = $6';
  return db.query<ClaimedQueue>(
    `WITH quick AS (
       SELECT org_id, subscription_id FROM webhook_lanes
        WHERE ${isFree} AND slow_at IS NULL ORDER BY next_due_at LIMIT $4 FOR UPDATE SKIP LOCKED),
     slow AS (
       SELECT org_id, subscription_id FROM webhook_lanes
        WHERE ${isFree} AND slow_at IS NOT NULL ORDER BY slow_at LIMIT $5 FOR UPDATE SKIP LOCKED)
     UPDATE webhook_lanes SET owner = $1, leased_until = now() + make_interval(secs => $3)
      WHERE (org_id, subscription_id) IN (SELECT * FROM quick UNION ALL SELECT * FROM slow)
     RETURNING org_id, subscription_id, slow_at IS NOT NULL AS is_slow`,
    [owner, at, leaseSeconds, Math.max(0, room.quick), Math.max(0, room.slow), channel],
  );
}

export async function renewLeases(
  db: Queryable,
  owner: string,
  queues: readonly SubscriptionQueue[],
): Promise<void> {
  await db.query(
    `UPDATE webhook_lanes SET leased_until = now() + make_interval(secs => $2)
      WHERE owner = $1 AND (org_id, subscription_id) IN (SELECT unnest($3::text[]), unnest($4::text[]))`,
    [
      owner,
      leaseSeconds,
      queues.map(({ org_id }) => org_id),
      queues.map(({ subscription_id }) => subscription_id),
    ],
  );
}

/**
 * Releases a queue and stores when it is due again. The queue is locked first: a concurrent transaction that adds
 * deliveries either has committed, and they are seen, or waits for the lock and wakes the queue afterwards.
 *
 * Without waiting deliveries the failure time is reset: a failure days later is judged separately.
 */
export async function releaseQueue(
  tx: Transaction,
  owner: string,
  queue: SubscriptionQueue,
  isSlow: boolean | undefined,
  at: Date,
): Promise<void> {
  const params = [queue.org_id, queue.subscription_id];
  const mine = await tx.query(
    'SELECT 1 AS one FROM webhook_lanes WHERE org_id = $1 AND subscription_id = $2 AND owner = $3 FOR UPDATE',
    [...params, owner],
  );
  if (mine.length === 0) {
    // The lease has expired and another process has claimed the queue.
    return;
  }
  const [next] = await tx.query<{ due_at: Date | null }>(
    `SELECT min(due_at) AS due_at FROM webhook_deliveries d
      WHERE d.org_id = $1 AND d.subscription_id = $2 AND d.state = 'waiting'
        AND NOT EXISTS (SELECT 1 FROM webhook_subscriptions s
                         WHERE s.org_id = $1 AND s.id = $2 AND s.status = 'paused' AND s.deleted_at IS NULL)`,
    params,
  );
  await tx.query(
    `UPDATE webhook_lanes
        SET owner = NULL, leased_until = NULL, next_due_at = $5::timestamptz,
            failing_since = CASE WHEN $5::timestamptz IS NULL THEN NULL ELSE failing_since END,
            slow_at = CASE WHEN $3::bool IS NULL THEN slow_at WHEN $3 THEN $4::timestamptz ELSE NULL END
      WHERE org_id = $1 AND subscription_id = $2`,
    [...params, isSlow ?? null, at, next?.due_at ?? null],
  );
}

/** Releases all queues at the start of a single process: any previous owner of a lease no longer runs. */
export async function freeAllQueues(db: Queryable, channel: Channel): Promise<void> {
  await db.query(
    'UPDATE webhook_lanes SET owner = NULL, leased_until = NULL WHERE owner IS NOT NULL AND channel = $1',
    [channel],
  );
}

/** Releases the queues of this process on shutdown, so that the next process need not wait for the leases to expire. */
export async function releaseAllQueues(db: Queryable, owner: string): Promise<void> {
  await db.query('UPDATE webhook_lanes SET owner = NULL, leased_until = NULL WHERE owner = $1', [owner]);
}

const hourMs = 3_600_000;
/**
 * Longer than the time between two attempts of a delivery: failures before such a gap do not belong to the same outage.
 */
const silenceMs = 48 * hourMs;

/**
 * Stores whether any attempt succeeded. Writes only if that changed, or the last write was an hour ago. Returns the
 * time since which all attempts have failed, without a gap, so that a long time means continuous failures.
 */
export async function noteOutcomes(
  tx: Queryable,
  at: Date,
  arrived: readonly SubscriptionQueue[],
  failed: readonly SubscriptionQueue[],
): Promise<(SubscriptionQueue & { readonly failing_since: Date })[]> {
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
  const before = (ms: number) => new Date(at.getTime() - ms);
  await tx.query(
    // Times are computed here: Citus takes no `timestamptz - interval`, which depends on the session, in a CASE.
    `UPDATE webhook_lanes
        SET last_failed_at = $3,
            failing_since = CASE WHEN last_failed_at >= $4 THEN coalesce(failing_since, $3) ELSE $3 END
      WHERE (failing_since IS NULL OR last_failed_at IS NULL OR last_failed_at < $5)
        AND (org_id, subscription_id) IN (SELECT unnest($1::text[]), unnest($2::text[]))`,
    [...params, at, before(silenceMs), before(hourMs)],
  );
  return tx.query(
    `SELECT org_id, subscription_id, failing_since FROM webhook_lanes
      WHERE failing_since IS NOT NULL
        AND (org_id, subscription_id) IN (SELECT unnest($1::text[]), unnest($2::text[]))`,
    params,
  );
}
