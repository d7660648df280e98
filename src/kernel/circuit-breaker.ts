/**
 * A circuit breaker as pure functions of time. Closed: calls pass. Open: the target failed too often. Half-open: the wait is over,
 * and one call per interval may try whether the target works again.
 *
 * An undefined state is that of a breaker without a recent failure, so that healthy targets need no state.
 */

export interface BreakerRules {
  /** Consecutive failures that open the breaker. */
  readonly failuresMax: number;
  /** Number of recent outcomes among which failures are counted; at most 31, because they are stored as bits of one integer. */
  readonly window: number;
  /** Failures in a full window that open the breaker. */
  readonly windowFailuresMax: number;
  /** Time that the breaker stays open at first; doubles with each failed trial. */
  readonly waitMs: number;
  readonly waitMaxMs: number;
  /** Minimum time between two trials. */
  readonly trialEveryMs: number;
}

export interface BreakerState {
  readonly consecutiveFailures: number;
  /** The last outcomes, one bit each, the newest lowest; 1 is a failure. */
  readonly outcomes: number;
  readonly outcomeCount: number;
  /** Null while closed. */
  readonly openedAtMs: number | null;
  readonly waitMs: number;
  /** Time of the last trial; 0 before the first one. */
  readonly triedAtMs: number;
}

export const breakerPhases = ['closed', 'open', 'half_open'] as const;
export type BreakerPhase = (typeof breakerPhases)[number];

export function phaseOf(state: BreakerState | undefined, nowMs: number): BreakerPhase {
  if (state === undefined || state.openedAtMs === null) {
    return 'closed';
  }
  return nowMs < state.openedAtMs + state.waitMs ? 'open' : 'half_open';
}

export function afterFailure(
  state: BreakerState | undefined,
  rules: BreakerRules,
  nowMs: number,
): BreakerState {
  switch (phaseOf(state, nowMs)) {
    case 'open':
      // The failed calls began before the breaker opened, or had no other target. They do not lengthen the wait.
      return state as BreakerState;
    case 'half_open':
      return opened(
        state as BreakerState,
        nowMs,
        Math.min((state as BreakerState).waitMs * 2, rules.waitMaxMs),
      );
    case 'closed': {
      const next = withOutcome(state ?? untouched(rules), rules, true);
      const isFull = next.outcomeCount === rules.window;
      const opens =
        next.consecutiveFailures >= rules.failuresMax ||
        (isFull && failuresIn(next.outcomes) >= rules.windowFailuresMax);
      return opens ? opened(next, nowMs, rules.waitMs) : next;
    }
  }
}

export function afterSuccess(
  state: BreakerState | undefined,
  rules: BreakerRules,
  nowMs: number,
): BreakerState | undefined {
  if (state === undefined) {
    return undefined;
  }
  switch (phaseOf(state, nowMs)) {
    case 'open':
      // A target that fails only sometimes also succeeds sometimes. So only the trial after the wait closes the breaker.
      return state;
    case 'half_open':
      return undefined;
    case 'closed': {
      const next = withOutcome(state, rules, false);
      return next.outcomes === 0 ? undefined : next;
    }
  }
}

/** Returns the state with the trial recorded, or undefined if no call may try the target now. */
export function tryHalfOpen(
  state: BreakerState,
  rules: BreakerRules,
  nowMs: number,
): BreakerState | undefined {
  return phaseOf(state, nowMs) === 'half_open' && nowMs >= state.triedAtMs + rules.trialEveryMs
    ? { ...state, triedAtMs: nowMs }
    : undefined;
}

function untouched({ waitMs }: BreakerRules): BreakerState {
  return { consecutiveFailures: 0, outcomes: 0, outcomeCount: 0, openedAtMs: null, waitMs, triedAtMs: 0 };
}

function opened(state: BreakerState, nowMs: number, waitMs: number): BreakerState {
  return { ...state, openedAtMs: nowMs, waitMs, triedAtMs: 0 };
}

function withOutcome(state: BreakerState, { window }: BreakerRules, failed: boolean): BreakerState {
  return {
    ...state,
    consecutiveFailures: failed ? state.consecutiveFailures + 1 : 0,
    outcomes: ((state.outcomes << 1) | (failed ? 1 : 0)) & (2 ** window - 1),
    outcomeCount: Math.min(state.outcomeCount + 1, window),
  };
}

function failuresIn(outcomes: number): number {
  let count = 0;
  for (let rest = outcomes; rest !== 0; rest &= rest - 1) {
    count += 1;
  }
  return count;
}
