/** Deliveries of a subscription by e-mail, one for each event and recipient. */
import { found } from '../../../contract/api-error.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import {
  type DeliveryFilters,
  type DeliveryRow,
  findSubscription,
  listDeliveries,
  type SubscriptionRow,
} from '../webhooks/index.ts';
import type { EmailDeliveryView } from './schema.ts';

export function viewDelivery(row: DeliveryRow): EmailDeliveryView {
  return {
    id: row.id,
    event_id: row.event_id,
    event_type: row.event_type,
    recipient: row.recipient,
    state: row.state,
    // Only a receiver of webhooks is gone.
    failure: row.failure === 'gone' ? null : row.failure,
    next_attempt_at: row.state === 'waiting' ? row.due_at.toISOString() : null,
    attempts: row.attempts as EmailDeliveryView['attempts'],
    created_at: row.created_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
  };
}

export async function requireSubscription(
  db: Queryable,
  { orgId, id }: { readonly orgId: string; readonly id: string },
): Promise<SubscriptionRow> {
  return found(await findSubscription(db, orgId, id));
}

export async function readDeliveries(
  db: Queryable,
  name: { readonly orgId: string; readonly id: string },
  query: DeliveryFilters,
) {
  await requireSubscription(db, name);
  const queue = { org_id: name.orgId, subscription_id: name.id };
  return viewPage(listDeliveries(db, queue, query), viewDelivery);
}
