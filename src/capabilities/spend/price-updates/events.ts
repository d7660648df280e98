/** The event for price changes that wait for an operator. */
import type { EventType } from '../../../contract/events.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { enqueueEvents } from '../../../platform/outbox/outbox.ts';
import type { PriceChangeView } from './schema.ts';

export interface EventDependencies {
  readonly ids: Ids;
  /** Returns the organizations with a webhook for the event. */
  subscribersOf(tx: Queryable, type: EventType): Promise<readonly string[]>;
}

/** Maximum number of changes listed in an event, because it is stored once per subscribed organization. */
const listedMax = 20;

/** Emits the event to each subscribed organization once per update, because list prices belong to no organization. */
export async function announcePending(
  tx: Queryable,
  { ids, subscribersOf }: EventDependencies,
  now: Date,
  created: readonly PriceChangeView[],
): Promise<void> {
  if (created.length === 0) {
    return;
  }
  const type = 'price.change_pending';
  const data = {
    pending: created.length,
    changes: created.slice(0, listedMax).map(({ id, model, provider, rates, source }) => ({
      id,
      model,
      provider,
      rates,
      source,
    })),
  };
  const orgIds = await subscribersOf(tx, type);
  await enqueueEvents(
    tx,
    orgIds.map((tenantId) => ({ id: ids.next('evt'), tenantId, type, createdAt: now, data })),
  );
}
