/** Sign-in pages for identity providers. All responses except the SAML metadata are pages for people. */
import { apiError } from '../../../contract/api-error.ts';
import { AuthBackoff } from '../../../platform/http/pipeline/auth-backoff.ts';
import { type Page, type PageAnswer, redirectTo, type Visit } from '../../../platform/http/routes/page.ts';
import { SamlThread } from '../../../platform/saml/saml-thread.ts';
import { returnPath, showRefusal } from '../sessions/index.ts';
import { type CallbackDependencies, finishOidc, finishSaml } from './callbacks.ts';
import { type CompletionDependencies, finishTicket } from './complete-sign-in.ts';
import { serviceUrls } from './connection.ts';
import { createOidc, type OidcDependencies } from './oidc.ts';
import { authorizeUrl, serviceMetadata } from './saml.ts';
import type { SsoKind } from './schema.ts';
import { requireConnection } from './sign-in-connection.ts';
import { causeOf, rateLimited } from './sign-in-failures.ts';
import { createSignInTests } from './sign-in-tests.ts';
import { createSignIns, type SignInsDependencies } from './sign-ins.ts';
import { createTestPages } from './test-pages.ts';

/** Maximum size of the posted form: a response of 64 KiB in base64, percent-encoded. */
const assertionFormBytes = 131_072;

/** Maximum number of started sign-ins per minute and client address. The people of a whole company may share one address. */
const begunPerMinuteMax = 300;

export interface SsoPageDependencies
  extends Omit<CompletionDependencies, 'signIns'>,
    OidcDependencies,
    SignInsDependencies {
  /** Maximum number of invalid SAML responses per minute and client address. */
  readonly backoffAttempts: number;
  /** Maximum time to verify a SAML response; undefined: the default of the thread. */
  readonly samlAnswerMsMax: number | undefined;
}

export function ssoPages(deps: SsoPageDependencies): Page[] {
  const { db, clock, log, baseUrl } = deps;
  const oidc = createOidc(deps);
  const signIns = createSignIns(deps);
  const samlThread = new SamlThread(deps.samlAnswerMsMax);
  const testPages = createTestPages({ ...deps, oidc, samlThread, tests: createSignInTests(deps) });
  // Counts every started sign-in like a failed one, because the person is not known yet and each start stores a row.
  const begun = new AuthBackoff(begunPerMinuteMax, clock);
  // Separate from `backoff`, because it also rejects valid responses: wrong API keys from an office must not keep its people from
  // signing in.
  const invalidResponses = new AuthBackoff(deps.backoffAttempts, clock);
  const parts: CallbackDependencies = { ...deps, oidc, signIns, samlThread, testPages, invalidResponses };

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
    const { url, proof } = await oidc.begin(connection, token, urls).catch((error) => {
      log.warn({ traceId: visit.traceId, reason: causeOf(error) }, 'identity provider cannot be reached');
      throw apiError(
        'service_unavailable',
        'The identity provider of the organization does not respond correctly. Try again later.',
      );
    });
    const cookie = await signIns.begin(visit, { ...attempt, token, proof });
    return redirectTo(url.href, { 'set-cookie': cookie });
  }

  async function callback(visit: Visit): Promise<PageAnswer> {
    const ticket = visit.query.get('ticket');
    return ticket === null ? finishOidc(parts, visit) : finishTicket(parts, visit, ticket, false);
  }

  const pages: Page[] = [
    {
      // Has more segments than the paths of sign-ins, because `tests` may be the slug of an org.
      path: '/sso/tests/{token}/start',
      async handler(visit) {
        limitStarts(visit);
        return testPages.start(visit);
      },
    },
    { path: '/sso/{org_slug}/login', handler: (visit) => login(visit, 'oidc') },
    { path: '/sso/callback', handler: callback },
    {
      method: 'POST',
      path: '/sso/callback',
      handler: async (visit) => finishTicket(parts, visit, (await visit.form()).get('ticket') ?? '', true),
    },
    { path: '/sso/{org_slug}/callback', handler: (visit) => finishOidc(parts, visit) },
    { path: '/saml/{org_slug}/login', handler: (visit) => login(visit, 'saml') },
    {
      method: 'POST',
      path: '/saml/{org_slug}/acs',
      acceptsCrossSiteForms: true,
      formLimitBytes: assertionFormBytes,
      handler: (visit) => finishSaml(parts, visit),
    },
    {
      // The response only depends on the slug. So it is available before SSO is configured, and does not reveal which orgs exist.
      path: '/saml/{org_slug}/metadata',
      async handler({ params }) {
        const urls = serviceUrls(baseUrl(), encodeURIComponent(params.org_slug ?? ''), 'saml');
        return {
          status: 200,
          contentType: 'application/samlmetadata+xml; charset=utf-8',
          body: await serviceMetadata(urls),
        };
      },
    },
  ];
  return pages.map((page) => ({ ...page, refused: showRefusal }));
}
