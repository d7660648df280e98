/** Removes what is too old: deliveries, the events they were about, and subscriptions that were deleted. */
import type { Queryable } from '../../../platform/db/database.ts';

const defaultDays = 30;
const dayMs = 24 * 3_600_000;
const deliveriesPerPass = 1_000;
const deliveriesPerSubscription = 500;
const eventsPerPass = 1_000;

/** Orgs that have not said how long they keep deliveries. Others are asked for one by one. */
const withoutPolicy = (org: string) =>
  `NOT EXISTS (SELECT 1 FROM retention_policies p WHERE p.org_id = ${org})`;

/** One bounded batch of all orgs without a policy; true when there may be more. */
export async function removeOld(db: Queryable, now: Date): Promise<boolean> {
  const span = { orgId: null, now, days: defaultDays };
  const deliveries = await removeOldDeliveries(db, span);
  const events = await removeOldEvents(db, span);
  await deleteSubscriptions(db, daysBefore(now, defaultDays + 1));
  return deliveries > 0 || events > 0;
}

export interface OldSpan {
  /** Null: all orgs without a policy. */
  readonly orgId: string | null;
  readonly now: Date;
  /** Deliveries that are older are removed. */
  readonly days: number;
}

/** One bounded batch; returns how many were given up or removed. Nothing vanishes while it waits: it is given up first. */
export async function removeOldDeliveries(db: Queryable, span: OldSpan): Promise<number> {
  return (await giveUpWaiting(db, span)) + (await deleteDeliveries(db, span));
}

/** A day later than deliveries, so that what can be redelivered has its event. */
export async function removeOldEvents(db: Queryable, { orgId, now, days }: OldSpan): Promise<number> {
  const whose = orgId === null ? `$2::text IS NULL AND ${withoutPolicy('tenant_id')}` : 'tenant_id = $2';
  const deleted = await db.query(
    `DELETE FROM outbox WHERE (tenant_id, id) IN (
       SELECT tenant_id, id FROM outbox WHERE fanned_out_at < $1 AND ${whose} LIMIT ${eventsPerPass})
     RETURNING 1 AS one`,
    [daysBefore(now, days + 1), orgId],
  );
  return deleted.length;
}

function daysBefore(now: Date, days: number): Date {
  return new Date(now.getTime() - days * dayMs);
}

function subscriptionsOf(orgId: string | null, parameter: string): string {
  return orgId === null
    ? `${parameter}::text IS NULL AND ${withoutPolicy('s.org_id')}`
    : `s.org_id = ${parameter}`;
}

/** Those that were due long ago: nobody resumed the subscription, or nothing was sent. */
async function giveUpWaiting(db: Queryable, { orgId, now, days }: OldSpan): Promise<number> {
  // A day is left to see that it was given up, and to ask for it again, where there is more than one.
  const before = daysBefore(now, Math.max(1, days - 1));
  const givenUp = await db.query(
    `UPDATE webhook_deliveries SET state = 'failed', failure = 'event_gone', ended_at = $2
      WHERE (org_id, subscription_id, id) IN (
       SELECT s.org_id, s.id, old.id
         FROM webhook_subscriptions s
        CROSS JOIN LATERAL (
          SELECT id FROM webhook_deliveries
           WHERE org_id = s.org_id AND subscription_id = s.id AND state = 'waiting' AND due_at < $1
           ORDER BY due_at, id LIMIT ${deliveriesPerSubscription}) AS old
        WHERE ${subscriptionsOf(orgId, '$3')}
        LIMIT ${deliveriesPerPass})
     RETURNING 1 AS one`,
    [before, now, orgId],
  );
  return givenUp.length;
}

/**
 * The oldest of each subscription, by its own index; no more than the very oldest is read where that is to be kept. They are
 * deleted by where they stand: a join would read the whole table as long as the database takes it for small.
 */
async function deleteDeliveries(db: Queryable, { orgId, now, days }: OldSpan): Promise<number> {
  const deleted = await db.query(
    `DELETE FROM webhook_deliveries WHERE ctid = ANY (ARRAY (
       SELECT old.place
         FROM webhook_subscriptions s
        CROSS JOIN LATERAL (
          SELECT created_at FROM webhook_deliveries
           WHERE org_id = s.org_id AND subscription_id = s.id ORDER BY id LIMIT 1) AS oldest
        CROSS JOIN LATERAL (
          SELECT d.place FROM (
            SELECT ctid AS place, state, created_at FROM webhook_deliveries
             WHERE org_id = s.org_id AND subscription_id = s.id AND oldest.created_at < $1
             ORDER BY id LIMIT ${deliveriesPerSubscription}) AS d
           WHERE d.created_at < $1 AND d.state <> 'waiting') AS old
        WHERE ${subscriptionsOf(orgId, '$2')}
        LIMIT ${deliveriesPerPass}))
     RETURNING 1 AS one`,
    [daysBefore(now, days), orgId],
  );
  return deleted.length;
}

async function deleteSubscriptions(db: Queryable, before: Date): Promise<void> {
  await db.query(
    `WITH gone AS (
       DELETE FROM webhook_subscriptions s
        WHERE deleted_at < $1
          AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.org_id = s.org_id AND d.subscription_id = s.id)
       RETURNING org_id, id)
     DELETE FROM webhook_lanes USING gone
      WHERE webhook_lanes.org_id = gone.org_id AND webhook_lanes.subscription_id = gone.id`,
    [before],
  );
}
