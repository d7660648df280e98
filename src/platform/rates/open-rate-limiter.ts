/**
 * Opens the rate limiter of a process: in memory if the process is alone (embedded engine), otherwise in PostgreSQL. With a Redis
 * URL it is in Redis, and as without the URL while Redis is unavailable.
 */
import type { Database } from '../db/database.ts';
import type { Log } from '../log.ts';
import type { SharedClock } from '../time/clock.ts';
import { createInMemoryRateLimiter } from './in-memory-rate-limiter.ts';
import { createPostgresRateLimiter } from './postgres-rate-limiter.ts';
import type { RateLimiter } from './rate-limiter.ts';

export interface RateLimiterOptions {
  readonly redisUrl: string | undefined;
  readonly db: Database;
  readonly clock: SharedClock;
  readonly log: Log;
  /** Returns the number of live processes that share the limits. */
  share(): number;
}

/** Opens the limiter. Does not wait for Redis: rates are counted without it until it is connected. */
export async function openRateLimiter(options: RateLimiterOptions): Promise<RateLimiter> {
  const { redisUrl, db, log, share } = options;
  const limiter =
    db.engine === 'embedded' ? createInMemoryRateLimiter({ share }) : createPostgresRateLimiter(options);
  if (redisUrl === undefined) {
    return limiter;
  }
  // Only loaded if it is used, because loading takes a tenth of a second of the start.
  const { createRedisRateLimiter } = await import('./redis-rate-limiter.ts');
  return createRedisRateLimiter({ url: redisUrl, log, withoutRedis: limiter });
}
