/**
 * Fans out events from the outbox: each event becomes a delivery of every subscription with a matching pattern. A
 * transaction creates a bounded number of deliveries, so that on the embedded engine, which has one connection, other
 * work does not wait long.
 */
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import { searchGroups } from '../../../platform/db/citus/search-groups.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { alertName, type NewAlert, recordAlerts } from './alert-once.ts';
import { insertDeliveries, type NewDelivery } from './delivery-queries.ts';
import { wantsEvent } from './event-patterns.ts';
import {
  findTenantsWithEvents,
  listSubscribedOrgs,
  lockWaitingEvents,
  markFannedOut,
  type WaitingEvent,
} from './fan-out-queries.ts';
import { type SubscriptionRow, selectSubscriptions } from './queries.ts';
import { type SubscriptionQueue, wakeQueues } from './subscription-queues.ts';
import type { WaitingRoom } from './waiting-room.ts';

export interface FanOutDependencies {
  readonly db: Pick<Database, 'query' | 'transaction' | 'tenantGroups'>;
  readonly clock: SharedClock;
  readonly ids: Ids;
  readonly room: WaitingRoom;
}

const eventsPerBatch = 500;
const deliveriesPerBatch = 1_000;
const clockSkewMs = 5_000;

/** Processes one batch of each group of tenants. Returns true if there may be more. */
export async function fanOut(deps: FanOutDependencies): Promise<boolean> {
  const { db } = deps;
  const tenantIds = await searchGroups(
    db,
    () => listSubscribedOrgs(db),
    (tenants) => findTenantsWithEvents(db, eventsPerBatch, tenants),
  );
  const groups = await db.tenantGroups.split(tenantIds, (tenantId) => tenantId);
  const failures: unknown[] = [];
  let isMore = false;
  for (const group of groups) {
    try {
      isMore = (await fanOutTo(deps, group)) || isMore;
    } catch (error) {
      // The shards of the other tenants may be available.
      failures.push(error);
    }
  }
  if (failures.length > 0) {
    throw failures[0];
  }
  return isMore;
}

async function fanOutTo(
  { db, clock, ids, room }: FanOutDependencies,
  tenantIds: readonly string[],
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const events = await lockWaitingEvents(tx, tenantIds, eventsPerBatch);
    if (events.length === 0) {
      return false;
    }
    const listening = await listenersOf(tx, events);
    const now = await agreedNow(tx, clock);
    const deliveries: NewDelivery[] = [];
    const alerts: (NewAlert & { readonly listener: ListenerWithRoom; readonly event: WaitingEvent })[] = [];
    const done: WaitingEvent[] = [];
    for (const event of events) {
      if (deliveries.length + alerts.length >= deliveriesPerBatch) {
        break;
      }
      done.push(event);
      for (const listener of listening.get(event.tenant_id) ?? []) {
        if (isFor(listener, event)) {
          const alert = alertOf(listener, event);
          if (alert !== undefined) {
            alerts.push({ ...alert, listener, event });
            continue;
          }
          listener.room ??= await room.of(tx, queueOf(listener));
          deliveries.push(...newDeliveries(ids, listener, event));
        }
      }
    }
    for (const { listener, event } of await recordAlerts(tx, alerts, now)) {
      listener.room ??= await room.of(tx, queueOf(listener));
      deliveries.push(...newDeliveries(ids, listener, event));
    }
    room.use(deliveries);
    await insertDeliveries(tx, deliveries, now);
    await wakeQueues(tx, queuesOf(deliveries), now);
    await markFannedOut(tx, done, now);
    return done.length < events.length || events.length === eventsPerBatch;
  });
}

/** Events from before the subscription was created are skipped; clocks of processes may differ a little. */
function isFor({ events, created_at }: SubscriptionRow, event: WaitingEvent): boolean {
  return wantsEvent(events, event.type) && event.created_at.getTime() >= created_at.getTime() - clockSkewMs;
}

interface ListenerWithRoom extends SubscriptionRow {
  /** Number of further deliveries that may wait; undefined: not known yet. */
  room: number | undefined;
}

async function listenersOf(
  tx: Transaction,
  events: readonly WaitingEvent[],
): Promise<Map<string, ListenerWithRoom[]>> {
  const orgIds = [...new Set(events.map(({ tenant_id }) => tenant_id))];
  const byOrg = new Map<string, ListenerWithRoom[]>();
  for (const row of await selectSubscriptions(tx, orgIds)) {
    if (row.status !== 'disabled') {
      const others = byOrg.get(row.org_id) ?? [];
      byOrg.set(row.org_id, others);
      others.push({ ...row, room: undefined });
    }
  }
  return byOrg;
}

function queueOf({ org_id, id }: SubscriptionRow): SubscriptionQueue {
  return { org_id, subscription_id: id };
}

/** Returns undefined for programs, which get every event. */
function alertOf({ format, org_id, id }: ListenerWithRoom, event: WaitingEvent): NewAlert | undefined {
  const name =
    format === 'json' || event.data === null
      ? undefined
      : alertName(event.type, event.created_at, event.data);
  return name && { ...name, org_id, subscription_id: id, event_id: event.id };
}

/** One delivery, or one for each recipient of an e-mail: each is retried on its own. */
function newDeliveries(ids: Ids, listener: ListenerWithRoom, event: WaitingEvent): NewDelivery[] {
  return (listener.recipients ?? [null]).map((recipient) => newDelivery(ids, listener, event, recipient));
}

function newDelivery(
  ids: Ids,
  listener: ListenerWithRoom,
  event: WaitingEvent,
  recipient: string | null,
): NewDelivery {
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
    recipient,
  };
}

function queuesOf(deliveries: readonly NewDelivery[]): SubscriptionQueue[] {
  const queues = new Map<string, SubscriptionQueue>();
  for (const { org_id, subscription_id } of deliveries) {
    queues.set(`${org_id} ${subscription_id}`, { org_id, subscription_id });
  }
  // Sorted, so that two processes that wake the same queues cannot deadlock.
  return [...queues].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, queue]) => queue);
}
