/** Resolves the visitor of a console page, or redirects to the sign-in page. */
import {
  type CallerSession,
  type Credential,
  checkCredentialActive,
  checkResidency,
} from '../../../platform/http/routes/access.ts';
import { type PageAnswer, redirectTo, type Visit } from '../../../platform/http/routes/page.ts';
import { signInPath } from './return-path.ts';
import type { Sessions } from './sessions.ts';

/** A signed-in visitor. `credential.org` is null for an operator who has not entered an org. */
export interface Visitor {
  readonly credential: Credential;
  readonly session: CallerSession;
}

/**
 * Returns the visitor, or a redirect to the sign-in page. Throws if the visitor is signed in but not allowed from this address or
 * in this org. The origin of form posts is checked earlier.
 */
export async function visitorOf(
  sessions: Sessions,
  { headers, now, address, url, method }: Pick<Visit, 'headers' | 'now' | 'address' | 'url' | 'method'>,
): Promise<Visitor | PageAnswer> {
  const found = await sessions.find(headers.cookie, now);
  if (found.kind !== 'live' || found.credential.session === undefined) {
    const forget = found.kind === 'none' ? {} : { 'set-cookie': sessions.clearCookie() };
    // Does not return to the target of a form, because its data is lost.
    return redirectTo(signInPath(method === 'POST' ? '' : url), forget);
  }
  checkCredentialActive(found.credential, address, now);
  checkResidency(found.credential.org);
  return { credential: found.credential, session: found.credential.session };
}

export function isVisitor(found: Visitor | PageAnswer): found is Visitor {
  return 'credential' in found;
}
