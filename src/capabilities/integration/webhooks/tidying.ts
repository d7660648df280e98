/** Deletes old deliveries, their events, and deleted subscriptions. */
import type { Queryable } from '../../../platform/db/database.ts';

const defaultDays = 30;
const dayMs = 24 * 3_600_000;
const deliveriesPerPass = 1_000;
const deliveriesPerSubscription = 500;
const eventsPerPass = 1_000;

/**
 * Processes one bounded batch of each org without a retention policy, and removes long-deleted subscriptions of all orgs; returns
 * true if there may be more. Orgs with a policy are processed by the job of their policy.
 */
export async function removeOld(db: Queryable, now: Date): Promise<boolean> {
  let removed = 0;
  for (const orgId of await findOrgsWithQueues(db)) {
    removed += await removeOldDeliveries(db, { orgId, now, days: defaultDays });
  }
  for (const orgId of await findOrgsWithOldEvents(db, daysBefore(now, defaultDays + 1))) {
    removed += await removeOldEvents(db, { orgId, now, days: defaultDays });
  }
  await deleteSubscriptions(db, daysBefore(now, defaultDays + 1));
  return removed > 0;
}

/** Returns the orgs that have delivery queues and no retention policy. */
async function findOrgsWithQueues(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ org_id: string }>(
    `SELECT DISTINCT org_id FROM webhook_lanes
      WHERE NOT EXISTS (SELECT 1 FROM retention_policies p WHERE p.org_id = webhook_lanes.org_id)`,
    [],
  );
  return rows.map(({ org_id }) => org_id);
}

/** Returns tenants without a policy that have events from before this time. */
async function findOrgsWithOldEvents(db: Queryable, before: Date): Promise<string[]> {
  const policies = await db.query<{ org_id: string }>('SELECT org_id FROM retention_policies', []);
  const rows = await db.query<{ tenant_id: string }>(
    'SELECT DISTINCT tenant_id FROM outbox WHERE fanned_out_at < $1 AND tenant_id <> ALL($2)',
    [before, policies.map(({ org_id }) => org_id)],
  );
  return rows.map(({ tenant_id }) => tenant_id);
}

export interface OldSpan {
  readonly orgId: string;
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
 * Events are deleted a day later than deliveries, so that every delivery that can be redelivered still has its event. Retries may
 * take longer than a short period, so events of waiting deliveries are kept.
 */
export async function removeOldEvents(db: Queryable, { orgId, now, days }: OldSpan): Promise<number> {
  const deleted = await db.query(
    `DELETE FROM outbox WHERE tenant_id = $2 AND id IN (
       SELECT id FROM outbox
        WHERE fanned_out_at < $1 AND tenant_id = $2 AND id NOT IN (
          SELECT event_id FROM webhook_deliveries WHERE org_id = $2 AND state = 'waiting' AND created_at < $1)
        LIMIT ${eventsPerPass})
     RETURNING 1 AS one`,
    [daysBefore(now, days + 1), orgId],
  );
  return deleted.length;
}

function daysBefore(now: Date, days: number): Date {
  return new Date(now.getTime() - days * dayMs);
}

/** Fails deliveries that were due long ago: the subscription was not resumed, or nothing was sent. */
async function failOverdue(db: Queryable, { orgId, now, days }: OldSpan): Promise<number> {
  // If the period allows it, a delivery that was never retried stays visible for a day, so that it can be redelivered.
  const before = daysBefore(now, Math.max(1, days - 1));
  const givenUp = await db.query(
    `UPDATE webhook_deliveries SET state = 'failed', failure = 'event_gone', ended_at = $2
      WHERE org_id = $3 AND (subscription_id, id) IN (
       SELECT s.id, old.id
         FROM webhook_subscriptions s
        CROSS JOIN LATERAL (
          SELECT id FROM webhook_deliveries
           WHERE org_id = $3 AND subscription_id = s.id AND state = 'waiting' AND due_at < $1
           ORDER BY due_at, id LIMIT ${deliveriesPerSubscription}) AS old
        WHERE s.org_id = $3
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
    `DELETE FROM webhook_deliveries WHERE org_id = $2 AND ctid = ANY (ARRAY (
       SELECT old.place
         FROM webhook_subscriptions s
        CROSS JOIN LATERAL (
          SELECT created_at FROM webhook_deliveries
           WHERE org_id = $2 AND subscription_id = s.id ORDER BY id LIMIT 1) AS oldest
        CROSS JOIN LATERAL (
          SELECT d.place FROM (
            SELECT ctid AS place, state, created_at FROM webhook_deliveries
             WHERE org_id = $2 AND subscription_id = s.id AND oldest.created_at < $1
             ORDER BY id LIMIT ${deliveriesPerSubscription}) AS d
           WHERE d.created_at < $1 AND d.state <> 'waiting') AS old
        WHERE s.org_id = $2
        LIMIT ${deliveriesPerPass}))
     RETURNING 1 AS one`,
    [daysBefore(now, days), orgId],
  );
  return deleted.length;
}

async function deleteSubscriptions(db: Queryable, before: Date): Promise<void> {
  const gone = await db.query<{ org_id: string; id: string }>(
    `DELETE FROM webhook_subscriptions s
      WHERE deleted_at < $1
        AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.org_id = s.org_id AND d.subscription_id = s.id)
     RETURNING org_id, id`,
    [before],
  );
  // If the process ends in between, a queue without a subscription is left, which has no deliveries and is never due.
  await db.query(
    `DELETE FROM webhook_lanes WHERE (org_id, subscription_id) IN (SELECT unnest($1::text[]), unnest($2::text[]))`,
    [gone.map(({ org_id }) => org_id), gone.map(({ id }) => id)],
  );
}
