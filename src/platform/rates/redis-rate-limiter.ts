/**
 * Counts rates in Redis or Valkey, so that any number of processes share them exactly. While Redis is unavailable or too slow,
 * rates are counted without it; a broken connection is replaced in the background. Neither side takes over the meters of the other:
 * an outage starts with the meters of this process, and a Redis that has lost its data starts with unused ones. Rates are not
 * persisted.
 */
import type { Log } from '../log.ts';
import {
  allowed,
  type RateDebit,
  type RateLimiter,
  type RateVerdict,
  returnedDebits,
} from './rate-limiter.ts';
import { openRedis, type RedisConnection } from './redis-connection.ts';
import { type ScriptCall, scriptCall, verdictOf } from './redis-script.ts';

export interface RedisRateLimiter extends RateLimiter {
  /** True while rates are counted in Redis. */
  readonly connected: boolean;
}

export interface RedisOptions {
  readonly url: string;
  readonly log: Log;
  /** Counts the rates while Redis is unavailable. It is closed together with this limiter. */
  readonly withoutRedis: RateLimiter;
  readonly answerWithinMs?: number;
  readonly retryEveryMs?: number;
}

/** A trial write after connecting. A Redis that cannot write is unusable, even if it responds. */
const trial: readonly RateDebit[] = [{ key: 'trial:', limit: 1n, windowSeconds: 1, burst: 1n, amount: 0n }];

export function createRedisRateLimiter(options: RedisOptions): RedisRateLimiter {
  const { url, log, withoutRedis, answerWithinMs = 100, retryEveryMs = 1_000 } = options;
  /** Debits that were taken without Redis. They must not be given back to it. */
  const takenWithoutRedis = new WeakSet<readonly RateDebit[]>();
  /** The current connection; undefined while Redis is unavailable. */
  let connection: RedisConnection | undefined;
  let outageLogged = false;
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let connecting = connect();

  function takeWithoutRedis(debits: readonly RateDebit[], nowMs: number): RateVerdict | Promise<RateVerdict> {
    takenWithoutRedis.add(debits);
    return withoutRedis.take(debits, nowMs);
  }

  async function takeFromRedis(
    redis: RedisConnection,
    debits: readonly RateDebit[],
    nowMs: number,
  ): Promise<RateVerdict> {
    try {
      return verdictOf(debits, await responseOf(redis, scriptCall('take', debits)));
    } catch (error) {
      disconnect(redis, error);
      return takeWithoutRedis(debits, nowMs);
    }
  }

  function responseOf(redis: RedisConnection, call: ScriptCall): Promise<readonly number[]> {
    return withTimeout(redis.run(call), answerWithinMs);
  }

  async function connect(): Promise<void> {
    let opened: RedisConnection | undefined;
    try {
      const { signal } = closing;
      opened = await openRedis({
        url,
        signal,
        lost: (error) => opened !== undefined && disconnect(opened, error),
      });
      await responseOf(opened, scriptCall('take', trial));
      signal.throwIfAborted();
      connection = opened;
      if (outageLogged) {
        outageLogged = false;
        log.info('Redis is available again; request rates are counted there');
      }
    } catch (error) {
      opened?.destroy();
      retryLater(error);
    }
  }

  /** Drops the connection. Many requests may fail at the same time, but only the first one disconnects. */
  function disconnect(redis: RedisConnection, error: unknown): void {
    if (connection === redis) {
      connection = undefined;
      redis.destroy();
      retryLater(error);
    }
  }

  function retryLater(error: unknown): void {
    if (closing.signal.aborted) {
      return;
    }
    if (!outageLogged) {
      outageLogged = true;
      log.warn({ reason: String(error) }, 'Redis is unavailable; request rates are counted without it');
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
        ? takeWithoutRedis(debits, nowMs)
        : takeFromRedis(connection, debits, nowMs);
    },
    giveBack(debits, nowMs, amounts) {
      if (takenWithoutRedis.delete(debits)) {
        withoutRedis.giveBack(debits, nowMs, amounts);
      } else if (connection !== undefined && debits.length > 0) {
        const redis = connection;
        responseOf(redis, scriptCall('back', returnedDebits(debits, amounts))).catch((error) =>
          disconnect(redis, error),
        );
      }
    },
    async close() {
      closing.abort();
      clearTimeout(timer);
      connection?.destroy();
      connection = undefined;
      await connecting;
      await withoutRedis.close();
    },
  };
}

/**
 * Rejects after a timeout. If this process was busy, timers run before received data is read, so the response gets one more turn of
 * the event loop.
 */
function withTimeout<Value>(response: Promise<Value>, withinMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(() => reject(new Error(`Redis did not respond within ${withinMs} ms`)));
    }, withinMs);
    response.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
