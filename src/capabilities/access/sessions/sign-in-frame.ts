/** How the pages around signing in look: one box in the middle, in the console's look, nothing from anywhere else. */
import { assets } from '../../../platform/http/html/assets.ts';
import { escapeHtml, htmlDocument } from '../../../platform/http/html/html.ts';
import { themeOf } from '../../../platform/http/html/theme.ts';
import type { PageAnswer, Visit } from '../../../platform/http/routes/page.ts';

/** Whose it is: it comes in the colors that were chosen in that browser. */
export type Seen = Pick<Visit, 'headers'>;

export interface SignInPage {
  readonly status?: number;
  readonly title: string;
  /** HTML. */
  readonly main: string;
  readonly headers?: PageAnswer['headers'];
}

export function signInAnswer(seen: Seen, { status = 200, title, main, headers }: SignInPage): PageAnswer {
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

/** A sentence of what went wrong, read out at once. */
export function complaint(text: string | undefined): string {
  return text === undefined ? '' : `<p class="alert" role="alert">${escapeHtml(text)}</p>`;
}

/** For what cannot be done: what was wrong, and where to go from here. */
export function refusedAnswer(
  seen: Seen,
  status: number,
  text: string,
  headers?: PageAnswer['headers'],
): PageAnswer {
  return signInAnswer(seen, {
    status,
    title: 'That did not work',
    main: `${complaint(text)}<p><a href="/console/login">Sign in</a></p>`,
    ...(headers !== undefined && { headers }),
  });
}
