/**
 * From the outbox to deliveries: each event becomes a delivery of every subscription that listens to it. A transaction
 * makes a bounded number of deliveries, so that on the embedded engine, where everyone takes turns, nobody waits long.
 */

import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { countWaiting, insertDeliveries, type NewDelivery } from './delivery-queries.ts';
import { wantsEvent } from './event-patterns.ts';
import { lockWaitingEvents, markFannedOut, type WaitingEvent } from './fan-out-queries.ts';
import { type Lane, wakeLanes } from './lanes.ts';
import { type SubscriptionRow, selectSubscriptions } from './queries.ts';

export interface FanOutDependencies {
  readonly db: Pick<Database, 'transaction'>;
  readonly clock: SharedClock;
  readonly ids: Ids;
}

const eventsPerBatch = 500;
const deliveriesPerBatch = 1_000;
const clockSkewMs = 5_000;
/** What may wait for a subscription; what comes after that is noted as failed, and can be redelivered. */
export const waitingMax = 50_000;

/** One batch. True when there may be more. */
export async function fanOut({ db, clock, ids }: FanOutDependencies): Promise<boolean> {
  return db.transaction(async (tx) => {
    const events = await lockWaitingEvents(tx, eventsPerBatch);
    if (events.length === 0) {
      return false;
    }
    const listening = await listenersOf(tx, events);
    const now = await agreedNow(tx, clock);
    const deliveries: NewDelivery[] = [];
    const done: WaitingEvent[] = [];
    for (const event of events) {
      if (deliveries.length >= deliveriesPerBatch) {
        break;
      }
      done.push(event);
      for (const listener of listening.get(event.tenant_id) ?? []) {
        if (isFor(listener, event)) {
          // Counted only for whom there is something: it reads all that waits.
          listener.room ??= await roomOf(tx, listener);
          deliveries.push(newDelivery(ids, listener, event));
        }
      }
    }
    await insertDeliveries(tx, deliveries, now);
    await wakeLanes(tx, lanesOf(deliveries), now);
    await markFannedOut(tx, done, now);
    return done.length < events.length || events.length === eventsPerBatch;
  });
}

/** What happened before the subscription was there is not for it; clocks of processes may differ a little. */
function isFor({ events, created_at }: SubscriptionRow, event: WaitingEvent): boolean {
  return wantsEvent(events, event.type) && event.created_at.getTime() >= created_at.getTime() - clockSkewMs;
}

interface Listener extends SubscriptionRow {
  /** How many more may wait; undefined: not counted yet. */
  room: number | undefined;
}

async function listenersOf(
  tx: Transaction,
  events: readonly WaitingEvent[],
): Promise<Map<string, Listener[]>> {
  const orgIds = [...new Set(events.map(({ tenant_id }) => tenant_id))];
  const byOrg = new Map<string, Listener[]>();
  for (const row of await selectSubscriptions(tx, orgIds)) {
    if (row.status !== 'disabled') {
      const others = byOrg.get(row.org_id) ?? [];
      byOrg.set(row.org_id, others);
      others.push({ ...row, room: undefined });
    }
  }
  return byOrg;
}

async function roomOf(tx: Transaction, { org_id, id }: SubscriptionRow): Promise<number> {
  return waitingMax - (await countWaiting(tx, { org_id, subscription_id: id }, waitingMax));
}

function newDelivery(ids: Ids, listener: Listener, event: WaitingEvent): NewDelivery {
  const { room = 0 } = listener;
  const fits = room > 0;
  listener.room = room - 1;
  return {
    org_id: listener.org_id,
    subscription_id: listener.id,
    id: ids.next('dlv'),
    event_id: event.id,
    event_type: event.type,
    state: fits ? 'waiting' : 'failed',
    failure: fits ? null : 'queue_full',
  };
}

function lanesOf(deliveries: readonly NewDelivery[]): Lane[] {
  const lanes = new Map<string, Lane>();
  for (const { org_id, subscription_id } of deliveries) {
    lanes.set(`${org_id} ${subscription_id}`, { org_id, subscription_id });
  }
  // In one order, so that two processes that wake the same lanes do not wait for each other in a circle.
  return [...lanes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, lane]) => lane);
}
