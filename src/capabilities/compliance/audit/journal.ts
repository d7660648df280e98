/** Records a change in the transaction that makes it: an audit entry and, if there is one, an event. */
import type { Transaction } from '../../../platform/db/database.ts';
import { type Caller, platformTenant } from '../../../platform/http/routes/access.ts';
import type { Change, HandlerContext } from '../../../platform/http/routes/route.ts';
import { enqueueEvent } from '../../../platform/outbox/outbox.ts';
import { type Appending, appendAudit } from './audit.ts';

export interface Actor {
  readonly kind: 'key' | 'operator' | 'member' | 'support' | 'command_line' | 'service' | 'anonymous';
  readonly id: string;
  readonly at: Date;
  readonly address?: string;
  readonly traceId?: string;
}

export async function recordChange(
  tx: Transaction,
  appending: Appending,
  actor: Actor,
  action: string,
  change: Change,
): Promise<void> {
  await appendAudit(tx, appending, change.tenantId, [
    {
      actorKind: actor.kind,
      actorId: actor.id,
      action,
      outcome: 'success',
      code: null,
      targetKind: change.target.kind,
      targetId: change.target.id,
      before: change.before ?? null,
      after: change.after ?? null,
      detail: null,
      address: actor.address ?? null,
      traceId: actor.traceId ?? null,
    },
  ]);
  // Changes in the platform's log belong to no org, so they have no subscribers.
  if (change.event !== undefined && change.tenantId !== platformTenant) {
    await enqueueEvent(tx, {
      id: appending.ids.next('evt'),
      tenantId: change.tenantId,
      type: change.event,
      createdAt: actor.at,
      data: change.after ?? {},
    });
  }
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
