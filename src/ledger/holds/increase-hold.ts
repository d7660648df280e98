/**
 * Increases an open hold, in the same way on both engines. The caller stores the returned hold and makes it durable. The hold
 * contains the ids of the last requests that increased it, so the ids become durable together with their effect. A retry after a
 * lost response finds its id and changes nothing.
 */
import { applicableCounters } from '../../kernel/admission.ts';
import { admitIncrease, type Increase, reserveIncrease, undoIncrease } from '../../kernel/increase.ts';
import { maxNanos } from '../../kernel/money.ts';
import { maxTokens } from '../../kernel/prices.ts';
import type { Hold } from './hold.ts';
import type { HoldIncrease, IncreaseResult } from './hold-request.ts';
import type { MissingCounter, OrgLedgerState } from './org-ledger-state.ts';

/** Number of ids kept in a hold. After this many other increases of the same hold, a retry is not recognized any more. */
const increasesKept = 16;

/** Returns the counters that must exist before the hold can be increased. */
export function countersForIncrease({ limits }: OrgLedgerState, hold: Hold): MissingCounter[] {
  const { scope, admittedAtMs, surface } = hold;
  return applicableCounters(limits, scope, admittedAtMs, surface).counters.map((limitWindow) => ({
    limitWindow,
    scope,
  }));
}

export type IncreasedHold =
  | { readonly kind: 'increased'; readonly hold: Hold; readonly increase: Increase }
  /** The request was applied before. */
  | { readonly kind: 'repeated' }
  | Extract<IncreaseResult, { kind: 'denied' | 'out_of_range' }>;

/** Reserves the increase in the counters, or denies and changes nothing. Raises that have ended since the admission do not count. */
export function increaseHold(
  orgState: OrgLedgerState,
  hold: Hold,
  { by, requestId, growth, attemptMaxNanos }: HoldIncrease,
  nowMs: number,
): IncreasedHold {
  if (isApplied(hold, requestId)) {
    return { kind: 'repeated' };
  }
  const { scope, admittedAtMs, surface, amounts } = hold;
  if (amounts.usd + by.usd > maxNanos || amounts.tokens + by.tokens > maxTokens) {
    return { kind: 'out_of_range' };
  }
  const admission = admitIncrease(orgState.counters, {
    limits: orgState.limits,
    scope,
    reservation: hold,
    by,
    growth,
    atMs: admittedAtMs,
    applicable: applicableCounters(orgState.limits, scope, admittedAtMs, surface, nowMs),
  });
  if (admission.kind === 'denied') {
    return admission;
  }
  reserveIncrease(orgState.counters, hold, admission);
  const { goesOn } = hold;
  const increased: Hold = {
    ...hold,
    ...admission.reservation,
    ...(goesOn !== undefined &&
      attemptMaxNanos !== undefined && {
        // The hold of the earlier attempts does not grow any more.
        goesOn: { ...goesOn, maxUsd: String(amounts.usd + attemptMaxNanos) },
      }),
  };
  return {
    kind: 'increased',
    increase: admission,
    hold:
      requestId === null
        ? increased
        : { ...increased, increases: [...(hold.increases ?? []), requestId].slice(-increasesKept) },
  };
}

export function isApplied({ increases }: Hold, requestId: string | null): boolean {
  return requestId !== null && increases?.includes(requestId) === true;
}

/** Releases an increase that could not be made durable. `hold` is the current hold, which may have changed since the increase. */
export function holdWithoutIncrease(
  { counters }: OrgLedgerState,
  hold: Hold,
  increase: Increase,
  requestId: string | null,
): Hold {
  const { growth: _, ...before } = hold;
  const { increases, ...rest } = { ...before, ...undoIncrease(counters, hold, increase) };
  const remaining = increases?.filter((id) => id !== requestId) ?? [];
  return remaining.length === 0 ? rest : { ...rest, increases: remaining };
}
