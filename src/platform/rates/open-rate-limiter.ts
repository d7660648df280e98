/** Opens the limiter that the settings name: Redis where there is a URL, else this process's memory. */
import type { Log } from '../log.ts';
import { createMemoryRateLimiter } from './in-memory-rate-limiter.ts';
import type { RateLimiter } from './rate-limiter.ts';

export interface RateLimiterOptions {
  readonly redisUrl: string | undefined;
  readonly log: Log;
  /** How many live processes share the limits. */
  share(): number;
}

/** Does not wait for Redis: until it answers, this process counts by itself. */
export async function openRateLimiter({ redisUrl, log, share }: RateLimiterOptions): Promise<RateLimiter> {
  if (redisUrl === undefined) {
    return createMemoryRateLimiter({ share });
  }
  // Its client is loaded only where it is used: that takes a tenth of a second of the start.
  const { createRedisRateLimiter } = await import('./redis-rate-limiter.ts');
  return createRedisRateLimiter({ url: redisUrl, log, share });
}
