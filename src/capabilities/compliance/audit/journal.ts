/** What happened, recorded in the transaction that made it happen: an audit entry and, where others wait, an event. */
import type { Transaction } from '../../../platform/db/database.ts';
import { platformTenant } from '../../../platform/http/routes/access.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
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
  // Operators' own changes belong to no org, so nobody can subscribe to them.
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
