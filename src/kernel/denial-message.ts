/** Messages of denials: how much a limit has left, and how much the request needs. */
import type { Denial } from './denial.ts';

/** Returns a sentence for people with the amounts of `details`. Undefined where the code says it all. */
export function denialMessage({ code, details }: Denial): string | undefined {
  switch (code) {
    case 'spend_cap_exceeded':
      return moneyMessage('daily spend cap', details.cap_usd, details);
    case 'budget_exceeded':
      return moneyMessage(
        details.scope_kind === 'customer' ? 'customer limit' : 'budget',
        details.limit_usd,
        details,
      );
    case 'credits_exhausted':
      return `The credits have ${dollars(details.available_usd)} left, and this request needs ${dollars(details.attempted_usd)}.`;
    case 'plan_limit_exceeded':
      return `The plan includes ${details.limit} ${details.limit_kind} a month, and ${details.used} are used.`;
    case 'chain_budget_exceeded':
      return chainMessage(details);
    default:
      return undefined;
  }
}

interface MoneyDetails {
  readonly spent_usd: string;
  readonly held_usd: string;
  readonly reserved_usd?: string;
  readonly attempted_usd: string;
}

/** `spent_usd` of the details includes what is held. */
function moneyMessage(limit: string, capacity: string, details: MoneyDetails): string {
  const { spent_usd: spent, held_usd: held, reserved_usd: reserved, attempted_usd: attempted } = details;
  const ofRequests = Number(held) === 0 ? '' : ` (${dollars(held)} of it is held by requests in progress)`;
  const kept = reserved === undefined ? '' : `, ${dollars(reserved)} is kept for requests in progress`;
  return `The ${limit} of ${dollars(capacity)} has ${dollars(spent)} used${ofRequests}${kept}, and this request needs ${dollars(attempted)}.`;
}

type ChainDetails = Extract<Denial, { code: 'chain_budget_exceeded' }>['details'];

function chainMessage({ reason, current, attempted, limit }: ChainDetails): string {
  switch (reason) {
    case 'depth':
      return `The run chain may be ${limit} levels deep, and this run would be at level ${attempted}.`;
    case 'cost':
      return `The run chain has used ${dollars(current)} of ${dollars(limit)}, and this request needs ${dollars(attempted)}.`;
    case 'tokens':
      return `The run chain has used ${current} of ${limit} tokens, and this request needs ${attempted}.`;
  }
}

/** Formats a decimal amount exactly, with cents at least. */
function dollars(amount: string | number): string {
  const [whole, fraction = ''] = String(amount).split('.');
  return `$${whole}.${fraction.padEnd(2, '0')}`;
}
