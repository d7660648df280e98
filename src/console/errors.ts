/** A refusal as a page. */
import type { ApiFailure } from './api.ts';
import { html, type Markup } from './html.ts';

const titles: Readonly<Record<string, string>> = {
  not_found: 'There is no such page',
  unauthorized: 'You are not signed in any more',
  forbidden: 'This is not for your role',
  ip_not_allowed: 'Not from this address',
  org_suspended: 'This organization is suspended',
  residency_violation: 'This organization is at home in another region',
  missing_scope: 'What you signed in with may not see this',
  support_scope_denied: 'The support grant does not cover this',
  validation_failed: 'Some values are not valid',
  rate_limited: 'Too many requests',
  service_unavailable: 'Not available at the moment',
  internal: 'Something went wrong',
};

export function refusalTitle(code: string): string {
  return titles[code] ?? 'This is refused';
}

/** Of those nothing here can be seen, so there is no first page to go to. */
const everywhere: Readonly<Record<string, string>> = {
  ip_not_allowed: 'Come back from an address that the organization allows, or sign in to another one.',
  org_suspended: 'Ask whoever runs this service to reinstate it, or sign in to another one.',
  residency_violation: 'Its data are kept there, and only there: sign in to the console of that region.',
};

export function refusalBody(failure: ApiFailure, traceId: string): Markup {
  const { code, message, details, fields } = failure;
  return html`<div class="heading"><h1>${refusalTitle(code)}</h1></div>
<section class="card"><p>${message}</p>
${details.required !== undefined && html`<p>It needs the scope <code>${String(details.required)}</code>.</p>`}
${fields.length > 0 && html`<ul>${fields.map((fieldError) => html`<li><code>${fieldError.field}</code>: ${fieldError.message}</li>`)}</ul>`}
<p class="quiet">Code <code>${code}</code>, trace <code>${traceId}</code>.</p>
${everywhere[code] === undefined ? html`<p><a href="/console">Go to the first page</a></p>` : html`<p>${everywhere[code]}</p><form method="post" action="/console/logout"><button class="button">Sign out</button></form>`}</section>`;
}
