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
