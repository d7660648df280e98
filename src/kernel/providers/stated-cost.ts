/** The cost that a provider states with the usage of a call: what it charges, with its tools, discounts and fees. */
import { maxNanos } from '../money.ts';
import { type Fields, fieldsOf } from './fields.ts';

/** xAI counts tenths of a nanodollar. */
const ticksPerNano = 10n;

/** Returns nanodollars, rounded up; null if the usage states no cost that can be read. */
export function statedNanosOf(usage: Fields): bigint | null {
  const { cost, cost_in_usd_ticks: ticks, is_byok: isOwnKey } = usage;
  if (isAmount(ticks) && Number.isSafeInteger(ticks)) {
    return (BigInt(ticks) + ticksPerNano - 1n) / ticksPerNano;
  }
  if (isOwnKey === true) {
    return costOfOwnKey(usage);
  }
  // Perplexity states the parts of the cost, too.
  const total = fieldsOf(cost).total_cost ?? cost;
  if (isAmount(total)) {
    return nanosOf(total);
  }
  // A 0 of others than OpenRouter, which has free models, may mean that they know no price.
  return cost === 0 && isOwnKey === false ? 0n : null;
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
  return (units + perNano - 1n) / perNano;
}
