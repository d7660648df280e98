/**
 * Console access for support: an operator presents the token of a support session and sees the org's pages, within the grant and
 * until it ends. The token is kept in an HttpOnly cookie. There is no other session, so ending the support session ends the access.
 */
import { ApiError, apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import { escapeHtml } from '../../../platform/http/html/html.ts';
import { type Cookies, cookiesNamed, readCookie } from '../../../platform/http/message/cookies.ts';
import type { AuthBackoff } from '../../../platform/http/pipeline/auth-backoff.ts';
import { type Credential, checkCredentialActive } from '../../../platform/http/routes/access.ts';
import { type Page, type PageAnswer, redirectTo, type Visit } from '../../../platform/http/routes/page.ts';
import { consoleHome, errorMessage, refusedAnswer, showRefusal, signInAnswer } from '../sessions/index.ts';
import type { Impersonation } from './impersonation.ts';

export interface ConsoleEntryDependencies {
  readonly impersonation: Pick<Impersonation, 'find'>;
  readonly backoff: AuthBackoff;
  baseUrl(): string;
}

export interface ConsoleEntry {
  readonly pages: readonly Page[];
  /** Returns the visitor; undefined if the visit is not a support visit. */
  visitorOf(
    visit: Pick<Visit, 'headers' | 'address' | 'now'>,
  ): Promise<{ credential: Credential } | PageAnswer | undefined>;
}

const entryPath = '/console/support';

export function createConsoleEntry({
  impersonation,
  backoff,
  baseUrl,
}: ConsoleEntryDependencies): ConsoleEntry {
  const cookies = (): Cookies => cookiesNamed('purser_support', baseUrl());

  /** Returns the credential of a support session. Throws if the session does not exist or cannot be used now. */
  async function requireSession(
    token: string,
    { address, now }: Pick<Visit, 'address' | 'now'>,
  ): Promise<Credential> {
    const credential = await impersonation.find(token, address);
    if (credential === undefined) {
      const seconds = backoff.failed(address);
      throw seconds === undefined
        ? apiError('unauthorized', 'Support session not found.')
        : apiErrorWithDetails(
            'rate_limited',
            { retry_after_seconds: seconds },
            'Too many failed attempts from your address. Try again later.',
          );
    }
    checkCredentialActive(credential, address, now);
    return credential;
  }

  async function enter(visit: Visit): Promise<PageAnswer> {
    const token = ((await visit.form()).get('token') ?? '').trim();
    try {
      const { expiresAt } = await requireSession(token, visit);
      const seconds = Math.ceil(((expiresAt?.getTime() ?? 0) - visit.now.getTime()) / 1_000);
      return redirectTo(consoleHome, { 'set-cookie': cookies().set(token, seconds) });
    } catch (error) {
      if (!(error instanceof ApiError)) {
        throw error;
      }
      return entryForm(visit, error.status === 410 ? 401 : error.status, error.message);
    }
  }

  return {
    pages: [
      { path: entryPath, handler: async (visit) => entryForm(visit, 200, undefined), refused: showRefusal },
      { method: 'POST', path: entryPath, handler: enter, refused: showRefusal },
      {
        method: 'POST',
        path: `${entryPath}/leave`,
        handler: async () => redirectTo(consoleHome, { 'set-cookie': cookies().clear() }),
        refused: showRefusal,
      },
    ],
    async visitorOf(visit) {
      const token = readCookie(visit.headers.cookie, cookies().name);
      if (token === undefined || token === '') {
        return undefined;
      }
      try {
        return { credential: await requireSession(token, visit) };
      } catch (error) {
        if (!(error instanceof ApiError)) {
          throw error;
        }
        // The support session cannot be used. The cookie is cleared, so that the next visit uses the operator's own session.
        return refusedAnswer(visit, error.status === 410 ? 401 : error.status, error.message, {
          'set-cookie': cookies().clear(),
        });
      }
    },
  };
}

function entryForm(visit: Visit, status: number, problem: string | undefined): PageAnswer {
  return signInAnswer(visit, {
    status,
    title: 'Support access',
    main: `${errorMessage(problem)}
<form method="post" action="${escapeHtml(entryPath)}">
<label for="token">Token of a support session</label>
<input id="token" name="token" type="password" autocomplete="off" required spellcheck="false" aria-describedby="token-help">
<p id="token-help" class="soft">Every request is recorded and visible to the organization.</p>
<button>Enter</button>
</form>`,
  });
}
