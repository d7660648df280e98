/** The part of a hold that the input of a call does not need. It covers output instead, so that the hold is increased later. */
import { affordableOutputTokens, worstCaseCost } from '../kernel/prices.ts';
import type { CallPlan } from './plan-call.ts';

type HeldInput = Pick<CallPlan, 'service' | 'tools' | 'inputTokens'> & {
  readonly input: Pick<CallPlan['input'], 'hasUnseen'>;
};

/**
 * Returns the output tokens that the hold covers in addition, in cost and in tokens, if the provider has counted this much input.
 * Returns zero if the input may grow during the call.
 */
export function outputOfUnusedInput(
  { service: { rates, others }, tools, input, inputTokens }: HeldInput,
  countedTokens: number,
): number {
  const unusedTokens = inputTokens - countedTokens;
  if (unusedTokens <= 0 || input.hasUnseen || tools.offered.size > 0) {
    return 0;
  }
  const inputCost = (tokens: number) => worstCaseCost(rates, BigInt(tokens), 0n, others);
  // One nanodollar less, because both costs are rounded up.
  const unusedNanos = inputCost(inputTokens) - inputCost(countedTokens) - 1n;
  return Math.min(unusedTokens, Number(affordableOutputTokens(rates, 0n, unusedNanos)));
}
