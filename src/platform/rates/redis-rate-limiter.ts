/**
 * Rates counted in Redis or Valkey, so that any number of processes share them exactly. When Redis is away, or too slow
 * to wait for, this process counts by itself and lets its share pass; a broken connection is replaced in the background.
 * An outage starts with untouched meters, in this process as in a Redis that has lost its memory: rates are not kept on
 * disk.
 */
import type { Log } from '../log.ts';
import { createMemoryRateLimiter } from './in-memory-rate-limiter.ts';
import { allowed, type RateLimiter, type RateTake, type RateVerdict } from './rate-limiter.ts';
import { openRedis, type RedisConnection } from './redis-connection.ts';
import { type ScriptCall, scriptCall, verdictOf } from './redis-script.ts';

export interface RedisRateLimiter extends RateLimiter {
  /** Whether Redis counts at this moment. */
  readonly connected: boolean;
}

export interface RedisOptions {
  readonly url: string;
  readonly log: Log;
  /** Among how many live processes the limits are divided while Redis is away. */
  share(): number;
  readonly answerWithinMs?: number;
  readonly retryEveryMs?: number;
}

/** Written for a moment by whoever connects: a Redis that cannot write is of no use, whatever else it answers. */
const trial: readonly RateTake[] = [{ key: 'trial:', limit: 1n, windowSeconds: 1, burst: 1n, amount: 0n }];

export function createRedisRateLimiter(options: RedisOptions): RedisRateLimiter {
  const { url, log, share, answerWithinMs = 100, retryEveryMs = 1_000 } = options;
  const memory = createMemoryRateLimiter({ share });
  /** What was taken while Redis was away must not be given back to Redis. */
  const takenFromMemory = new WeakSet<readonly RateTake[]>();
  /** Undefined while Redis is away. */
  let connection: RedisConnection | undefined;
  let outageIsKnown = false;
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let connecting = connect();

  function takeFromMemory(debits: readonly RateTake[], nowMs: number): RateVerdict {
    const verdict = memory.take(debits, nowMs);
    if (verdict.allowed) {
      takenFromMemory.add(debits);
    }
    return verdict;
  }

  async function takeFromRedis(
    redis: RedisConnection,
    debits: readonly RateTake[],
    nowMs: number,
  ): Promise<RateVerdict> {
    try {
      return verdictOf(debits, await answerOf(redis, scriptCall('take', debits)));
    } catch (error) {
      lose(redis, error);
      return takeFromMemory(debits, nowMs);
    }
  }

  function answerOf(redis: RedisConnection, call: ScriptCall): Promise<readonly number[]> {
    return inTime(redis.run(call), answerWithinMs);
  }

  async function connect(): Promise<void> {
    let opened: RedisConnection | undefined;
    try {
      const { signal } = closing;
      opened = await openRedis({
        url,
        signal,
        lost: (error) => opened !== undefined && lose(opened, error),
      });
      await answerOf(opened, scriptCall('take', trial));
      signal.throwIfAborted();
      connection = opened;
      if (outageIsKnown) {
        outageIsKnown = false;
        log.info('Redis is back: request rates are counted there again');
      }
    } catch (error) {
      opened?.destroy();
      away(error);
    }
  }

  /** Many requests may find out at the same time. */
  function lose(redis: RedisConnection, error: unknown): void {
    if (connection === redis) {
      connection = undefined;
      redis.destroy();
      away(error);
    }
  }

  function away(error: unknown): void {
    if (closing.signal.aborted) {
      return;
    }
    if (!outageIsKnown) {
      outageIsKnown = true;
      log.warn({ reason: String(error) }, 'Redis is away: each process lets its share of request rates pass');
    }
    timer = setTimeout(
      () => {
        connecting = connect();
      },
      retryEveryMs * (0.75 + Math.random() / 2),
    );
    timer.unref();
  }

  return {
    get connected() {
      return connection !== undefined;
    },
    take(debits, nowMs) {
      if (debits.length === 0) {
        return allowed;
      }
      return connection === undefined
        ? takeFromMemory(debits, nowMs)
        : takeFromRedis(connection, debits, nowMs);
    },
    giveBack(debits, nowMs) {
      if (takenFromMemory.delete(debits)) {
        memory.giveBack(debits, nowMs);
      } else if (connection !== undefined && debits.length > 0) {
        const redis = connection;
        answerOf(redis, scriptCall('back', debits)).catch((error) => lose(redis, error));
      }
    },
    async close() {
      closing.abort();
      clearTimeout(timer);
      connection?.destroy();
      connection = undefined;
      await connecting;
    },
  };
}

/**
 * When this process itself was busy, timers run before what has arrived is read: so the answer gets one more turn of the
 * event loop.
 */
function inTime<Value>(answer: Promise<Value>, withinMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(() => reject(new Error(`Redis did not answer within ${withinMs} ms`)));
    }, withinMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
