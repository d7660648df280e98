/** Deletes old deliveries, their events, and deleted subscriptions. */
import type { Queryable } from '../../../platform/db/database.ts';

const defaultDays = 30;
const dayMs = 24 * 3_600_000;
const deliveriesPerPass = 1_000;
const deliveriesPerSubscription = 500;
const eventsPerPass = 1_000;

/** Selects orgs without a retention policy for deliveries. Others are processed one by one. */
const withoutPolicy = (org: string) =>
  `NOT EXISTS (SELECT 1 FROM retention_policies p WHERE p.org_id = ${org})`;

/**
 * Processes one bounded batch of all orgs without a policy, and removes long-deleted subscriptions of all orgs; returns
 * true if there may be more.
 */
export async function removeOld(db: Queryable, now: Date): Promise<boolean> {
  const span = { orgId: null, now, days: defaultDays };
  const deliveries = await removeOldDeliveries(db, span);
  const events = await removeOldEvents(db, span);
  await deleteSubscriptions(db, daysBefore(now, defaultDays + 1));
  return deliveries > 0 || events > 0;
}

export interface OldSpan {
  /** Null means all orgs without a policy. */
  readonly orgId: string | null;
  readonly now: Date;
  /** Deliveries older than this are deleted. */
  readonly days: number;
}

/**
 * Processes one bounded batch; returns the number of failed or deleted deliveries. A waiting delivery is never deleted:
 * it is failed first.
 */
export async function removeOldDeliveries(db: Queryable, span: OldSpan): Promise<number> {
  return (await failOverdue(db, span)) + (await deleteDeliveries(db, span));
}

/**
 * Events are deleted a day later than deliveries, so that every delivery that can be redelivered still has its event.
 */
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

/** Fails deliveries that were due long ago: the subscription was not resumed, or nothing was sent. */
async function failOverdue(db: Queryable, { orgId, now, days }: OldSpan): Promise<number> {
  // If the period allows it, a delivery that was never retried stays visible for a day, so that it can be redelivered.
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
 * Deletes the oldest deliveries of each subscription, by its index; if the oldest is too young, nothing else is read.
 * Rows are deleted by ctid: a join would read the whole table as long as the planner estimates it to be small.
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
