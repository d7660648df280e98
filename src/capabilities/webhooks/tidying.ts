/** Removes what is too old: deliveries, the events they were about, and subscriptions that were deleted. */
import type { Queryable } from '../../platform/db/database.ts';

const deliveriesDays = 30;
/** Longer than any delivery of it, so that what can be redelivered has its event. */
const eventsDays = deliveriesDays + 1;
const deliveriesPerPass = 1_000;
const deliveriesPerSubscription = 500;
const eventsPerPass = 1_000;

/** One bounded batch; true when there may be more. Those that still wait go too: whoever pauses for a month has lost them. */
export async function removeOld(db: Queryable, now: Date): Promise<boolean> {
  const before = (days: number) => new Date(now.getTime() - days * 24 * 3_600_000);
  const deliveries = await deleteDeliveries(db, before(deliveriesDays));
  const events = await deleteEvents(db, before(eventsDays));
  await deleteSubscriptions(db, before(eventsDays));
  return deliveries > 0 || events > 0;
}

/** The oldest of each subscription, by its own index. */
async function deleteDeliveries(db: Queryable, before: Date): Promise<number> {
  const deleted = await db.query(
    `DELETE FROM webhook_deliveries WHERE (org_id, subscription_id, id) IN (
       SELECT s.org_id, s.id, old.id
         FROM webhook_subscriptions s
        CROSS JOIN LATERAL (
          SELECT d.id FROM (
            SELECT id, created_at FROM webhook_deliveries
             WHERE org_id = s.org_id AND subscription_id = s.id ORDER BY id LIMIT ${deliveriesPerSubscription}) AS d
           WHERE d.created_at < $1) AS old
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
