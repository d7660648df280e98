/** Ends tool sign-ins: with their member, with the session that approved them, or when the sign-in rules of the org change. */
import { found } from '../../../contract/api-error.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { type Caller, outranks } from '../../../platform/http/routes/access.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import { type EndedTogether, lockSignIn, lockSignIns } from './queries.ts';
import type { EndReason } from './schema.ts';
import { endSignIn, signInStatus } from './sign-ins.ts';

/** Returns the only member whose sign-ins the caller may see; undefined for admins, who may see all. */
export function ownOnly(caller: Caller): string | undefined {
  return outranks('admin', caller.role) ? caller.keyId : undefined;
}

/** Ends a sign-in. Has no effect on an ended one, so it can be repeated. */
export async function revokeSignIn(
  tx: Transaction,
  now: Date,
  caller: Caller,
  signInId: string,
): Promise<Change[]> {
  const own = ownOnly(caller);
  const locked = await lockSignIn(tx, caller.tenantId, signInId);
  const signIn = found(own === undefined || locked?.member_id === own ? locked : undefined);
  return signInStatus(signIn, now) === 'active' ? [await endSignIn(tx, signIn, 'ended', now)] : [];
}

/** Ends all of these sign-ins of an org. */
export async function endSignIns(
  tx: Transaction,
  orgId: string,
  which: EndedTogether,
  reason: EndReason,
  now: Date,
): Promise<Change[]> {
  const changes: Change[] = [];
  for (const signIn of await lockSignIns(tx, orgId, which)) {
    changes.push(await endSignIn(tx, signIn, reason, now));
  }
  return changes;
}
