/** Statements about events that are fanned out from the outbox to deliveries. */
import { alertEvents } from '../../../contract/alert-events.ts';
import type { Searched } from '../../../platform/db/citus/search-groups.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { enqueueEvent, type OutgoingEvent } from '../../../platform/outbox/outbox.ts';

export interface WaitingEvent {
  readonly tenant_id: string;
  readonly id: string;
  readonly type: string;
  readonly created_at: Date;
  /** Null except for alerts: the data of other events may be large, and is not needed. */
  readonly data: object | null;
}

/** Returns tenants with waiting events. */
export async function findTenantsWithEvents(
  db: Queryable,
  limit: number,
  tenants: Searched,
): Promise<string[]> {
  const rows = await db.query<{ tenant_id: string }>(
    `SELECT DISTINCT tenant_id FROM (
       SELECT tenant_id FROM outbox WHERE fanned_out_at IS NULL ${tenants === null ? '' : 'AND tenant_id = ANY($2)'}
        LIMIT $1) AS waiting`,
    tenants === null ? [limit] : [limit, tenants],
  );
  return rows.map(({ tenant_id }) => tenant_id);
}

/** Returns the orgs with subscriptions. */
export async function listSubscribedOrgs(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ org_id: string }>('SELECT DISTINCT org_id FROM webhook_lanes', []);
  return rows.map(({ org_id }) => org_id);
}

/** Locks the events of these tenants, so that concurrent processes select different events. */
export async function lockWaitingEvents(
  tx: Queryable,
  tenantIds: readonly string[],
  limit: number,
): Promise<WaitingEvent[]> {
  return tx.query<WaitingEvent>(
    `SELECT tenant_id, id, type, created_at, CASE WHEN type = ANY($3) THEN data END AS data FROM outbox
      WHERE fanned_out_at IS NULL AND tenant_id = ANY($1) LIMIT $2 FOR UPDATE SKIP LOCKED`,
    [tenantIds, limit, alertEvents],
  );
}

export async function markFannedOut(
  tx: Queryable,
  events: readonly Pick<WaitingEvent, 'tenant_id' | 'id'>[],
  now: Date,
): Promise<void> {
  await tx.query(
    `UPDATE outbox o SET fanned_out_at = $3
       FROM unnest($1::text[], $2::text[]) AS e(tenant_id, id)
      WHERE o.tenant_id = e.tenant_id AND o.id = e.id AND o.tenant_id = ANY($1)`,
    [events.map(({ tenant_id }) => tenant_id), events.map(({ id }) => id), now],
  );
}

/** Inserts an event for one subscription only, which is not fanned out. */
export async function insertFannedOut(tx: Queryable, event: OutgoingEvent, now: Date): Promise<void> {
  await enqueueEvent(tx, event);
  await markFannedOut(tx, [{ tenant_id: event.tenantId, id: event.id }], now);
}
