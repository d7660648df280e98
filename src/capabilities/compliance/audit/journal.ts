/** Records a change in the transaction that makes it: an audit entry and, if there is one, an event. */
import type { EventType } from '../../../contract/events.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { type Caller, platformTenant } from '../../../platform/http/routes/access.ts';
import type { Change, HandlerContext } from '../../../platform/http/routes/route.ts';
import { enqueueEvents } from '../../../platform/outbox/outbox.ts';
import { type Appending, appendAudit } from './audit.ts';

export interface Actor {
  readonly kind: 'key' | 'operator' | 'member' | 'support' | 'command_line' | 'service' | 'anonymous';
  readonly id: string;
  readonly at: Date;
  readonly address?: string;
  readonly traceId?: string;
}

/** A change and the action that made it. */
export interface ChangeRecord {
  readonly action: string;
  readonly change: Change;
}

export function recordChange(
  tx: Transaction,
  appending: Appending,
  actor: Actor,
  action: string,
  change: Change,
): Promise<void> {
  return recordChanges(tx, appending, actor, [{ action, change }]);
}

/** Records the changes of one transaction in their order, those of each tenant together. */
export async function recordChanges(
  tx: Transaction,
  appending: Appending,
  actor: Actor,
  records: readonly ChangeRecord[],
): Promise<void> {
  for (const tenantId of new Set(records.map(({ change }) => change.tenantId))) {
    const own = records.filter(({ change }) => change.tenantId === tenantId);
    await appendAudit(
      tx,
      appending,
      tenantId,
      own.map(({ action, change }) => ({
        actorKind: actor.kind,
        actorId: actor.id,
        action,
        outcome: 'success' as const,
        code: null,
        targetKind: change.target.kind,
        targetId: change.target.id,
        before: change.before ?? null,
        after: change.after ?? null,
        detail: null,
        address: actor.address ?? null,
        traceId: actor.traceId ?? null,
      })),
    );
    // Changes in the platform's log belong to no org, so they have no subscribers.
    const events = tenantId === platformTenant ? [] : own.flatMap(({ change }) => eventsOf(change));
    await enqueueEvents(
      tx,
      events.map(({ type, data }) => ({
        id: appending.ids.next('evt'),
        tenantId,
        type,
        createdAt: actor.at,
        data,
      })),
    );
  }
}

function eventsOf({ event, after }: Change): { readonly type: EventType; readonly data: object }[] {
  return event === undefined ? [] : [{ type: event, data: after ?? {} }];
}

/** The actor of a change: the caller of the request that made it. */
export function actorOf({
  caller,
  address,
  traceId,
  now,
}: Pick<HandlerContext, 'caller' | 'address' | 'traceId' | 'now'>): Actor {
  return { ...identityOf(caller), address, traceId, at: now };
}

function identityOf({ keyId, role, session, support }: Caller): Pick<Actor, 'kind' | 'id'> {
  if (support !== undefined) {
    return { kind: 'support', id: support.operatorKeyId };
  }
  return { kind: session?.actor ?? (role === 'operator' ? 'operator' : 'key'), id: keyId };
}
