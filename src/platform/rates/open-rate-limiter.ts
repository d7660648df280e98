/**
 * Opens the rate limiter of a process: in memory if the process is alone (embedded engine), else in PostgreSQL; in Redis if there is a
 * URL, and as without it while Redis is unavailable.
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
  /** Number of live processes that share the limits. */
  share(): number;
}

/** Does not wait for Redis: until it is connected, rates are counted without it. */
export async function openRateLimiter(options: RateLimiterOptions): Promise<RateLimiter> {
  const { redisUrl, db, log, share } = options;
  const limiter =
    db.engine === 'embedded' ? createInMemoryRateLimiter({ share }) : createPostgresRateLimiter(options);
  if (redisUrl === undefined) {
    return limiter;
  }
  // The client is loaded only if it is used: loading takes a tenth of a second of the start.
  const { createRedisRateLimiter } = await import('./redis-rate-limiter.ts');
  return createRedisRateLimiter({ url: redisUrl, log, withoutRedis: limiter });
}
