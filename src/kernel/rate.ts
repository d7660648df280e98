/**
 * Rate limiting as pure functions of time, exact to the last unit.
 *
 * A token bucket holds up to `burst` units and is refilled evenly by `limit` units per window. The refill per millisecond is seldom
 * a whole unit. So levels are counted in steps, and a whole number of steps is added per millisecond. Nothing is rounded unless the
 * rate changes, and levels do not drift.
 *
 * A rolling window allows at most `limit` units in any period of the window's length. It stores amounts with their times. To bound
 * the number of entries, calls within a sixtieth of the window share an entry, which counts until its last call has left the
 * window. So the limit is never exceeded, a unit may become available a sixtieth of the window late under load, and there are at
 * most 62 entries. (The usual weighted sum of two counters needs less memory, but lets a well-timed client exceed the limit by
 * half.)
 *
 * If time runs backwards, it counts as standing still until it has caught up. A state that is ahead by more than `aheadMsMax` was
 * written by a wrong clock: `notAhead` must replace it before it is used. A wait is never longer than the window, except for an
 * amount above the limit, which needs several windows.
 */

/** Requests arrive a little out of order, and the clocks of two servers differ a little. */
export const aheadMsMax = 1_000;

export interface Rate {
  readonly limit: bigint;
  readonly windowSeconds: number;
  /** Maximum amount at once. Not used by rolling windows. */
  readonly burst: bigint;
  /**
   * Number of equal shares of the rate, each with its own meter. An amount larger than a share is allowed, up to the whole, if the
   * share is untouched. Later refills repay it.
   */
  readonly shares: number;
}

export type TakeResult<State> =
  | { readonly allowed: true; readonly state: State }
  | {
      readonly allowed: false;
      /** True if the amount exceeds what the rate can ever allow. `retryAfterSeconds` is then the time until the meter is untouched. */
      readonly never: boolean;
      readonly retryAfterSeconds: number;
      /** The amount that is allowed now. */
      readonly available: bigint;
    };

/** Implements one kind of rate. Times are whole milliseconds. A state of undefined means an untouched meter. */
export interface RateMeter<State> {
  /** Returns the state moved to `nowMs` if it is too far ahead; otherwise the same object. */
  notAhead(state: State, nowMs: number): State;
  take(rate: Rate, state: State | undefined, amount: bigint, nowMs: number): TakeResult<State>;
  /** Reverts the latest take. */
  giveBack(rate: Rate, state: State, amount: bigint, nowMs: number): State;
  /** Returns the time from which the meter counts as untouched, so that its state can be deleted. */
  untouchedAtMs(rate: Rate, state: State): number;
  /** Returns the amount that is left right after a take. */
  remaining(rate: Rate, state: State): bigint;
}

export interface Bucket {
  /** Level in steps. Negative if more than a share was taken at once. */
  readonly level: bigint;
  readonly stepsPerUnit: bigint;
  readonly atMs: number;
}

/** Returns the steps per unit. With this number, exactly `limit` steps are added per millisecond. */
function stepsPerUnit({ windowSeconds, shares }: Rate): bigint {
  return BigInt(windowSeconds) * 1_000n * BigInt(shares);
}

/** Returns the size of a share of the burst, in steps. */
function bucketSize({ burst, windowSeconds }: Rate): bigint {
  return burst * BigInt(windowSeconds) * 1_000n;
}

/** Returns the bucket at this time, converted if the rate has changed since. */
export function bucketAt(rate: Rate, bucket: Bucket | undefined, nowMs: number): Bucket {
  const size = bucketSize(rate);
  const steps = stepsPerUnit(rate);
  if (bucket === undefined) {
    return { level: size, stepsPerUnit: steps, atMs: nowMs };
  }
  const before =
    bucket.stepsPerUnit === steps ? bucket.level : floorDivide(bucket.level * steps, bucket.stepsPerUnit);
  const atMs = Math.max(nowMs, bucket.atMs);
  return { level: least(size, before + rate.limit * BigInt(atMs - bucket.atMs)), stepsPerUnit: steps, atMs };
}

/**
 * Returns the wait until an amount is allowed if nothing else is taken; at most the burst is waited for. A single share may need
 * longer than a window to refill a unit. The wait ends with the window nevertheless, because another share may allow the unit by
 * then.
 */
export function bucketWaitSeconds(rate: Rate, bucket: Bucket, amount: bigint, nowMs: number): number {
  const windowMs = rate.windowSeconds * 1_000;
  if (rate.limit === 0n) {
    return wholeSeconds(windowMs);
  }
  const wanted = least(amount * bucket.stepsPerUnit, bucketSize(rate));
  const waitMs = bucket.atMs - nowMs + fillMs(rate, wanted - bucket.level);
  const wholeRateMs = fillMs(rate, least(amount, rate.burst) * BigInt(windowMs));
  return wholeSeconds(Math.min(waitMs, Math.max(windowMs, wholeRateMs)));
}

/** Returns the amount in a bucket, rounded down to whole units; zero if more than a share was taken at once. */
function wholeUnits({ level, stepsPerUnit: steps }: Bucket): bigint {
  return level > 0n ? level / steps : 0n;
}

function fillMs({ limit }: Rate, steps: bigint): number {
  return Number((steps + limit - 1n) / limit);
}

