/** Deliveries for their owners: attempts and responses, redelivery of one or many, and test events. */
import { apiError, found, invalidField } from '../../../contract/api-error.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { decodeCursor, encodeCursor, viewPage } from '../../../platform/http/routes/list.ts';
import type { Ids } from '../../../platform/ids.ts';
import {
  type DeliveryRow,
  findDelivery,
  findEvent,
  insertDeliveries,
  listDeliveries,
  requeueDelivery,
  requeueRange,
} from './delivery-queries.ts';
import { testEvent } from './event-patterns.ts';
import { insertFannedOut } from './fan-out-queries.ts';
import { payloadOf } from './message.ts';
import { findSubscription, lockSubscription, type SubscriptionRow, webhooksChanged } from './queries.ts';
import type {
  AttemptView,
  DeliveryFilters,
  DeliveryView,
  EventPayload,
  RedeliveredRange,
  RedeliverRange,
} from './schema.ts';
import { type SubscriptionQueue, wakeQueues } from './subscription-queues.ts';
import type { SubscriptionName } from './subscriptions.ts';

/**
 * Maximum number of redeliveries per request: one transaction blocks others, so a larger range is redelivered in parts.
 */
export const redeliveriesMax = 5_000;
const rangeOrder = 'redeliveries';

export function viewDelivery(row: DeliveryRow): DeliveryView {
  return {
    id: row.id,
    event_id: row.event_id,
    event_type: row.event_type,
    state: row.state,
    // Only a mail server rejects.
    failure: row.failure === 'rejected' ? null : row.failure,
    next_attempt_at: row.state === 'waiting' ? row.due_at.toISOString() : null,
    attempts: row.attempts as AttemptView[],
    created_at: row.created_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
  };
}

const queueOf = ({ orgId, id }: SubscriptionName): SubscriptionQueue => ({
  org_id: orgId,
  subscription_id: id,
});

export async function readDeliveries(db: Queryable, name: SubscriptionName, query: DeliveryFilters) {
  await requireSubscription(db, name);
  return viewPage(listDeliveries(db, queueOf(name), query), viewDelivery);
}

export async function readDelivery(
  db: Queryable,
  name: SubscriptionName,
  deliveryId: string,
): Promise<DeliveryView> {
  await requireSubscription(db, name);
  const row = found(await findDelivery(db, queueOf(name), deliveryId));
  return viewDelivery(row);
}

/** Returns what the delivery sends, or sent. */
export async function readPayload(
  db: Queryable,
  name: SubscriptionName,
  deliveryId: string,
): Promise<EventPayload> {
  const { event_id } = await readDelivery(db, name, deliveryId);
  const event = found(await findEvent(db, name.orgId, event_id), 'The event of this delivery was deleted.');
  const { type, created_at: createdAt, data } = event;
  return payloadOf({ id: event_id, type, createdAt, orgId: name.orgId, data });
}

/** Creates an event for this subscription only: one delivery, or one for each recipient of an e-mail. */
export async function sendTest(
  tx: Transaction,
  ids: Ids,
  name: SubscriptionName,
  now: Date,
  recipients: readonly (string | null)[] = [null],
): Promise<DeliveryRow[]> {
  await lockReceiving(tx, name);
  const event = {
    id: ids.next('evt'),
    tenantId: name.orgId,
    type: testEvent,
    createdAt: now,
    data: { subscription_id: name.id, message: 'This is a test.' },
  };
  const deliveries = recipients.map((recipient) => ({
    ...queueOf(name),
    id: ids.next('dlv'),
    event_id: event.id,
    event_type: event.type,
    state: 'waiting' as const,
    failure: null,
    recipient,
  }));
  await insertFannedOut(tx, event, now);
  await insertDeliveries(tx, deliveries, now);
  await wake(tx, name, now);
  return deliveries.map((delivery) => ({
    ...delivery,
    due_at: now,
    attempt_count: 0,
    attempts: [],
    created_at: now,
    ended_at: null,
  }));
}

export async function redeliver(
  tx: Transaction,
  name: SubscriptionName,
  deliveryId: string,
  now: Date,
): Promise<{ before: DeliveryRow; after: DeliveryRow }> {
  await lockReceiving(tx, name);
  const before = found(await findDelivery(tx, queueOf(name), deliveryId));
  const after = found(await requeueDelivery(tx, queueOf(name), deliveryId, now));
  await wake(tx, name, now);
  return { before, after };
}

export async function redeliverRange(
  tx: Transaction,
  name: SubscriptionName,
  { from, to, state = 'failed', cursor }: RedeliverRange,
  now: Date,
): Promise<RedeliveredRange> {
  const after = cursor === undefined ? null : decodeCursor(cursor, rangeOrder, 'text').id;
  const range = { from: new Date(from), to: to === undefined ? now : new Date(to), state, after };
  if (range.to <= range.from) {
    throw invalidField('to', 'out_of_range', 'Must be after from.');
  }
  await lockReceiving(tx, name);
  const { count, last } = await requeueRange(tx, queueOf(name), range, now, redeliveriesMax);
  await wake(tx, name, now);
  const more = count === redeliveriesMax && last !== null;
  return { redelivering: count, more, next_cursor: more ? encodeCursor(rangeOrder, '', last) : null };
}

async function wake(tx: Transaction, name: SubscriptionName, now: Date): Promise<void> {
  await wakeQueues(tx, [queueOf(name)], now);
  await webhooksChanged.notify(tx, name.orgId);
}

async function requireSubscription(db: Queryable, { orgId, id }: SubscriptionName): Promise<SubscriptionRow> {
  return found(await findSubscription(db, orgId, id));
}

/** Rejects disabled subscriptions, which are not processed. For a paused subscription deliveries wait. */
async function lockReceiving(tx: Transaction, { orgId, id }: SubscriptionName): Promise<void> {
  const row = found(await lockSubscription(tx, orgId, id));
  if (row.status === 'disabled') {
    throw apiError('conflict', 'The subscription is disabled. Resume it first.');
  }
}
