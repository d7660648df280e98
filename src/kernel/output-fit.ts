/** The charge of a model call whose output may be reduced to what the limits allow. */
import type { Fit } from './fit.ts';
import { type OtherCharges, type Rates, worstCaseCost } from './prices.ts';

export interface OutputRange {
  readonly inputTokens: bigint;
  readonly others: OtherCharges;
  readonly atLeast: bigint;
  readonly atMost: bigint;
}

/** Returns the charge in units of output tokens. Its amounts grow with their number. */
export function outputFit(rates: Rates, { inputTokens, others, atLeast, atMost }: OutputRange): Fit {
  return {
    atLeast: atLeast < atMost ? atLeast : atMost,
    atMost,
    amountsOf: (outputTokens) => ({
      usd: worstCaseCost(rates, inputTokens, outputTokens, others),
      tokens: inputTokens + outputTokens,
      requests: 1n,
    }),
  };
}
