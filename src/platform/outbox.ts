/** Outgoing events, written in the transaction of the change they tell of and delivered later. */
import type { Queryable } from './db/database.ts';

export interface OutgoingEvent {
  readonly id: string;
  readonly tenantId: string;
  readonly type: string;
  readonly createdAt: Date;
  readonly data: object;
}

export async function enqueueEvent(tx: Queryable, event: OutgoingEvent): Promise<void> {
  await tx.query('INSERT INTO outbox (tenant_id, id, type, created_at, data) VALUES ($1, $2, $3, $4, $5)', [
    event.tenantId,
    event.id,
    event.type,
    event.createdAt,
    JSON.stringify(event.data),
  ]);
}
