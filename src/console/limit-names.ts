/** Names and usage of limits, worded the same on every page. */
import { dimensionScopeKinds, nounOf } from '../contract/run-dimensions.ts';
import type { LimitKind } from '../kernel/limits.ts';
import { matchFieldOf } from '../kernel/scope-kinds.ts';
import { meter } from './charts/meter.ts';
import { capitalized, humanize, inUnit } from './format.ts';
import type { Option } from './forms.ts';
import { html, type Markup, type Part, path } from './html.ts';
import { badge } from './inline.ts';
import type { LimitItem, LimitItemUsage } from './views.ts';

const kindNames: Readonly<Record<string, string>> = {
  spend_cap: 'Daily spend cap',
  budget: 'Budget',
  customer: 'Customer limit',
  credits: 'Credit pack',
  prepaid: 'Prepaid balance',
  plan_runs: 'Plan: runs',
  plan_tokens: 'Plan: tokens',
  quota: 'Quota',
  rate: 'Rate limit',
  chain_cost: 'Chain cost limit',
  chain_depth: 'Chain depth limit',
  chain_tokens: 'Chain token limit',
} satisfies Record<LimitKind, string>;

/** Kinds of scopes of a budget, besides tags. */
export const scopeKindOptions: readonly Option[] = [
  { value: 'org', label: 'Entire organization' },
  ...dimensionScopeKinds.map((value) => ({
    value,
    label: capitalized(nounOf(matchFieldOf(value) ?? '') ?? value),
  })),
];

export function kindName(kind: string): string {
  return kindNames[kind] ?? humanize(kind);
}

/** The limit's own name, or one made of its kind and scope. */
export function limitName({ kind, name, match }: LimitItem): string {
  if (name !== null && name !== '') {
    return name;
  }
  const scope = scopeName(match);
  if (kind === 'customer') {
    return capitalized(scope);
  }
  return scope === '' ? kindName(kind) : `${kindName(kind)}: ${scope}`;
}

/** The name of a field that limits match and that spend is grouped by, such as “member” or “tag environment”. */
export function fieldName(field: string): string {
  return nounOf(field) ?? humanize(field.replace(/^tag:/, 'tag '));
}

/** The scope of a limit, such as “workflow triage”; empty for the entire organization. */
export function scopeName(match: LimitItem['match']): string {
  // Every chain limit counts per chain.
  return Object.entries(match)
    .filter(([field]) => field !== 'chain_id')
    .map(([field, value]) => {
      const name = fieldName(field);
      return value === '*' ? `per ${name}` : `${name} ${value}`;
    })
    .join(', ');
}

export function usageMeter(limit: LimitItem, usage: LimitItemUsage): Markup {
  return meter({
    label: limitName(limit),
    settled: Number(usage.settled),
    held: Number(usage.held),
    limit: Number(limit.limit),
    format: (value) => inUnit(limit.unit, value),
  });
}

export function remainingText(limit: LimitItem, usage: LimitItemUsage): Markup {
  const held = Number(usage.held);
  const whole = inUnit(limit.unit, limit.limit);
  const ofWhole = overspend(limit, usage) > 0 ? `the limit of ${whole}` : `of ${whole} remaining`;
  return html`${remaining(limit, usage)} ${ofWhole}${held > 0 && `, ${inUnit(limit.unit, held)} reserved`}`;
}

/** The remaining amount of a limit, or the overspend of a limit that is exceeded. */
export function remaining(limit: LimitItem, usage: LimitItemUsage): Part {
  const over = overspend(limit, usage);
  return over > 0
    ? html`<strong class="over">${inUnit(limit.unit, over)} over</strong>`
    : inUnit(limit.unit, usage.remaining);
}

function overspend({ limit }: LimitItem, { settled, held }: LimitItemUsage): number {
  const over = Number(settled) + Number(held) - Number(limit);
  // Amounts have nine decimals; anything smaller comes from adding floating-point numbers.
  return over < 1e-9 ? 0 : over;
}

/** The state of a limit that needs attention. */
export function stateBadge(limit: LimitItem): Markup | false {
  if (limit.state === 'near') {
    return badge('Near limit', 'warn');
  }
  const isOver = limit.standing !== null && overspend(limit, limit.standing) > 0;
  return limit.state === 'exhausted' && badge(isOver ? 'Over limit' : 'Exhausted', 'bad');
}

/** The used share of a limit, including holds. A limit of zero is used up. */
export function usedShare(limit: LimitItem): number {
  const { standing } = limit;
  if (standing === null) {
    return 0;
  }
  const whole = Number(limit.limit);
  return whole === 0 ? 1 : (Number(standing.settled) + Number(standing.held)) / whole;
}

/** Kind and scope, unless the name already contains them. */
export function limitSubtitle(limit: LimitItem): string {
  const name = limitName(limit);
  return [kindName(limit.kind), scopeName(limit.match)]
    .filter((part) => part !== '' && !name.toLowerCase().includes(part.toLowerCase()))
    .join(' · ');
}

export function limitLink(limit: LimitItem): Markup {
  return html`<a href="${limitPath(limit)}">${limitName(limit)}</a>`;
}

/** The page of a limit. */
export function limitPath({ id }: Pick<LimitItem, 'id'>): string {
  return path`/console/limits/${id}`;
}

const operatorKinds: readonly string[] = ['prepaid', 'plan_runs', 'plan_tokens', 'quota', 'rate'];

export function managedByOperator(kind: string): boolean {
  return operatorKinds.includes(kind);
}

/** The form of a limit that the organization sets; the others are set by operators. */
export function limitEditPath({
  kind,
  id,
}: {
  readonly kind: string;
  readonly id: string;
}): string | undefined {
  switch (kind) {
    case 'budget':
      return path`/console/limits/budgets/${id}`;
    case 'customer':
      return path`/console/limits/customers/${id}`;
    case 'credits':
      return path`/console/limits/credits/${id}`;
    case 'spend_cap':
      return '/console/limits/spend-cap';
    case 'chain_cost':
    case 'chain_depth':
    case 'chain_tokens':
      return '/console/limits/chain';
    default:
      return undefined;
  }
}
