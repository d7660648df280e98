/** A refusal as a page. */
import type { Refused } from './api.ts';
import { type Html, html } from './html.ts';

const titles: Readonly<Record<string, string>> = {
  not_found: 'There is no such page',
  forbidden: 'This is not for your role',
  missing_scope: 'What you signed in with may not see this',
  support_scope_denied: 'The support grant does not cover this',
  rate_limited: 'Too many requests',
  service_unavailable: 'Not available at the moment',
  internal: 'Something went wrong',
};

export function refusalTitle(code: string): string {
  return titles[code] ?? 'This is refused';
}

export function refusalBody(refused: Refused, traceId: string): Html {
  const { code, message, details } = refused;
  return html`<div class="heading"><h1>${refusalTitle(code)}</h1></div>
<section class="card"><p>${message}</p>
${details.required !== undefined && html`<p>It needs the scope <code>${String(details.required)}</code>.</p>`}
<p class="quiet">Code <code>${code}</code>, trace <code>${traceId}</code>.</p>
<p><a href="/console">Go to the first page</a></p></section>`;
}
