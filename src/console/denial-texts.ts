/** Titles and one-line explanations of denials, and what was missing. */
import { formatUsd, parseUsd } from '../kernel/money.ts';
import { count, day, humanize, usd } from './format.ts';
import { html, type Markup, type Part } from './html.ts';
import type { DenialItem } from './views.ts';

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

/** The kind of check, with the name of the limit where it has one. */
export function denialName({ code, details, cause }: DenialItem): string {
  const title = details.scope_kind === 'customer' ? 'Customer limit' : denialTitle(code);
  const isNamed =
    cause !== null && cause.name !== null && cause.kind !== 'policy' && cause.kind !== 'detector';
  return isNamed ? `${title}: ${cause.name}` : title;
}

/** The needed and the remaining amount of a limit that denied a request, formatted. */
export interface Shortfall {
  readonly limit: string;
  /** Undefined where the denial does not say. */
  readonly needed: string | undefined;
  readonly remaining: string;
  /** When the limit starts again; undefined if it does not. */
  readonly resetsAt: string | undefined;
}

/** Returns what was missing; undefined for checks that do not count. */
export function shortfallOf({ code, details }: Pick<DenialItem, 'code' | 'details'>): Shortfall | undefined {
  const text = (name: string) => (details[name] == null ? undefined : String(details[name]));
  const money = (limit: string | undefined, spent: string | undefined, resetsAt: string | undefined) => ({
    limit: usd(limit),
    needed: text('attempted_usd') === undefined ? undefined : usd(text('attempted_usd')),
    remaining: usd(difference(limit, spent)),
    resetsAt,
  });
  const counted = (unit: string, used: string | undefined, resetsAt: string | undefined) => ({
    limit: `${count(text('limit'))} ${unit}`,
    needed: undefined,
    remaining: count(Math.max(0, Number(text('limit')) - Number(used))),
    resetsAt,
  });
  switch (code) {
    case 'spend_cap_exceeded':
      return money(text('cap_usd'), text('spent_usd'), text('resets_at'));
    case 'budget_exceeded':
      return money(text('limit_usd'), text('spent_usd'), text('period_end'));
    case 'credits_exhausted':
      return { ...money(undefined, undefined, undefined), remaining: usd(text('available_usd')) };
    case 'plan_limit_exceeded':
      return counted(text('limit_kind') ?? '', text('used'), undefined);
    case 'quota_exhausted':
      // A request above the burst limit is denied however much remains; only the message explains it.
      if (text('quota_kind') === 'window' && text('window_end') === undefined) {
        return undefined;
      }
      return text('unit') === 'usd'
        ? money(text('limit'), text('used'), text('window_end'))
        : counted(text('unit') ?? '', text('used'), text('window_end'));
    case 'chain_budget_exceeded':
      return text('reason') === 'cost'
        ? { ...money(text('limit'), text('current'), undefined), needed: usd(text('attempted')) }
        : {
            ...counted(text('reason') === 'depth' ? 'levels' : 'tokens', text('current'), undefined),
            needed: count(text('attempted')),
          };
    default:
      return undefined;
  }
}

/** Returns the rest of a decimal amount, exactly; zero if it is exceeded. */
function difference(limit: string | undefined, spent: string | undefined): string | undefined {
  const left = (parseUsd(limit ?? '') ?? 0n) - (parseUsd(spent ?? '') ?? 0n);
  return formatUsd(left > 0n ? left : 0n);
}

/** Explains a denial in one line. */
export function denialReason(denial: DenialItem, timezone: string): Markup {
  const { code, details, message } = denial;
  const text = (name: string) => (details[name] === undefined ? '' : String(details[name]));
  const shortfall = shortfallOf(denial);
  if (shortfall !== undefined) {
    return html`${shortfallText(shortfall, timezone)}`;
  }
  switch (code) {
    case 'policy_blocked':
    case 'policy_approval_required':
      return html`${text('reason')} <span class="quiet">(${text('attempted')})</span>`;
    case 'content_safety_blocked':
      return html`Matched detector “${humanize(text('detector'))}”`;
    default:
      return html`${message}`;
  }
}

function shortfallText({ limit, needed, remaining, resetsAt }: Shortfall, timezone: string): Part {
  const left = limit === '–' ? `${remaining} remaining` : `${remaining} of ${limit} remaining`;
  return [
    needed === undefined ? left : `Needs ${needed}; ${left}`,
    resetsAt !== undefined && html`, resets ${day(resetsAt, timezone)}`,
  ];
}
