/**
 * Rates as pure functions of time, exact to the last unit.
 *
 * A token bucket holds up to `burst` units and fills by `limit` units per window, evenly. What fills in one millisecond
 * is seldom a whole unit, so levels are counted in steps of which a whole number comes in each millisecond: nothing is
 * rounded, and nothing drifts.
 *
 * A rolling window lets at most `limit` units pass in any window's length. It remembers what passed and when. Exact to
 * the millisecond that would be an entry for each call; so calls that come closely together, within a sixtieth of the
 * window, share an entry that counts until the last of them is old enough. The limit is never exceeded; under load a
 * unit may come back a sixtieth of the window late; and sixty-two entries are the most there can be. (The usual two
 * counters with a weighted sum need less room, and let half as much again pass when the calls come at the right time.)
 *
 * Time that goes backwards gives nothing away: until it has caught up, it stands still.
 */

export interface Rate {
  readonly limit: bigint;
  readonly windowSeconds: number;
  /** How much may pass at once. A rolling window has no use for it. */
  readonly burst: bigint;
  /**
   * Among how many the rate is divided evenly; each has a meter of its own. What is more than a share, and not more than
   * the whole, passes when the share is untouched, and is paid back from what comes in later.
   */
  readonly shares: number;
}

export type TakeResult<State> =
  | { readonly allowed: true; readonly state: State }
  | {
      readonly allowed: false;
      /** More than ever passes at once. The wait is then the one for an untouched meter. */
      readonly never: boolean;
      readonly retryAfterSeconds: number;
    };

/** Times are whole milliseconds. Undefined stands for the state of a meter that nothing was taken from. */
export interface RateMeter<State> {
  take(rate: Rate, state: State | undefined, amount: bigint, nowMs: number): TakeResult<State>;
  /** Undoes a take that was allowed a moment ago. */
  giveBack(rate: Rate, state: State, amount: bigint, nowMs: number): State;
  /** From when on the state is that of an untouched meter, and can be forgotten. */
  untouchedAtMs(rate: Rate, state: State): number;
}

export interface Bucket {
  /** In steps. Below zero when more than a share was taken at once. */
  readonly level: bigint;
  readonly stepsPerUnit: bigint;
  readonly atMs: number;
}

/** Each millisecond brings `limit` steps. */
function stepsPerUnit({ windowSeconds, shares }: Rate): bigint {
  return BigInt(windowSeconds) * 1_000n * BigInt(shares);
}

/** A share of the burst, in steps. */
function bucketSize({ burst, windowSeconds }: Rate): bigint {
  return burst * BigInt(windowSeconds) * 1_000n;
}

/** What a bucket holds now, also when the rate has changed since. */
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

/** The wait until a bucket lets an amount pass, if nobody else takes from it; the amount is at most the burst. */
export function bucketWaitSeconds(rate: Rate, bucket: Bucket, amount: bigint, nowMs: number): number {
  const wanted = least(amount * bucket.stepsPerUnit, bucketSize(rate));
  const fullMs = rate.limit === 0n ? rate.windowSeconds * 1_000 : fillMs(rate, wanted - bucket.level);
  return wholeSeconds(bucket.atMs - nowMs + fullMs);
}

function fillMs({ limit }: Rate, steps: bigint): number {
  return Number((steps + limit - 1n) / limit);
}

export const tokenBucket: RateMeter<Bucket> = {
  take(rate, state, amount, nowMs) {
    const bucket = bucketAt(rate, state, nowMs);
    const taken = amount * bucket.stepsPerUnit;
    const never = amount > rate.burst;
    if (never || bucket.level < least(taken, bucketSize(rate))) {
      const retryAfterSeconds = bucketWaitSeconds(rate, bucket, amount, nowMs);
      return { allowed: false, never, retryAfterSeconds };
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
};

/** Calls that passed closely together, oldest first. */
export type Rolling = readonly RollingEntry[];

interface RollingEntry {
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly amount: bigint;
}

/** The parts of a window within which calls share an entry. */
export const rollingParts = 60;

/** Of a rolling window; at least one unit, since one that lets nothing pass would shut out whoever meets it. */
function shareOf({ limit, shares }: Rate): bigint {
  const share = limit / BigInt(shares);
  return share > 0n ? share : 1n;
}

export const rollingWindow: RateMeter<Rolling> = {
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
      rate.limit === 0n ? windowMs : whenGone(live, never ? total(live) : excess, windowMs, nowMs) - nowMs;
    return { allowed: false, never, retryAfterSeconds: wholeSeconds(waitMs) };
  },
  /** From the newest entries: a take is given back within the same request. */
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
};

function withEntry(live: Rolling, amount: bigint, atMs: number, partMs: number): Rolling {
  const last = live.at(-1);
  return last !== undefined && atMs - last.firstAtMs < partMs
    ? [...live.slice(0, -1), { ...last, lastAtMs: atMs, amount: last.amount + amount }]
    : [...live, { firstAtMs: atMs, lastAtMs: atMs, amount }];
}

/** When so many of the oldest entries have left the window that they make up the excess. */
function whenGone(entries: Rolling, excess: bigint, windowMs: number, nowMs: number): number {
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

/** Whoever waits that long finds the time passed; never zero, which clients would take for "at once". */
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
