/** When a delivery that failed is tried again. */

/** Before each attempt, counted from the one before; about three days in all. */
export const attemptDelaysSeconds = [
  0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
] as const;

/** So that deliveries that failed together do not all come back together. */
const jitter = 0.1;
/** A receiver may ask for more patience, but not for more than this. */
const retryAfterSecondsMax = 86_400;

export interface FailedAttempt {
  /** How many attempts there were, this one included. */
  readonly attempts: number;
  readonly at: Date;
  /** What the receiver said of it. */
  readonly retryAfter: string | undefined;
}

/** Undefined: that was the last one. */
export function nextAttemptAt(
  { attempts, at, retryAfter }: FailedAttempt,
  random: () => number,
): Date | undefined {
  const delaySeconds = attemptDelaysSeconds[attempts];
  if (delaySeconds === undefined) {
    return undefined;
  }
  const jittered = delaySeconds * (1 - jitter + 2 * jitter * random());
  const askedFor = Math.min(retryAfterSeconds(retryAfter, at), retryAfterSecondsMax);
  return new Date(at.getTime() + Math.max(jittered, askedFor) * 1_000);
}

/** Seconds, or a date; 0 where it is neither. */
function retryAfterSeconds(value: string | undefined, at: Date): number {
  if (value === undefined) {
    return 0;
  }
  if (/^\d{1,9}$/.test(value)) {
    return Number(value);
  }
  const date = Date.parse(value);
  return Number.isNaN(date) ? 0 : Math.max(0, (date - at.getTime()) / 1_000);
}
