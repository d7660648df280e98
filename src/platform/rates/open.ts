/** Opens the limiter that the settings name: Redis where there is a URL, else this process's memory. */
import type { Log } from '../log.ts';
import { createMemoryRateLimiter } from './memory.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { createRedisRateLimiter } from './redis.ts';

export interface RateLimiterOptions {
  readonly redisUrl: string | undefined;
  readonly log: Log;
  /** How many live processes share the limits. */
  share(): number;
}

/** Does not wait for Redis: until it answers, this process counts by itself. */
export function openRateLimiter({ redisUrl, log, share }: RateLimiterOptions): RateLimiter {
  return redisUrl === undefined
    ? createMemoryRateLimiter({ share })
    : createRedisRateLimiter({ url: redisUrl, log, share });
}
