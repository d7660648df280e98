/** Layout of the sign-in pages: one centered box in the style of the console, without external resources. */
import { assets } from '../../../platform/http/html/assets.ts';
import { escapeHtml, htmlDocument } from '../../../platform/http/html/html.ts';
import { themeOf } from '../../../platform/http/html/theme.ts';
import type { PageAnswer, Visit } from '../../../platform/http/routes/page.ts';

/** The request, whose cookies determine the color theme. */
export type ThemedVisit = Pick<Visit, 'headers'>;

export interface SignInPage {
  readonly status?: number;
  readonly title: string;
  /** Content of the page as HTML. */
  readonly main: string;
  readonly headers?: PageAnswer['headers'];
}

export function signInAnswer(
  seen: ThemedVisit,
  { status = 200, title, main, headers }: SignInPage,
): PageAnswer {
  return htmlDocument({
    status,
    title: `${title} · Purser`,
    theme: themeOf(seen.headers.cookie),
    look: assets,
    policy: "form-action 'self'",
    body: `<main id="main" class="plain sign-in"><p class="brand">Purser</p><section class="card"><h1>${escapeHtml(title)}</h1>${main}</section></main>`,
    headers: { 'cache-control': 'no-store', ...headers },
  });
}

/** Returns an error message that screen readers announce. */
export function errorMessage(text: string | undefined): string {
  return text === undefined ? '' : `<p class="alert" role="alert">${escapeHtml(text)}</p>`;
}

/** Returns an error page with the message and a link to sign in. */
export function refusedAnswer(
  seen: ThemedVisit,
  status: number,
  text: string,
  headers?: PageAnswer['headers'],
): PageAnswer {
  return signInAnswer(seen, {
    status,
    title: 'Sign-in failed',
    main: `${errorMessage(text)}<p><a href="/console/login">Sign in</a></p>`,
    ...(headers !== undefined && { headers }),
  });
}
