/** Removes what is too old: deliveries, the events they were about, and subscriptions that were deleted. */
import type { Queryable } from '../../platform/db/database.ts';

const deliveriesDays = 30;
/** A day is left to see that it was given up, and to ask for it again. */
const waitingDays = deliveriesDays - 1;
/** Longer than any delivery of it, so that what can be redelivered has its event. */
const eventsDays = deliveriesDays + 1;
const deliveriesPerPass = 1_000;
const deliveriesPerSubscription = 500;
const eventsPerPass = 1_000;

/** One bounded batch; true when there may be more. Nothing vanishes while it waits: it is given up first. */
export async function removeOld(db: Queryable, now: Date): Promise<boolean> {
  const before = (days: number) => new Date(now.getTime() - days * 24 * 3_600_000);
  const givenUp = await giveUpWaiting(db, now, before(waitingDays));
  const deliveries = await deleteDeliveries(db, before(deliveriesDays));
  const events = await deleteEvents(db, before(eventsDays));
  await deleteSubscriptions(db, before(eventsDays));
  return givenUp > 0 || deliveries > 0 || events > 0;
}

/** Those that were due long ago: nobody resumed the subscription, or nothing was sent. */
async function giveUpWaiting(db: Queryable, now: Date, before: Date): Promise<number> {
  const givenUp = await db.query(
    `UPDATE webhook_deliveries SET state = 'failed', failure = 'event_gone', ended_at = $2
      WHERE (org_id, subscription_id, id) IN (
       SELECT s.org_id, s.id, old.id
         FROM webhook_subscriptions s
        CROSS JOIN LATERAL (
          SELECT id FROM webhook_deliveries
           WHERE org_id = s.org_id AND subscription_id = s.id AND state = 'waiting' AND due_at < $1
           ORDER BY due_at, id LIMIT ${deliveriesPerSubscription}) AS old
        LIMIT ${deliveriesPerPass})
     RETURNING 1 AS one`,
    [before, now],
  );
  return givenUp.length;
}

/** The oldest of each subscription, by its own index; no more than the very oldest is read where that is to be kept. */
async function deleteDeliveries(db: Queryable, before: Date): Promise<number> {
  const deleted = await db.query(
    `DELETE FROM webhook_deliveries WHERE (org_id, subscription_id, id) IN (
       SELECT s.org_id, s.id, old.id
         FROM webhook_subscriptions s
        CROSS JOIN LATERAL (
          SELECT created_at FROM webhook_deliveries
           WHERE org_id = s.org_id AND subscription_id = s.id ORDER BY id LIMIT 1) AS oldest
        CROSS JOIN LATERAL (
          SELECT d.id FROM (
            SELECT id, state, created_at FROM webhook_deliveries
             WHERE org_id = s.org_id AND subscription_id = s.id AND oldest.created_at < $1
             ORDER BY id LIMIT ${deliveriesPerSubscription}) AS d
           WHERE d.created_at < $1 AND d.state <> 'waiting') AS old
        LIMIT ${deliveriesPerPass})
     RETURNING 1 AS one`,
    [before],
  );
  return deleted.length;
}

async function deleteEvents(db: Queryable, before: Date): Promise<number> {
  const deleted = await db.query(
    `DELETE FROM outbox WHERE (tenant_id, id) IN (
       SELECT tenant_id, id FROM outbox WHERE fanned_out_at < $1 LIMIT ${eventsPerPass})
     RETURNING 1 AS one`,
    [before],
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
