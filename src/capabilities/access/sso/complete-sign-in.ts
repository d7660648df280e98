/** Completes a sign-in of a verified person: finds the member and opens the session, after a confirmation if one is needed. */
import { ApiError } from '../../../contract/api-error.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { escapeHtml } from '../../../platform/http/html/html.ts';
import { type PageAnswer, redirectTo, type Visit } from '../../../platform/http/routes/page.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { findMemberOf, type Identity, recognizeMember } from '../members/index.ts';
import { findOrg } from '../orgs/index.ts';
import { endMemberSessions, openSession, type Sessions, signInAnswer } from '../sessions/index.ts';
import { type Person, rulesFor } from './person.ts';
import { type AttemptRow, deleteTickets, type SsoConnectionRow } from './queries.ts';
import type { SsoKind } from './schema.ts';
import { connectionOf, lockConnection } from './sign-in-connection.ts';
import { type FailureDependencies, recordFailedSignIn } from './sign-in-failures.ts';
import type { RecognizedPerson, SignIns } from './sign-ins.ts';

export interface CompletionDependencies extends Appending, FailureDependencies {
  readonly db: Database;
  readonly sessions: Sessions;
  readonly signIns: SignIns;
}

/** Completes an OIDC sign-in. */
export async function signInPerson(
  deps: CompletionDependencies,
  visit: Visit,
  attempt: AttemptRow,
  connection: SsoConnectionRow,
  person: Person,
): Promise<PageAnswer> {
  if (await isSignedInElsewhere(deps, visit, attempt)) {
    const memberId = await recognize(deps, visit, connection, person, async (_, id) => id);
    return confirmation(deps, visit, attempt, { memberId });
  }
  return recognize(deps, visit, connection, person, (tx, memberId) =>
    open(tx, deps, visit, 'oidc', attempt, { memberId }),
  );
}

/** Finishes the sign-in of a ticket. `isWanted` is true if the person pressed the button on the page of `confirmation`. */
export async function finishTicket(
  deps: CompletionDependencies,
  visit: Visit,
  ticket: string,
  isWanted: boolean,
): Promise<PageAnswer> {
  const { db, signIns } = deps;
  const attempt = await signIns.take(ticket, 'ticket', visit.now);
  return recordFailedSignIn(deps, attempt.org_id, visit, async () => {
    signIns.checkBrowser(visit, attempt);
    const person = signIns.personOf(attempt);
    if (!isWanted && (await isSignedInElsewhere(deps, visit, attempt))) {
      return confirmation(deps, visit, attempt, person);
    }
    const connection = await connectionOf(db, attempt);
    return db.transaction(async (tx) => {
      const { kind } = await lockConnection(tx, connection);
      return open(tx, deps, visit, kind, attempt, person);
    });
  });
}

async function isSignedInElsewhere(
  { sessions }: CompletionDependencies,
  { headers, now }: Visit,
  { org_id }: AttemptRow,
): Promise<boolean> {
  const found = await sessions.find(headers.cookie, now);
  return found.kind === 'live' && found.credential.org?.id !== org_id;
}

/**
 * Returns a page that asks for confirmation before a session of another org is replaced. Otherwise a link could start a sign-in
 * that the provider of its org completes without any visible step.
 */
async function confirmation(
  { db, signIns }: CompletionDependencies,
  visit: Visit,
  attempt: AttemptRow,
  person: RecognizedPerson,
): Promise<PageAnswer> {
  const name = escapeHtml((await findOrg(db, attempt.org_id))?.name ?? '');
  const ticket = await signIns.makeTicket(attempt, person, visit.now);
  return signInAnswer(visit, {
    title: 'Switch organization?',
    main: `<p>You are signing in to <strong>${name}</strong>. This ends your current session in this browser.</p>
<form method="post" action="/sso/callback"><input type="hidden" name="ticket" value="${ticket}"><button>Sign in to ${name}</button></form>
<p class="soft">If you did not start this, <a href="/console">return to the console</a>.</p>`,
  });
}

/**
 * Finds or creates the member for the person and runs `work` in the same transaction. If the person may no longer sign in, rejects
 * the sign-in and ends the member's sessions.
 */
export async function recognize<Result>(
  deps: CompletionDependencies,
  visit: Visit,
  before: SsoConnectionRow,
  person: Person,
  work: (tx: Transaction, memberId: string) => Promise<Result>,
): Promise<Result> {
  const { now, address, traceId } = visit;
  const identity = { ...person, orgId: before.org_id };
  const outcome = await deps.db.transaction(async (tx) => {
    const rules = rulesFor(person, await lockConnection(tx, before));
    if (rules instanceof ApiError) {
      await endAccess(tx, deps, visit, identity);
      return rules;
    }
    const { member, changes } = await recognizeMember(tx, deps.ids, now, identity, rules);
    for (const change of changes) {
      const actor = { kind: 'member', id: member.id, at: now, address, traceId } as const;
      await recordChange(tx, deps, actor, 'members.sign_in', change);
    }
    return { result: await work(tx, member.id) };
  });
  if (outcome instanceof ApiError) {
    throw outcome;
  }
  return outcome.result;
}

/** Ends the sessions of a person, and deletes sign-ins that are about to open one. */
async function endAccess(
  tx: Transaction,
  deps: CompletionDependencies,
  { now, address, traceId }: Visit,
  identity: Identity,
): Promise<void> {
  const member = await findMemberOf(tx, identity);
  if (member === undefined) {
    return;
  }
  await deleteTickets(tx, identity.orgId, member.id);
  for (const change of await endMemberSessions(tx, deps.sessions, identity.orgId, member.id, now)) {
    const actor = { kind: 'service', id: 'sso', at: now, address, traceId } as const;
    await recordChange(tx, deps, actor, 'sessions.revoke', change);
  }
}

/**
 * Opens the session and redirects to the requested page. The cookie of the sign-in is left to expire, because another tab may be
 * signing in with it.
 */
async function open(
  tx: Transaction,
  deps: CompletionDependencies,
  visit: Visit,
  method: SsoKind,
  { org_id: tenantId, return_to }: AttemptRow,
  { memberId, sessionEndsAt: endsAt }: RecognizedPerson,
): Promise<PageAnswer> {
  const { now, address } = visit;
  const userAgent = visit.headers['user-agent'];
  const opening = { tenantId, method, holder: { memberId }, endsAt, address, userAgent, now };
  const { cookie } = await openSession(tx, deps, opening, visit);
  return redirectTo(return_to, { 'set-cookie': cookie });
}
