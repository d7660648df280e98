/** Titles and one-line explanations of denials. */
import { humanize, usd } from './format.ts';
import { html, type Markup } from './html.ts';
import type { DenialView } from './views.ts';

const titles: Readonly<Record<string, string>> = {
  spend_cap_exceeded: 'Daily spend cap',
  budget_exceeded: 'Budget',
  credits_exhausted: 'Credits',
  quota_exhausted: 'Quota',
  plan_limit_exceeded: 'Plan',
  chain_budget_exceeded: 'Chain limit',
  rate_limited: 'Rate limit',
  policy_blocked: 'Policy',
  policy_approval_required: 'Approval required',
  policy_expression_error: 'Policy error',
  content_safety_blocked: 'Content safety',
  no_model_passes_eval: 'No model passes',
};

export const denialCodes = Object.keys(titles);

export function denialTitle(code: string): string {
  return titles[code] ?? humanize(code);
}

export function denialReason({ code, details, message }: DenialView): Markup {
  const text = (name: string) => (details[name] === undefined ? '' : String(details[name]));
  const money = (name: string) => usd(text(name));
  switch (code) {
    case 'spend_cap_exceeded':
      return html`${money('spent_usd')} of ${money('cap_usd')} used, ${money('attempted_usd')} requested`;
    case 'budget_exceeded':
      return html`${money('spent_usd')} of ${money('limit_usd')} used, budget of the ${text('scope_kind') === 'org' ? 'organization' : text('scope_kind').replace(/^tag:/, 'tag ')}`;
    case 'credits_exhausted':
      return html`${money('available_usd')} of credits remaining, ${money('attempted_usd')} requested`;
    case 'plan_limit_exceeded':
      return html`${text('used')} of ${text('limit')} ${text('limit_kind')} used this month`;
    case 'quota_exhausted':
      return html`${text('used')} of ${text('limit')} ${text('unit')} used (${text('quota_kind')})`;
    case 'chain_budget_exceeded':
      return html`${text('reason')}: ${text('current')} of ${text('limit')} used, ${text('attempted')} requested`;
    case 'policy_blocked':
    case 'policy_approval_required':
      return html`${text('reason')} <span class="quiet">(${text('attempted')})</span>`;
    case 'content_safety_blocked':
      return html`Matched detector “${humanize(text('detector'))}”`;
    default:
      return html`${message}`;
  }
}
