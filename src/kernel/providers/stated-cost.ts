/** The cost that a provider states with the usage of a call: what it charges, with its tools, discounts and fees. */
import { maxNanos } from '../money.ts';
import { type Fields, fieldsOf } from './fields.ts';

/** xAI counts tenths of a nanodollar. */
const ticksPerNano = 10n;

/** Returns nanodollars, rounded up; null if the usage states no cost that can be read. */
export function statedNanosOf(usage: Fields): bigint | null {
  const { cost, cost_in_usd_ticks: ticks } = usage;
  if (typeof ticks === 'number' && Number.isSafeInteger(ticks) && ticks > 0) {
    return (BigInt(ticks) + ticksPerNano - 1n) / ticksPerNano;
  }
  if (isOfOwnKey(usage)) {
    return costOfOwnKey(usage);
  }
  // Perplexity states the parts of the cost, too.
  const total = fieldsOf(cost).total_cost ?? cost;
  if (isAmount(total)) {
    return nanosOf(total);
  }
  // A 0 of others than OpenRouter, which has free models, may mean that they know no price.
  return cost === 0 && usage.is_byok === false ? 0n : null;
}

/** Returns true for a call with a key of one's own. Responses that do not say so state a cost of the provider above that of OpenRouter. */
function isOfOwnKey({ cost, cost_details: details, is_byok: isOwnKey }: Fields): boolean {
  const { upstream_inference_cost: upstream } = fieldsOf(details);
  return typeof isOwnKey === 'boolean'
    ? isOwnKey
    : isAmount(upstream) && typeof cost === 'number' && cost >= 0 && cost < upstream;
}

/** OpenRouter states its fee, and besides what the provider charges for a call with a key that the user of OpenRouter has there. */
function costOfOwnKey({ cost, cost_details: details }: Fields): bigint | null {
  const { upstream_inference_cost: upstream } = fieldsOf(details);
  return isAmount(upstream) ? nanosOf(upstream) + (isAmount(cost) ? nanosOf(cost) : 0n) : null;
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && value < Number(maxNanos) / 1e9;
}

/** Digits beyond these are errors of a sum of binary fractions. */
const decimals = 12;
const perNano = 1_000n;

function nanosOf(usd: number): bigint {
  const units = BigInt(usd.toFixed(decimals).replace('.', ''));
  // An amount above 0 is never rounded to 0, which would mean a free model.
  return units === 0n ? 1n : (units + perNano - 1n) / perNano;
}
