/** Ends sessions: the caller's own, and those of others for admins. */
import { apiError } from '../../../contract/api-error.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { type Caller, outranks } from '../../../platform/http/routes/access.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import { endSignIns } from '../tool-sign-ins/index.ts';
import { endSession, type HeldSessionRow, lockMemberSessions, lockSession } from './queries.ts';
import { holderOf, type Sessions, sessionStatus, viewSession } from './sessions.ts';

/** Returns the only holder whose sessions the caller may see; undefined for admins, who may see all. */
export function ownOnly(caller: Caller): string | undefined {
  return outranks('admin', caller.role) ? caller.keyId : undefined;
}

/**
 * Ends a session, and the tool sign-ins that were approved in it. Has no effect on ended ones, so it can be repeated. Signing out
 * leaves the tools signed in.
 */
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
    throw apiError('not_found');
  }
  const ended = sessionStatus(session, now) === 'active' ? [await end(tx, session, now)] : [];
  return [...ended, ...(await endSignIns(tx, session.tenant_id, { sessionId }, 'session_ended', now))];
}

export async function end(tx: Transaction, session: HeldSessionRow, now: Date): Promise<Change> {
  await endSession(tx, session, now);
  const views = {
    before: viewSession(session, now),
    after: viewSession({ ...session, ended_at: now }, now),
  };
  return changeOf('session', { org_id: session.tenant_id, id: session.id }, views);
}

/** Ends the sessions of one member, and their sign-ins from tools. */
export async function endMemberSessions(
  tx: Transaction,
  { idleSeconds }: Pick<Sessions, 'idleSeconds'>,
  orgId: string,
  memberId: string,
  now: Date,
): Promise<Change[]> {
  const changes: Change[] = [];
  for (const session of await lockMemberSessions(tx, idleSeconds, orgId, memberId)) {
    if (sessionStatus(session, now) === 'active') {
      changes.push(await end(tx, session, now));
    }
  }
  return [...changes, ...(await endSignIns(tx, orgId, { memberId }, 'session_ended', now))];
}

export interface BulkEnd {
  readonly orgId: string;
  /** Id of the calling session, which stays open. */
  readonly exceptId: string | undefined;
  readonly now: Date;
}

/**
 * Ends sessions of an org that were opened without its identity provider, and returns their number. Sessions that operators opened
 * by a link stay open.
 */
export async function endUnfederated(tx: Transaction, { orgId, exceptId, now }: BulkEnd): Promise<number> {
  const ended = await tx.query(
    `UPDATE sessions SET ended_at = $2
      WHERE tenant_id = $1 AND ended_at IS NULL AND method IN ('key', 'invitation') AND id IS DISTINCT FROM $3
      RETURNING 1 AS one`,
    [orgId, now, exceptId ?? null],
  );
  return ended.length;
}

/** The identity provider whose sessions stay open; undefined if none stay open. */
export interface FederatedBy {
  readonly kind: string;
  readonly issuer: string;
}

/** Ends sessions of an org that were opened through an identity provider other than `provider`, and returns their number. */
export async function endFederated(
  tx: Transaction,
  { orgId, exceptId, now }: BulkEnd,
  provider: FederatedBy | undefined,
): Promise<number> {
  const ended = await tx.query(
    `UPDATE sessions s SET ended_at = $2
      WHERE tenant_id = $1 AND ended_at IS NULL AND method IN ('oidc', 'saml') AND id IS DISTINCT FROM $3
        AND (method IS DISTINCT FROM $4 OR EXISTS (
              SELECT 1 FROM members m
               WHERE m.org_id = s.tenant_id AND m.id = s.member_id AND m.issuer IS DISTINCT FROM $5))
      RETURNING 1 AS one`,
    [orgId, now, exceptId ?? null, provider?.kind ?? null, provider?.issuer ?? null],
  );
  return ended.length;
}
