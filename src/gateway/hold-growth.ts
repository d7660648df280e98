/** The growth of a paced call: what a new one leaves free for it in the limits of both (`reserve_for_running`). */
import type { Amounts } from '../kernel/limits.ts';
import { tokensToGrow } from '../kernel/pace.ts';
import { worstCaseOutputCost } from '../kernel/prices.ts';
import type { CallPlan } from './plan-call.ts';

/** Returns undefined if the hold does not follow the time of the call, or if nothing is to be left free. */
export function growthOf(
  { paced, settings, service }: Pick<CallPlan, 'paced' | 'settings' | 'service'>,
  heldTokens: number,
): Amounts | undefined {
  if (paced === undefined || settings.reserveForRunning === 0) {
    return undefined;
  }
  const tokens = BigInt(tokensToGrow(paced, heldTokens, settings.reserveForRunning));
  return { usd: worstCaseOutputCost(service.rates, tokens), tokens, requests: 0n };
}
