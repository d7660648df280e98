/** Who looks at a page of the console, or the way to the sign-in page. */
import {
  type CallerSession,
  type Credential,
  checkCredentialActive,
  checkResidency,
} from '../../../platform/http/routes/access.ts';
import { type PageAnswer, redirectTo, type Visit } from '../../../platform/http/routes/page.ts';
import { signInPath } from './return-path.ts';
import type { Sessions } from './sessions.ts';

/** Somebody who is signed in. `credential.org` is null for an operator. */
export interface Visitor {
  readonly credential: Credential;
  readonly session: CallerSession;
}

/**
 * Refuses, as a throw, whoever is signed in and may not be here now: from this address, or in this org. That forms come
 * from our own pages is seen to before a page is asked.
 */
export async function visitorOf(
  sessions: Sessions,
  { headers, now, address, url, method }: Pick<Visit, 'headers' | 'now' | 'address' | 'url' | 'method'>,
): Promise<Visitor | PageAnswer> {
  const found = await sessions.find(headers.cookie, now);
  if (found.kind !== 'live' || found.credential.session === undefined) {
    const forget = found.kind === 'none' ? {} : { 'set-cookie': sessions.clearCookie() };
    // What was posted is lost, so there is no use in coming back to where it was posted to.
    return redirectTo(signInPath(method === 'POST' ? '' : url), forget);
  }
  checkCredentialActive(found.credential, address, now);
  checkResidency(found.credential.org);
  return { credential: found.credential, session: found.credential.session };
}

export function isVisitor(found: Visitor | PageAnswer): found is Visitor {
  return 'credential' in found;
}
