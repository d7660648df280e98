/** Opens the rate limiter that the settings select: Redis if there is a URL, else in memory. */
import type { Log } from '../log.ts';
import { createInMemoryRateLimiter } from './in-memory-rate-limiter.ts';
import type { RateLimiter } from './rate-limiter.ts';

export interface RateLimiterOptions {
  readonly redisUrl: string | undefined;
  readonly log: Log;
  /** Number of live processes that share the limits. */
  share(): number;
}

/** Does not wait for Redis: until it is connected, this process counts in memory. */
export async function openRateLimiter({ redisUrl, log, share }: RateLimiterOptions): Promise<RateLimiter> {
  if (redisUrl === undefined) {
    return createInMemoryRateLimiter({ share });
  }
  // The client is loaded only if it is used: loading takes a tenth of a second of the start.
  const { createRedisRateLimiter } = await import('./redis-rate-limiter.ts');
  return createRedisRateLimiter({ url: redisUrl, log, share });
}