export const tokenBucket: RateMeter<Bucket> = {
  notAhead(state, nowMs) {
    return state.atMs - nowMs > aheadMsMax ? { ...state, atMs: nowMs } : state;
  },
  take(rate, state, amount, nowMs) {
    const bucket = bucketAt(rate, state, nowMs);
    const taken = amount * bucket.stepsPerUnit;
    const never = amount > rate.burst;
    if (never || bucket.level < least(taken, bucketSize(rate))) {
      const retryAfterSeconds = bucketWaitSeconds(rate, bucket, amount, nowMs);
      return { allowed: false, never, retryAfterSeconds, available: wholeUnits(bucket) };
    }
    return { allowed: true, state: { ...bucket, level: bucket.level - taken } };
  },
  giveBack(rate, state, amount, nowMs) {
    const bucket = bucketAt(rate, state, nowMs);
    return { ...bucket, level: least(bucketSize(rate), bucket.level + amount * bucket.stepsPerUnit) };
  },
  untouchedAtMs(rate, { level, atMs }) {
    const missing = bucketSize(rate) - level;
    if (missing <= 0n) {
      return atMs;
    }
    return rate.limit === 0n ? Number.POSITIVE_INFINITY : atMs + fillMs(rate, missing);
  },
  remaining: (_rate, bucket) => wholeUnits(bucket),
};

/** Entries of the window, oldest first. Each stands for calls close to each other. */
export type Rolling = readonly RollingEntry[];

interface RollingEntry {
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly amount: bigint;
}

/** Number of parts of a window; calls within the length of a part share an entry. */
export const rollingParts = 60;

/** Returns the share of a rolling window. It is at least one unit, because a share of zero would never allow anything. */
function shareOf({ limit, shares }: Rate): bigint {
  const share = limit / BigInt(shares);
  return share > 0n ? share : 1n;
}

export const rollingWindow: RateMeter<Rolling> = {
  /** Entries whose times are moved back count for one more window. */
  notAhead(state, nowMs) {
    return (state.at(-1)?.lastAtMs ?? nowMs) - nowMs > aheadMsMax
      ? state.map(({ firstAtMs, lastAtMs, amount }) => ({
          firstAtMs: Math.min(firstAtMs, nowMs),
          lastAtMs: Math.min(lastAtMs, nowMs),
          amount,
        }))
      : state;
  },
  take(rate, state = [], amount, nowMs) {
    const windowMs = rate.windowSeconds * 1_000;
    const atMs = Math.max(nowMs, state.at(-1)?.lastAtMs ?? nowMs);
    const live = state.filter(({ lastAtMs }) => lastAtMs + windowMs > atMs);
    const share = shareOf(rate);
    const never = amount > rate.limit;
    const excess = total(live) + least(amount, share) - share;
    if (!never && excess <= 0n) {
      return { allowed: true, state: withEntry(live, amount, atMs, windowMs / rollingParts) };
    }
    const waitMs =
      rate.limit === 0n
        ? windowMs
        : expiryOfExcess(live, never ? total(live) : excess, windowMs, nowMs) - nowMs;
    const left = share - total(live);
    return {
      allowed: false,
      never,
      retryAfterSeconds: wholeSeconds(Math.min(waitMs, windowMs)),
      available: left > 0n ? left : 0n,
    };
  },
  /** Takes from the newest entries, because an amount is only given back within the request that took it. */
  giveBack(_rate, state, amount) {
    const kept = [...state];
    for (let left = amount; left > 0n; ) {
      const newest = kept.pop();
      if (newest === undefined) {
        break;
      }
      if (newest.amount > left) {
        kept.push({ ...newest, amount: newest.amount - left });
      }
      left -= newest.amount;
    }
    return kept;
  },
  untouchedAtMs({ windowSeconds }, state) {
    return (state.at(-1)?.lastAtMs ?? Number.NEGATIVE_INFINITY) + windowSeconds * 1_000;
  },
  remaining(rate, state) {
    const left = shareOf(rate) - total(state);
    return left > 0n ? left : 0n;
  },
};

function withEntry(live: Rolling, amount: bigint, atMs: number, partMs: number): Rolling {
  const last = live.at(-1);
  return last !== undefined && atMs - last.firstAtMs < partMs
    ? [...live.slice(0, -1), { ...last, lastAtMs: atMs, amount: last.amount + amount }]
    : [...live, { firstAtMs: atMs, lastAtMs: atMs, amount }];
}

/** Returns the time when enough of the oldest entries have left the window to free the excess. */
function expiryOfExcess(entries: Rolling, excess: bigint, windowMs: number, nowMs: number): number {
  let left = excess;
  let goneAtMs = nowMs;
  for (const { lastAtMs, amount } of entries) {
    if (left <= 0n) {
      break;
    }
    left -= amount;
    goneAtMs = lastAtMs + windowMs;
  }
  return goneAtMs;
}

function total(entries: Rolling): bigint {
  return entries.reduce((sum, { amount }) => sum + amount, 0n);
}

/** Rounds a wait up to whole seconds; at least 1, because clients interpret 0 as an immediate retry. */
export function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a < 0n && quotient * b !== a ? quotient - 1n : quotient;
}
