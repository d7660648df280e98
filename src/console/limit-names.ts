/** What a limit is called, and where it stands, in words that are the same on every page. */
import { meter } from './charts/meter.ts';
import { capitalized, inUnit, words } from './format.ts';
import { html, type Markup, type Part, path } from './html.ts';
import type { LimitUsage, LimitView } from './views.ts';

const kindNames: Readonly<Record<string, string>> = {
  spend_cap: 'Daily spend cap',
  budget: 'Budget',
  customer: 'Customer limit',
  credits: 'Credit pack',
  prepaid: 'Prepaid balance',
  plan_runs: 'Plan: runs',
  plan_tokens: 'Plan: tokens',
  quota: 'Quota',
  rate: 'Rate',
  chain_cost: 'Chain cost',
  chain_depth: 'Chain depth',
  chain_tokens: 'Chain tokens',
};

export function kindName(kind: string): string {
  return kindNames[kind] ?? words(kind);
}

/** Its own name where it has one; else what it is for. */
export function limitName({ kind, name, match }: LimitView): string {
  if (name !== null && name !== '') {
    return name;
  }
  const scope = scopeName(match);
  if (kind === 'customer') {
    return capitalized(scope);
  }
  return scope === '' ? kindName(kind) : `${kindName(kind)} of ${scope}`;
}

/** What the limit counts: “workflow triage”; nothing for the whole org. */
export function scopeName(match: LimitView['match']): string {
  // That each chain counts by itself is what a chain budget is.
  return Object.entries(match)
    .filter(([field]) => field !== 'chain_id')
    .map(([field, value]) => {
      const name = field === 'customer_id' ? 'customer' : words(field);
      return value === '*' ? `each ${name}` : `${name} ${value}`;
    })
    .join(', ');
}

export function usageMeter(limit: LimitView, standing: LimitUsage): Markup {
  return meter({
    label: limitName(limit),
    settled: Number(standing.settled),
    held: Number(standing.held),
    limit: Number(limit.limit),
    format: (value) => inUnit(limit.unit, value),
  });
}

export function leftOf(limit: LimitView, standing: LimitUsage): Markup {
  const held = Number(standing.held);
  const whole = inUnit(limit.unit, limit.limit);
  return html`${remaining(limit, standing)} ${overspend(limit, standing) > 0 ? `the limit of ${whole}` : `left of ${whole}`}${held > 0 && html`, ${inUnit(limit.unit, held)} held`}`;
}

/** What is left of a limit; where more is used, as with a limit that only alerts, by how much it is exceeded. */
export function remaining(limit: LimitView, standing: LimitUsage): Part {
  const over = overspend(limit, standing);
  return over > 0
    ? html`<strong class="over">${inUnit(limit.unit, over)} over</strong>`
    : inUnit(limit.unit, standing.remaining);
}

function overspend({ limit }: LimitView, { settled, held }: LimitUsage): number {
  const over = Number(settled) + Number(held) - Number(limit);
  // Amounts have nine decimals; anything smaller comes from adding floating-point numbers.
  return over < 1e-9 ? 0 : over;
}

/** Which part of it is used, held included. One that allows nothing is used up. */
export function usedShare(limit: LimitView): number {
  const { standing } = limit;
  if (standing === null) {
    return 0;
  }
  const whole = Number(limit.limit);
  return whole === 0 ? 1 : (Number(standing.settled) + Number(standing.held)) / whole;
}

/** What its name does not say already. */
export function limitSubtitle(limit: LimitView): string {
  const name = limitName(limit);
  return [kindName(limit.kind), scopeName(limit.match)]
    .filter((part) => part !== '' && !name.toLowerCase().includes(part.toLowerCase()))
    .join(' · ');
}

/** Where those lead that the org sets itself; the others are the operator's. */
export function limitLink(limit: LimitView): Part {
  const target = editPath(limit);
  return target === undefined
    ? html`<strong>${limitName(limit)}</strong>`
    : html`<a href="${target}">${limitName(limit)}</a>`;
}

function editPath({ kind, id }: LimitView): string | undefined {
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
