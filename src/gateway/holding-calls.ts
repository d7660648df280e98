/** The calls in progress that hold a part of a limit, for which a denied call must wait. */
import { ApiError } from '../contract/api-error.ts';
import { formatUsd, parseUsd } from '../kernel/money.ts';
import { ExplainedDenial } from './errors/explained-denial.ts';

/** A call in progress of this process, in the limit that denied another call. */
export interface HoldingCall {
  readonly heldNanos: bigint;
  /** Time after which the call is expected to have ended. */
  readonly restMs: number;
}

interface DeniedAmounts {
  readonly cap_usd?: string;
  readonly limit_usd?: string;
  readonly spent_usd: string;
  readonly held_usd: string;
  readonly reserved_usd?: string;
  readonly attempted_usd: string;
}

const retrySecondsMax = 3_600;
/** Time to wait for calls of other processes, whose durations are not known here. */
const elsewhereSeconds = 10;

/**
 * Adds the calls that hold a part of the limit to its denial. If the call fits once they have ended, the denial also says when enough
 * of them are expected to.
 */
export function withHoldingCalls(
  error: unknown,
  now: Date,
  callsIn: (counterKey: string) => readonly HoldingCall[],
): unknown {
  if (
    !(error instanceof ApiError) ||
    error.counterKey === undefined ||
    (error.code !== 'budget_exceeded' && error.code !== 'spend_cap_exceeded')
  ) {
    return error;
  }
  const calls = callsIn(error.counterKey);
  const details = error.details as DeniedAmounts;
  const retryIn = (seconds: number) => ({
    seconds,
    at: new Date(now.getTime() + seconds * 1_000).toISOString(),
  });
  if (calls.length === 0) {
    return details.reserved_usd === undefined
      ? error
      : new ExplainedDenial(error, `Try again in ${elsewhereSeconds} s.`, retryIn(elsewhereSeconds));
  }
  const held = calls.reduce((sum, { heldNanos }) => sum + heldNanos, 0n);
  const holding =
    calls.length === 1
      ? `1 call in progress holds $${formatUsd(held)} of this limit`
      : `${calls.length} calls in progress hold $${formatUsd(held)} of this limit`;
  const seconds = secondsUntilRoom(details, calls);
  if (seconds === undefined) {
    return new ExplainedDenial(error, `${holding}.`);
  }
  return new ExplainedDenial(error, `${holding}. Try again in ${seconds} s.`, retryIn(seconds));
}

/** Returns undefined if the call does not fit even after all holds have ended without a cost. */
function secondsUntilRoom(details: DeniedAmounts, calls: readonly HoldingCall[]): number | undefined {
  const capacity = nanosOf(details.limit_usd ?? details.cap_usd ?? '0');
  const needed = nanosOf(details.spent_usd) + nanosOf(details.attempted_usd);
  if (needed - nanosOf(details.held_usd) > capacity) {
    return undefined;
  }
  // What is kept free for calls in progress is free once they have ended.
  const reserved = nanosOf(details.reserved_usd ?? '0');
  const reservedForEach = reserved / BigInt(calls.length);
  let missing = needed + reserved - capacity;
  let restMs = 0;
  for (const call of [...calls].sort((a, b) => a.restMs - b.restMs)) {
    if (missing <= 0n) {
      break;
    }
    missing -= call.heldNanos + reservedForEach;
    restMs = call.restMs;
  }
  return Math.min(retrySecondsMax, Math.max(1, Math.ceil(restMs / 1_000)));
}

function nanosOf(usd: string): bigint {
  return parseUsd(usd) ?? 0n;
}
