/** Retry schedule of failed deliveries. */

/** Delay before each attempt, from the previous one; about three days in total. */
export const attemptDelaysSeconds = [
  0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
] as const;

/** Random part of a delay; spreads the retries of deliveries that failed together. */
const jitter = 0.1;
/** Maximum `Retry-After` that is honored. */
const retryAfterSecondsMax = 86_400;

export interface FailedDelivery {
  /** Number of attempts, including this one. */
  readonly attempts: number;
  readonly at: Date;
  /** `Retry-After` header of the response. */
  readonly retryAfter: string | undefined;
}

/** Returns undefined if that was the last attempt. */
export function nextAttemptAt(
  { attempts, at, retryAfter }: FailedDelivery,
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

/** Parses seconds or a date; 0 if it is neither. */
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
