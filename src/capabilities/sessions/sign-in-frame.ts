/** How the pages around signing in look: one box in the middle, plain HTML, nothing from anywhere else. */
import { escapeHtml, htmlDocument } from '../../platform/http/html.ts';
import type { PageAnswer } from '../../platform/http/page.ts';

const style = `
:root { color-scheme: light dark; --line: #8886; --accent: light-dark(#0b5d4a, #6fd3b8); --on-accent: light-dark(#fff, #06231c); --bad: light-dark(#a11, #ff9a9a); }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center; }
main { width: min(24rem, calc(100vw - 3rem)); padding: 2rem 0; }
h1 { font-size: 1.4rem; margin: 0 0 1rem; } h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; } a { color: var(--accent); }
label { display: block; font-weight: 600; margin: 1rem 0 .3rem; }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .55rem .7rem; border: 1px solid var(--line); border-radius: .4rem; background: Canvas; color: CanvasText; }
button { font: inherit; font-weight: 600; margin-top: 1rem; padding: .55rem 1.1rem; border: 0; border-radius: .4rem; background: var(--accent); color: var(--on-accent); cursor: pointer; }
input:focus-visible, button:focus-visible, a:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.bad { border-left: .25rem solid var(--bad); padding-left: .8rem; } .soft { opacity: .8; font-size: .9rem; }
`;

export interface SignInPage {
  readonly status?: number;
  readonly title: string;
  /** HTML. */
  readonly main: string;
  readonly headers?: PageAnswer['headers'];
}

export function signInAnswer({ status = 200, title, main, headers }: SignInPage): PageAnswer {
  return htmlDocument({
    status,
    title: `${title} · Purser`,
    style,
    policy: "form-action 'self'",
    body: `<main><h1>${escapeHtml(title)}</h1>${main}</main>`,
    headers: { 'cache-control': 'no-store', ...headers },
  });
}

/** A sentence of what went wrong, read out at once. */
export function complaint(text: string | undefined): string {
  return text === undefined ? '' : `<p class="bad" role="alert">${escapeHtml(text)}</p>`;
}

/** For what cannot be done: what was wrong, and where to go from here. */
export function refusedAnswer(status: number, text: string, headers?: PageAnswer['headers']): PageAnswer {
  return signInAnswer({
    status,
    title: 'That did not work',
    main: `${complaint(text)}<p><a href="/console/login">Sign in</a></p>`,
    ...(headers !== undefined && { headers }),
  });
}
