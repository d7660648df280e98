/**
 * Handles the responses of identity providers, which the browser delivers: the OIDC callback, and the SAML response that is posted
 * to the ACS.
 */
import { hash } from 'node:crypto';
import { ApiError, apiError } from '../../../contract/api-error.ts';
import type { AuthBackoff } from '../../../platform/http/pipeline/auth-backoff.ts';
import { type PageAnswer, redirectTo, type Visit } from '../../../platform/http/routes/page.ts';
import type { SamlThread } from '../../../platform/saml/saml-thread.ts';
import { checkResponseText, claimedRequestId } from './assertion.ts';
import { type CompletionDependencies, recognize, signInPerson } from './complete-sign-in.ts';
import { serviceUrls } from './connection.ts';
import type { Oidc, OidcProof } from './oidc.ts';
import { useAssertion } from './queries.ts';
import { personOf, verifyResponse } from './saml.ts';
import { connectionOf, requireConnection } from './sign-in-connection.ts';
import {
  hideVerificationErrors,
  rateLimited,
  recordFailedSignIn,
  tooManyFailed,
} from './sign-in-failures.ts';
import { isTestToken } from './sign-in-tests.ts';
import type { TestPages } from './test-pages.ts';

export interface CallbackDependencies extends CompletionDependencies {
  readonly oidc: Oidc;
  readonly samlThread: SamlThread;
  /** Counts invalid SAML responses per client address. */
  readonly invalidResponses: AuthBackoff;
  readonly testPages: TestPages;
  baseUrl(): string;
}

/** Finishes an OIDC sign-in. With an org in the URL, it must be a sign-in of that org; `checkWhoAnswers` in `oidc.ts` gives the reason. */
export async function finishOidc(deps: CallbackDependencies, visit: Visit): Promise<PageAnswer> {
  const { db, signIns, oidc, testPages, baseUrl } = deps;
  const { org_slug: slug } = visit.params;
  const state = visit.query.get('state') ?? '';
  if (isTestToken(state, 'oidc')) {
    return testPages.finishOidc(visit, state, slug);
  }
  const orgId = slug === undefined ? undefined : (await requireConnection(db, slug)).org.id;
  const attempt = await signIns.take(state, 'oidc', visit.now, orgId);
  return recordFailedSignIn(deps, attempt.org_id, visit, async () => {
    signIns.checkBrowser(visit, attempt);
    const connection = await connectionOf(db, attempt);
    const currentUrl = new URL(`${baseUrl()}${visit.url}`);
    const proof = signIns.proofOf<OidcProof>(attempt);
    const { person } = await hideVerificationErrors(deps, visit, () =>
      oidc.finish(connection, currentUrl, state, proof),
    );
    return signInPerson(deps, visit, attempt, connection, person);
  });
}

export async function finishSaml(deps: CallbackDependencies, visit: Visit): Promise<PageAnswer> {
  const { db, signIns, samlThread, testPages, invalidResponses, baseUrl } = deps;
  const response = (await visit.form()).get('SAMLResponse') ?? '';
  const claimedId = claimedRequestId(response);
  if (claimedId !== undefined && isTestToken(claimedId, 'saml')) {
    return testPages.finishSaml(visit, claimedId, response);
  }
  const { org, connection } = await requireConnection(db, visit.params.org_slug);
  if (connection.kind !== 'saml') {
    throw apiError('not_found', 'Single sign-on is not available at this address.');
  }
  // Checked before the response is verified, because verification is expensive.
  const seconds = invalidResponses.secondsToWait(visit.address);
  if (seconds !== undefined) {
    throw rateLimited(seconds, tooManyFailed);
  }
  return recordFailedSignIn(deps, org.id, visit, async () => {
    const urls = serviceUrls(baseUrl(), org.slug, 'saml');
    const requestId = checkResponseText(response, urls.acsUrl);
    // Consumes the attempt before the expensive verification, so that each started sign-in allows only one response.
    const attempt = await signIns.take(requestId, 'saml', visit.now, org.id);
    const assertion = await hideVerificationErrors(deps, visit, () =>
      verifyResponse(samlThread, connection, urls, response).catch((error) => {
        if (!(error instanceof ApiError && error.code === 'service_unavailable')) {
          invalidResponses.failed(visit.address);
        }
        throw error;
      }),
    );
    const digest = hash('sha256', `${connection.issuer} ${assertion.id}`);
    const isNew = await useAssertion(db, org.id, digest, assertion.notOnOrAfter);
    if (assertion.requestId !== requestId || attempt.issuer !== connection.issuer || !isNew) {
      throw apiError(
        'forbidden',
        'This sign-in has already been used, or belongs to another organization. Start again.',
      );
    }
    const person = personOf(connection, assertion);
    const memberId = await recognize(deps, visit, connection, person, async (_, id) => id);
    const { sessionMsMax } = assertion;
    const sessionEndsAt =
      sessionMsMax === undefined ? undefined : new Date(visit.now.getTime() + sessionMsMax);
    const ticket = await signIns.makeTicket(attempt, { memberId, sessionEndsAt }, visit.now);
    // Redirects, because the browser does not send the cookie with a form from another site, but sends it with the redirect.
    return redirectTo(`/sso/callback?ticket=${ticket}`);
  });
}
