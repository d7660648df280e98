/** Transactional outbox: events are written in the transaction of the change they describe, and delivered later. */
import type { EventType } from '../../contract/events.ts';
import { insertMany, type Queryable } from '../db/database.ts';

export interface OutgoingEvent {
  readonly id: string;
  readonly tenantId: string;
  readonly type: EventType;
  readonly createdAt: Date;
  readonly data: object;
}

export async function enqueueEvent(tx: Queryable, event: OutgoingEvent): Promise<void> {
  await enqueueEvents(tx, [event]);
}

export async function enqueueEvents(tx: Queryable, events: readonly OutgoingEvent[]): Promise<void> {
  await insertMany(
    tx,
    'outbox',
    { tenant_id: 'text', id: 'text', type: 'text', created_at: 'timestamptz', data: 'jsonb' },
    events.map(({ tenantId, id, type, createdAt, data }) => ({
      tenant_id: tenantId,
      id,
      type,
      created_at: createdAt,
      data,
    })),
  );
}
