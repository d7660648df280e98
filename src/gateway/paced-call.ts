/** The hold of a call that follows its time. */
import type { PacedHold } from '../growing-holds/paced-hold.ts';
import { formatUsd } from '../kernel/money.ts';
import { worstCaseOutputCost } from '../kernel/prices.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import type { GatewayContext } from './gateway-context.ts';
import { growthOf } from './hold-growth.ts';
import { outputOfUnusedInput } from './unused-input.ts';

/**
 * Returns undefined if the hold does not follow the time of the call. Calls that were allowed without the ledger have no such hold.
 * `onDenied` ends the call, because no limit allows to hold more for it.
 */
export function pacedHoldOf(
  { increaseHold, pacedHolds }: Pick<GatewayContext, 'increaseHold' | 'pacedHolds'>,
  { plan, admitted, caller }: AdmittedRequest,
  onDenied: () => void,
): PacedHold | undefined {
  if (plan.paced === undefined || admitted.runId === null) {
    return undefined;
  }
  const hold: PacedHold = pacedHolds.add({
    output: plan.paced,
    heldTokens: admitted.maxOutputTokens,
    increase: (tokens) =>
      increaseHold(
        caller.tenantId,
        admitted.decisionId,
        { cost_usd: formatUsd(worstCaseOutputCost(plan.service.rates, BigInt(tokens))), tokens },
        { growth: growthOf(plan, hold.heldTokens + tokens) },
      ),
    unusedInput: (usage) => {
      const counted = usage.usage()?.inputTokens ?? 0;
      return counted === 0 ? undefined : outputOfUnusedInput(plan, counted);
    },
    onDenied,
  });
  return hold;
}
