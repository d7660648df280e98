/** Error pages. */
import type { ApiFailure } from './api.ts';
import { fieldErrorList } from './components.ts';
import { html } from './html.ts';
import { type View, view } from './screen.ts';

const titles: Readonly<Record<string, string>> = {
  not_found: 'Page not found',
  unauthorized: 'You are no longer signed in',
  forbidden: 'You do not have permission to view this',
  ip_not_allowed: 'IP address not allowed',
  org_suspended: 'Organization suspended',
  residency_violation: 'Organization in another region',
  missing_scope: 'You do not have permission to view this',
  support_scope_denied: 'Not covered by the support grant',
  validation_failed: 'Invalid values',
  rate_limited: 'Too many requests',
  service_unavailable: 'Temporarily unavailable',
  internal: 'Something went wrong',
};

function errorTitle(code: string): string {
  return titles[code] ?? 'Request denied';
}

/** Next steps for errors that affect every page, so that a link to the overview would not help. */
const nextSteps: Readonly<Record<string, string>> = {
  ip_not_allowed: 'Connect from an allowed IP address, or sign in to another organization.',
  org_suspended: 'Ask your operator to reinstate it, or sign in to another organization.',
  residency_violation: 'Sign in to the console of that region.',
};

export function errorView({ status, code, message, details, fields }: ApiFailure, traceId: string): View {
  const nextStep =
    nextSteps[code] === undefined
      ? html`<p><a href="/console">Back to overview</a></p>`
      : html`<p>${nextSteps[code]}</p><form method="post" action="/console/logout"><button class="button">Sign out</button></form>`;
  const body = html`<section class="card"><p>${message}</p>
${details.required !== undefined && html`<p>Required scope: <code>${String(details.required)}</code></p>`}
${fieldErrorList(fields)}
<p class="quiet">Code <code>${code}</code>, trace <code>${traceId}</code>.</p>
${nextStep}</section>`;
  return view({ title: errorTitle(code), status })`
${body}`;
}
