/**
 * The header fields `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10: the request rates that apply to
 * a request, and the remaining requests.
 */
import type { RateDebit, RateVerdict } from '../../rates/rate-limiter.ts';

export interface RateLimitHeaders {
  readonly 'ratelimit-policy': string;
  readonly ratelimit: string;
}

/** The largest integer in a structured field. */
const integerMax = 999_999_999_999_999n;

/** Returns the header fields. `names` are the ids of the limits, in the order of the debits. */
export function rateLimitHeaders(
  names: readonly string[],
  debits: readonly RateDebit[],
  verdict: RateVerdict,
): RateLimitHeaders {
  return {
    'ratelimit-policy': debits.map((debit, index) => `"${names[index]}"${policyOf(debit)}`).join(', '),
    ratelimit: (verdict.allowed ? remainingOf(debits, verdict) : availableOf(verdict))
      .map(({ index, ...state }) => `"${names[index]}"${stateOf(state)}`)
      .join(', '),
  };
}

interface RateState {
  readonly index: number;
  readonly remaining: bigint;
  /** Seconds until everything is available; undefined if that never happens. */
  readonly resetSeconds: number | undefined;
}

function policyOf({ limit, windowSeconds, burst, rolling }: RateDebit): string {
  const policy = `;q=${integer(limit)};w=${windowSeconds}`;
  return rolling === true || burst === limit ? policy : `${policy};purser-burst=${integer(burst)}`;
}

function stateOf({ remaining, resetSeconds }: Omit<RateState, 'index'>): string {
  return `;r=${integer(remaining)}${resetSeconds === undefined ? '' : `;t=${resetSeconds}`}`;
}

function remainingOf(
  debits: readonly RateDebit[],
  { remaining = [] }: Extract<RateVerdict, { allowed: true }>,
): RateState[] {
  return remaining.map((left, index) => ({
    index,
    remaining: left,
    resetSeconds: resetSeconds(debits[index] as RateDebit, left),
  }));
}

/** Returns the state of the rates that deny the request; the others may have room. `Retry-After` is the time until all of them allow it. */
function availableOf({
  available,
  retryAfterSeconds,
}: Extract<RateVerdict, { allowed: false }>): RateState[] {
  return available.map(({ index, amount }) => ({
    index,
    remaining: amount,
    resetSeconds: retryAfterSeconds,
  }));
}

/** Returns the seconds until everything is available again, if nothing else is taken. */
function resetSeconds({ limit, windowSeconds, burst, rolling }: RateDebit, left: bigint): number | undefined {
  if (rolling === true) {
    return windowSeconds;
  }
  const missing = burst > left ? burst - left : 0n;
  return limit === 0n ? undefined : Number((missing * BigInt(windowSeconds) + limit - 1n) / limit);
}

function integer(value: bigint): bigint {
  return value > integerMax ? integerMax : value;
}
