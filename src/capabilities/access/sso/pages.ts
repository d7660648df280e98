/** Sign-in pages for identity providers. All responses but the SAML metadata are pages for people. */
import { hash } from 'node:crypto';
import { ApiError, apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { escapeHtml } from '../../../platform/http/html/html.ts';
import { AuthBackoff } from '../../../platform/http/pipeline/auth-backoff.ts';
import { type Page, type PageAnswer, redirectTo, type Visit } from '../../../platform/http/routes/page.ts';
import type { Log } from '../../../platform/log.ts';
import type { OutboundFetch } from '../../../platform/outbound/fetch.ts';
import { SamlThread } from '../../../platform/saml/saml-thread.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { type Appending, type Attempts, recordChange } from '../../compliance/audit/index.ts';
import { findMemberOf, type Identity, recognizeMember } from '../members/index.ts';
import { findOrg } from '../orgs/index.ts';
import {
  endMemberSessions,
  openSession,
  refusedSignIn,
  returnPath,
  type Sessions,
  showRefusal,
  signInAnswer,
} from '../sessions/index.ts';
import { type Assertion, checkResponseText, claimedRequestId } from './assertion.ts';
import { type ServiceUrls, serviceUrls } from './connection.ts';
import { createOidc, type OidcProof } from './oidc.ts';
import { type Person, rulesFor } from './person.ts';
import { type AttemptRow, type ConnectionRow, deleteTickets, useAssertion } from './queries.ts';
import { authorizeUrl, personOf, serviceMetadata, verifyResponse } from './saml.ts';
import type { SsoKind } from './schema.ts';
import { connectionOf, lockConnection, requireConnection } from './sign-in-connection.ts';
import { createSignInTests, isTestToken } from './sign-in-tests.ts';
import { createSignIns, type RecognizedPerson } from './sign-ins.ts';
import { causeOf, createTestPages } from './test-pages.ts';

/** Maximum size of the posted form: a response of 64 KiB, in base64 and percent-encoded. */
const assertionFormBytes = 131_072;

/** Maximum number of sign-ins started per client address; the people of a whole company may share one address. */
const begunPerMinuteMax = 300;

const tooManyFailed = 'Too many failed sign-ins from your address. Try again in a minute.';

export interface SsoPageDependencies extends Appending {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly sessions: Sessions;
  readonly backoff: AuthBackoff;
  /** Maximum number of invalid SAML responses per minute and client address. */
  readonly backoffAttempts: number;
  readonly attempts: Pick<Attempts, 'note'>;
  readonly fetch: OutboundFetch;
  readonly allowPrivateNetworks: boolean;
  /** Maximum time to verify a SAML response. Undefined: the default of the thread. */
  readonly samlAnswerMsMax: number | undefined;
  baseUrl(): string;
}

export function ssoPages(deps: SsoPageDependencies): Page[] {
  const { db, ids, heads, log, sessions, backoff, attempts, baseUrl } = deps;
  const oidc = createOidc(deps);
  const signIns = createSignIns(deps);
  const samlThread = new SamlThread(deps.samlAnswerMsMax);
  const testPages = createTestPages({ ...deps, oidc, samlThread, tests: createSignInTests(deps) });
  // Every started sign-in counts like a failed one: the person is not known yet, and each start stores a row.
  const begun = new AuthBackoff(begunPerMinuteMax, deps.clock);
  // Apart from `backoff`, because it also rejects valid responses: wrong API keys from an office must not keep its people
  // from signing in.
  const invalidResponses = new AuthBackoff(deps.backoffAttempts, deps.clock);

  function limitStarts(visit: Visit): void {
    const seconds = begun.failed(visit.address);
    if (seconds !== undefined) {
      throw rateLimited(seconds, 'Too many sign-ins from your address. Try again later.');
    }
  }

  async function login(visit: Visit, kind: SsoKind): Promise<PageAnswer> {
    limitStarts(visit);
    const { org, connection } = await requireConnection(db, visit.params.org_slug);
    const return_to = returnPath(visit.query.get('return_to'));
    const urls = serviceUrls(baseUrl(), org.slug, connection.kind);
    if (connection.kind !== kind) {
      return redirectTo(`${urls.loginUrl}?return_to=${encodeURIComponent(return_to)}`);
    }
    const attempt = { org_id: org.id, issuer: connection.issuer, return_to, kind };
    const token = signIns.newToken(kind);
    if (kind === 'saml') {
      const cookie = await signIns.begin(visit, { ...attempt, token });
      return redirectTo(await authorizeUrl(connection, urls, token), { 'set-cookie': cookie });
    }
    const { url, proof } = await reaching(() => oidc.begin(connection, token, urls), visit);
    const cookie = await signIns.begin(visit, { ...attempt, token, proof });
    return redirectTo(url.href, { 'set-cookie': cookie });
  }

  async function callback(visit: Visit): Promise<PageAnswer> {
    const ticket = visit.query.get('ticket');
    return ticket === null ? finishOidc(visit) : finishTicket(visit, ticket, false);
  }

  /** Completes only sign-ins of the org in the URL; `checkWhoAnswers` in `oidc.ts` gives the reason. */
  async function orgCallback(visit: Visit): Promise<PageAnswer> {
    const state = visit.query.get('state') ?? '';
    if (isTestToken(state, 'oidc')) {
      return testPages.finishOidc(visit, state, visit.params.org_slug ?? '');
    }
    const { org } = await requireConnection(db, visit.params.org_slug);
    return finishOidc(visit, org.id);
  }

  async function finishOidc(visit: Visit, orgId?: string): Promise<PageAnswer> {
    const state = visit.query.get('state') ?? '';
    if (isTestToken(state, 'oidc')) {
      return testPages.finishOidc(visit, state);
    }
    const attempt = await signIns.take(state, 'oidc', visit.now, orgId);
    return refusing(attempt.org_id, visit, async () => {
      signIns.checkBrowser(visit, attempt);
      const connection = await connectionOf(db, attempt);
      const currentUrl = new URL(`${baseUrl()}${visit.url}`);
      const proof = signIns.proofOf<OidcProof>(attempt);
      const { person } = await believing(() => oidc.finish(connection, currentUrl, state, proof), visit);
      if (await isSignedInElsewhere(visit, attempt)) {
        const memberId = await recognize(visit, connection, person, async (_, id) => id);
        return confirmation(visit, attempt, { memberId });
      }
      const cookie = await recognize(visit, connection, person, (tx, memberId) =>
        open(tx, visit, 'oidc', attempt.org_id, { memberId }),
      );
      return arrived(attempt, cookie);
    });
  }

  async function assertionPosted(visit: Visit): Promise<PageAnswer> {
    const response = (await visit.form()).get('SAMLResponse') ?? '';
    const claimedId = claimedRequestId(response);
    if (claimedId !== undefined && isTestToken(claimedId, 'saml')) {
      return testPages.finishSaml(visit, claimedId, response);
    }
    const { org, connection } = await requireConnection(db, visit.params.org_slug);
    if (connection.kind !== 'saml') {
      throw apiError('not_found', 'Single sign-on is not available at this address.');
    }
    // Before the response is verified, because that is expensive.
    const seconds = invalidResponses.secondsToWait(visit.address);
    if (seconds !== undefined) {
      throw rateLimited(seconds, tooManyFailed);
    }
    return refusing(org.id, visit, async () => {
      const urls = serviceUrls(baseUrl(), org.slug, 'saml');
      const requestId = checkResponseText(response, urls.acsUrl);
      // Consumes the attempt before the expensive verification, so that each started sign-in allows only one response.
      const attempt = await signIns.take(requestId, 'saml', visit.now, org.id);
      const assertion = await believing(() => verify(visit, connection, urls, response), visit);
      const digest = hash('sha256', `${connection.issuer} ${assertion.id}`);
      const isNew = await useAssertion(db, org.id, digest, assertion.notOnOrAfter);
      if (assertion.requestId !== requestId || attempt.issuer !== connection.issuer || !isNew) {
        throw apiError(
          'forbidden',
          'This sign-in has already been used, or belongs to another organization. Start again.',
        );
      }
      const person = personOf(connection, assertion);
      const memberId = await recognize(visit, connection, person, async (_, id) => id);
      const { sessionMsMax } = assertion;
      const sessionEndsAt =
        sessionMsMax === undefined ? undefined : new Date(visit.now.getTime() + sessionMsMax);
      const ticket = await signIns.makeTicket(attempt, { memberId, sessionEndsAt }, visit.now);
      // The browser does not send the cookie with a form posted from another site, but sends it with the redirect.
      return redirectTo(`/sso/callback?ticket=${ticket}`);
    });
  }

  /** Verifies a SAML response, and counts invalid ones per client address. */
  async function verify({ address }: Visit, ...of: [ConnectionRow, ServiceUrls, string]): Promise<Assertion> {
    try {
      return await verifyResponse(samlThread, ...of);
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'service_unavailable')) {
        invalidResponses.failed(address);
      }
      throw error;
    }
  }

  /** `isWanted`: the person pressed the button on the page of `confirmation`. */
  async function finishTicket(visit: Visit, ticket: string, isWanted: boolean): Promise<PageAnswer> {
    const attempt = await signIns.take(ticket, 'ticket', visit.now);
    return refusing(attempt.org_id, visit, async () => {
      signIns.checkBrowser(visit, attempt);
      const person = signIns.personOf(attempt);
      if (!isWanted && (await isSignedInElsewhere(visit, attempt))) {
        return confirmation(visit, attempt, person);
      }
      const connection = await connectionOf(db, attempt);
      const cookie = await db.transaction(async (tx) => {
        const { kind } = await lockConnection(tx, connection);
        return open(tx, visit, kind, attempt.org_id, person);
      });
      return arrived(attempt, cookie);
    });
  }

  async function isSignedInElsewhere({ headers, now }: Visit, { org_id }: AttemptRow): Promise<boolean> {
    const found = await sessions.find(headers.cookie, now);
    return found.kind === 'live' && found.credential.org?.id !== org_id;
  }

  /**
   * Asks for confirmation before a session of another org is replaced: a link can start a sign-in, and the provider of
   * its org can complete it without any visible step.
   */
  async function confirmation(
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
   * Finds or creates the member for the person and runs `work` in the same transaction. If the person may no longer
   * sign in, rejects the sign-in and ends the existing sessions of the member.
   */
  async function recognize<Result>(
    visit: Visit,
    before: ConnectionRow,
    person: Person,
    work: (tx: Transaction, memberId: string) => Promise<Result>,
  ): Promise<Result> {
    const { now, address, traceId } = visit;
    const identity = { ...person, orgId: before.org_id };
    const outcome = await db.transaction(async (tx) => {
      const rules = rulesFor(person, await lockConnection(tx, before));
      if (rules instanceof ApiError) {
        await endStay(tx, visit, identity);
        return rules;
      }
      const { member, changes } = await recognizeMember(tx, ids, now, identity, rules);
      for (const change of changes) {
        const actor = { kind: 'member', id: member.id, at: now, address, traceId } as const;
        await recordChange(tx, { ids, heads }, actor, 'members.sign_in', change);
      }
      return { result: await work(tx, member.id) };
    });
    if (outcome instanceof ApiError) {
      throw outcome;
    }
    return outcome.result;
  }

  /** Ends the sessions of a person and deletes sign-ins that are about to open one. */
  async function endStay(
    tx: Transaction,
    { now, address, traceId }: Visit,
    identity: Identity,
  ): Promise<void> {
    const member = await findMemberOf(tx, identity);
    if (member === undefined) {
      return;
    }
    await deleteTickets(tx, identity.orgId, member.id);
    for (const change of await endMemberSessions(tx, sessions, identity.orgId, member.id, now)) {
      const actor = { kind: 'service', id: 'sso', at: now, address, traceId } as const;
      await recordChange(tx, { ids, heads }, actor, 'sessions.revoke', change);
    }
  }

  async function open(
    tx: Transaction,
    visit: Visit,
    method: SsoKind,
    tenantId: string,
    { memberId, sessionEndsAt }: RecognizedPerson,
  ) {
    const { now, address, headers } = visit;
    const opening = {
      tenantId,
      method,
      holder: { memberId },
      endsAt: sessionEndsAt,
      address,
      userAgent: headers['user-agent'],
      now,
    };
    return (await openSession(tx, { ids, heads, sessions }, opening, visit)).cookie;
  }

  /** Leaves the cookie of the sign-in to expire: another tab of the browser may be signing in with it. */
  function arrived({ return_to }: AttemptRow, cookie: string): PageAnswer {
    return redirectTo(return_to, { 'set-cookie': cookie });
  }

  /** Runs `work`, which calls the provider. Every error is reported as a failure of the provider. */
  async function reaching<Result>(work: () => Promise<Result>, { traceId }: Visit): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      log.warn({ traceId, reason: causeOf(error) }, 'identity provider cannot be reached');
      throw apiError(
        'service_unavailable',
        'The identity provider of the organization does not respond correctly. Try again later.',
      );
    }
  }

  /**
   * Runs `work`, which verifies the provider's response. Errors are logged, and only an `ApiError` is shown: the
   * response may be an attack, and library errors expose internals.
   */
  async function believing<Result>(work: () => Promise<Result>, { traceId }: Visit): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      log.info({ traceId, reason: causeOf(error) }, 'sign-in response rejected');
      throw error instanceof ApiError
        ? error
        : apiError('forbidden', 'The response of the identity provider is invalid. Start again.');
    }
  }

  /** Runs `work`. Records a failed sign-in in the org's audit log, and limits the failures per client address. */
  async function refusing(orgId: string, visit: Visit, work: () => Promise<PageAnswer>): Promise<PageAnswer> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ApiError)) {
        throw error;
      }
      attempts.note(refusedSignIn(orgId, { kind: 'service', id: 'sso' }, error, visit));
      const seconds = backoff.failed(visit.address);
      throw seconds === undefined ? error : rateLimited(seconds, tooManyFailed);
    }
  }

  return [
    {
      // Longer than the paths of sign-ins, because `tests` may be the slug of an org.
      path: '/sso/tests/{token}/start',
      async handler(visit) {
        limitStarts(visit);
        return testPages.start(visit);
      },
      refused: showRefusal,
    },
    { path: '/sso/{org_slug}/login', handler: (visit) => login(visit, 'oidc'), refused: showRefusal },
    { path: '/sso/callback', handler: callback, refused: showRefusal },
    {
      method: 'POST',
      path: '/sso/callback',
      handler: async (visit) => finishTicket(visit, (await visit.form()).get('ticket') ?? '', true),
      refused: showRefusal,
    },
    { path: '/sso/{org_slug}/callback', handler: orgCallback, refused: showRefusal },
    { path: '/saml/{org_slug}/login', handler: (visit) => login(visit, 'saml'), refused: showRefusal },
    {
      method: 'POST',
      path: '/saml/{org_slug}/acs',
      acceptsCrossSiteForms: true,
      formLimitBytes: assertionFormBytes,
      handler: assertionPosted,
      refused: showRefusal,
    },
    {
      // The response depends only on the slug: it is available before SSO is configured, and does not reveal which
      // orgs exist.
      path: '/saml/{org_slug}/metadata',
      async handler({ params }) {
        const urls = serviceUrls(baseUrl(), encodeURIComponent(params.org_slug ?? ''), 'saml');
        return {
          status: 200,
          contentType: 'application/samlmetadata+xml; charset=utf-8',
          body: await serviceMetadata(urls),
        };
      },
      refused: showRefusal,
    },
  ];
}

function rateLimited(seconds: number, message: string): ApiError {
  return apiErrorWithDetails('rate_limited', { retry_after_seconds: seconds }, message);
}
