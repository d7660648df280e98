/** Ending sessions: one's own, and as an admin those of others. */
import { refuse } from '../../contract/refusal.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { type Caller, outranks } from '../../platform/http/access.ts';
import type { Change } from '../../platform/http/route.ts';
import { endSession, type HeldSessionRow, lockSession } from './queries.ts';
import { holderOf, type Sessions, sessionStatus, viewSession } from './sessions.ts';

/** Those below an admin see their own sessions alone. */
export function ownOnly(caller: Caller): string | undefined {
  return outranks('admin', caller.role) ? caller.keyId : undefined;
}

/** Ending one that is over changes nothing, so it can be repeated. */
export async function revokeSession(
  tx: Transaction,
  { idleSeconds }: Pick<Sessions, 'idleSeconds'>,
  now: Date,
  caller: Caller,
  sessionId: string,
): Promise<Change[]> {
  const session = await lockSession(tx, idleSeconds, caller.tenantId, sessionId);
  const own = ownOnly(caller);
  if (session === undefined || (own !== undefined && holderOf(session) !== own)) {
    throw refuse('not_found');
  }
  return sessionStatus(session, now) === 'active' ? [await end(tx, session, now)] : [];
}

export async function end(tx: Transaction, session: HeldSessionRow, now: Date): Promise<Change> {
  await endSession(tx, session, now);
  return {
    tenantId: session.tenant_id,
    target: { kind: 'session', id: session.id },
    before: viewSession(session, now),
    after: viewSession({ ...session, ended_at: now }, now),
  };
}

/** Ends what was opened in an org without its identity provider. An operator who came by a link stays. */
export async function endUnfederated(
  tx: Transaction,
  orgId: string,
  exceptId: string | undefined,
  now: Date,
): Promise<void> {
  await tx.query(
    `UPDATE sessions SET ended_at = $2
      WHERE tenant_id = $1 AND ended_at IS NULL AND method IN ('key', 'invitation') AND id IS DISTINCT FROM $3`,
    [orgId, now, exceptId ?? null],
  );
}
