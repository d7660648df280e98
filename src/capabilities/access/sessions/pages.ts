/** Sign-in with a key, and sign-out. */
import { ApiError, apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import type { Database, Queryable, Transaction } from '../../../platform/db/database.ts';
import { escapeHtml } from '../../../platform/http/html/html.ts';
import type { AuthBackoff } from '../../../platform/http/pipeline/auth-backoff.ts';
import {
  type Credential,
  checkCredentialActive,
  checkResidency,
  platformTenant,
} from '../../../platform/http/routes/access.ts';
import { type Page, type PageAnswer, redirectTo, type Visit } from '../../../platform/http/routes/page.ts';
import { type Actor, type Appending, type Attempts, recordChange } from '../../compliance/audit/index.ts';
import { lockOrg } from '../orgs/index.ts';
import { end } from './ending.ts';
import { refusedSignIn } from './refused-sign-in.ts';
import { returnPath } from './return-path.ts';
import { actorKindOf, holderOf, type SessionOpening, type Sessions } from './sessions.ts';
import { errorMessage, refusedAnswer, signInAnswer, type ThemedVisit } from './sign-in-frame.ts';

export interface SignInDependencies extends Appending {
  readonly db: Database;
  readonly sessions: Sessions;
  readonly backoff: AuthBackoff;
  readonly attempts: Pick<Attempts, 'note'>;
  findCredential(token: string, address: string): Promise<Credential | undefined>;
  /** Returns true if the org requires SSO. Keys cannot sign in then. */
  requiresSso(db: Queryable, orgId: string): Promise<boolean>;
}

export function signInPages(deps: SignInDependencies): Page[] {
  const { db, ids, heads, sessions, backoff, attempts, findCredential, requiresSso } = deps;

  async function signInWithKey(visit: Visit, form: URLSearchParams): Promise<PageAnswer> {
    const credential = await findCredential((form.get('key') ?? '').trim(), visit.address);
    try {
      if (credential === undefined) {
        throw unknownKey(visit);
      }
      const cookie = await openWith(credential, visit);
      return redirectTo(returnPath(form.get('return_to')), { 'set-cookie': cookie });
    } catch (error) {
      if (error instanceof ApiError) {
        attempts.note(refusedSignIn(tenantOf(credential), actorOf(credential), error, visit));
      }
      throw error;
    }
  }

  function unknownKey({ address }: Visit): ApiError {
    const seconds = backoff.failed(address);
    return seconds === undefined
      ? apiError('unauthorized', 'Unknown key. Check the key and try again.')
      : apiErrorWithDetails(
          'rate_limited',
          { retry_after_seconds: seconds },
          'Too many failed attempts from your address. Try again later.',
        );
  }

  async function openWith(credential: Credential, visit: Visit): Promise<string> {
    const { address, now, headers } = visit;
    checkCredentialActive(credential, address, now);
    checkResidency(credential.org);
    const opening: SessionOpening = {
      tenantId: tenantOf(credential),
      method: 'key',
      holder: { keyId: credential.keyId },
      address,
      userAgent: headers['user-agent'],
      now,
    };
    const { cookie } = await db.transaction(async (tx) => {
      await checkKeysMaySignIn(tx, credential);
      return openSession(tx, { ids, heads, sessions }, opening, visit);
    });
    return cookie;
  }

  /** Checks under the org's lock, because requiring SSO ends every session that was opened before. */
  async function checkKeysMaySignIn(tx: Transaction, { org }: Credential): Promise<void> {
    if (org === null) {
      return;
    }
    await lockOrg(tx, org.id);
    if (await requiresSso(tx, org.id)) {
      throw apiError('forbidden', 'This organization requires single sign-on.');
    }
  }

  async function signOut(visit: Visit): Promise<PageAnswer> {
    await db.transaction((tx) => closeSession(tx, { ids, heads, sessions }, visit));
    return redirectTo('/console/login', { 'set-cookie': sessions.clearCookie() });
  }

  return [
    {
      path: '/console/login',
      async handler(visit) {
        const { query, headers, now } = visit;
        const returnTo = returnPath(query.get('return_to'));
        const found = await sessions.find(headers.cookie, now);
        if (found.kind === 'live') {
          return redirectTo(returnTo);
        }
        const over = found.kind === 'ended' ? 'Your session has ended. Sign in again.' : undefined;
        const forget = found.kind === 'none' ? {} : { 'set-cookie': sessions.clearCookie() };
        return loginForm(visit, { returnTo, problem: over, headers: forget });
      },
      refused: showRefusal,
    },
    {
      method: 'POST',
      path: '/console/login',
      async handler(visit) {
        const form = await visit.form();
        try {
          return await signInWithKey(visit, form);
        } catch (error) {
          if (!(error instanceof ApiError)) {
            throw error;
          }
          return loginForm(visit, { ...problemOf(error), returnTo: returnPath(form.get('return_to')) });
        }
      },
      refused: showRefusal,
    },
    { method: 'POST', path: '/console/logout', handler: signOut, refused: showRefusal },
    { path: '/console/sso', handler: async (visit) => onwardToSso(visit), refused: showRefusal },
  ];
}

function tenantOf(credential: Credential | undefined): string {
  return credential?.org?.id ?? platformTenant;
}

function actorOf(credential: Credential | undefined): Pick<Actor, 'kind' | 'id'> {
  if (credential === undefined) {
    return { kind: 'service', id: 'console' };
  }
  return { kind: credential.role === 'operator' ? 'operator' : 'key', id: credential.keyId };
}

/** Ends the browser's current session. Not called after a failed sign-in. */
async function closeSession(
  tx: Transaction,
  { ids, heads, sessions }: Pick<SignInDependencies, 'ids' | 'heads' | 'sessions'>,
  { headers, now, address, traceId }: Pick<Visit, 'headers' | 'now' | 'address' | 'traceId'>,
): Promise<void> {
  const session = await sessions.lockActive(tx, headers.cookie, now);
  if (session !== undefined) {
    const actor = { kind: actorKindOf(session), id: holderOf(session), at: now, address, traceId };
    await recordChange(tx, { ids, heads }, actor, 'sessions.close', await end(tx, session, now));
  }
}

/**
 * Opens a session in place of the browser's previous one, and records the sign-in. Runs in the transaction that consumes the proof
 * of identity.
 */
export async function openSession(
  tx: Transaction,
  { ids, heads, sessions }: Pick<SignInDependencies, 'ids' | 'heads' | 'sessions'>,
  opening: SessionOpening,
  visit: Pick<Visit, 'headers' | 'now' | 'address' | 'traceId'>,
) {
  const { traceId } = visit;
  await closeSession(tx, { ids, heads, sessions }, visit);
  const opened = await sessions.open(tx, opening);
  const { tenantId, holder, now, address, method } = opening;
  // A session is not opened if it could not be used from this address or at this time.
  checkCredentialActive(opened.credential, address, now);
  checkResidency(opened.credential.org);
  const actor =
    'memberId' in holder
      ? ({ kind: 'member', id: holder.memberId } as const)
      : ({
          kind: tenantId === platformTenant || method === 'link' ? 'operator' : 'key',
          id: holder.keyId,
        } as const);
  await recordChange(tx, { ids, heads }, { ...actor, at: now, address, traceId }, 'sessions.open', {
    tenantId,
    target: { kind: 'session', id: opened.session.id },
    after: { method, address, user_agent: opened.session.user_agent },
  });
  return opened;
}

interface LoginForm {
  readonly status?: number;
  readonly returnTo: string;
  readonly problem: string | undefined;
  readonly headers?: PageAnswer['headers'];
}

function loginForm(visit: Visit, { status = 200, returnTo, problem, headers = {} }: LoginForm): PageAnswer {
  return signInAnswer(visit, {
    status,
    title: 'Sign in',
    headers,
    main: `${errorMessage(problem)}
<form method="post" action="/console/login">
<input type="hidden" name="return_to" value="${escapeHtml(returnTo)}">
<label for="key">API key</label>
<input id="key" name="key" type="password" autocomplete="current-password" required spellcheck="false" aria-describedby="key-help">
<p id="key-help" class="soft">Starts with <code>svc_</code>. The session has the permissions of the key, and ends with it.</p>
<button>Sign in</button>
</form>
<h2>Single sign-on</h2>
<form method="get" action="/console/sso">
<input type="hidden" name="return_to" value="${escapeHtml(returnTo)}">
<label for="org">Organization slug</label>
<input id="org" name="org" required autocomplete="organization" spellcheck="false">
<button>Continue</button>
</form>`,
  });
}

/**
 * Returns a page with a link instead of a redirect: the form-action policy of a page also applies to redirects after its forms, and
 * an identity provider is on another host.
 */
function onwardToSso(visit: Visit): PageAnswer {
  const { query } = visit;
  const slug = encodeURIComponent(query.get('org')?.trim().toLowerCase() ?? '');
  const path = `/sso/${slug}/login?return_to=${encodeURIComponent(returnPath(query.get('return_to')))}`;
  return signInAnswer(visit, {
    title: 'Sign in',
    main: `<p><a href="${escapeHtml(path)}">Continue to single sign-on</a></p>`,
    headers: { refresh: `0; url=${path}` },
  });
}

function problemOf({ code, status, message, details }: ApiError): Omit<LoginForm, 'returnTo'> {
  const seconds = (details as { retry_after_seconds?: number }).retry_after_seconds;
  return {
    // 401 instead of the status of `gone`, which is for API clients. Here the error appears as a failed form.
    status: code === 'gone' ? 401 : status,
    problem: message,
    ...(seconds !== undefined && { headers: { 'retry-after': String(seconds) } }),
  };
}

export function showRefusal({ status, message }: ApiError, seen: ThemedVisit): PageAnswer {
  return refusedAnswer(seen, status, message);
}
