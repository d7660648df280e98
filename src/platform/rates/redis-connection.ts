/** One connection to Redis or Valkey, or one to each node where the address leads to a cluster. */
import { type CommandParser, createClient, createCluster, defineScript } from '@redis/client';
import { rateScript, type ScriptCall } from './redis-script.ts';

export interface RedisConnection {
  /** Runs the script of `redis-script.ts`. */
  run(call: ScriptCall): Promise<readonly number[]>;
  /** Ends it at once, whatever is still waited for. */
  destroy(): void;
}

const connectWithinMs = 2_000;
/** An idle connection that has died without a word is noticed, and one that was given up while connecting is ended. */
const pingEveryMs = 5_000;
const silentForMs = 15_000;
const queuedCommandsMax = 10_000;

const scripts = {
  rates: defineScript({
    SCRIPT: rateScript,
    parseCommand(parser: CommandParser, { keys, args }: ScriptCall) {
      parser.pushKeysLength(keys);
      parser.push(...args);
    },
    transformReply: (reply: unknown) => reply as number[],
  }),
};

/** Nothing reconnects by itself: whoever loses the connection opens another, and finds out anew what is there. */
const common = {
  RESP: 2,
  disableOfflineQueue: true,
  commandsQueueMaxLength: queuedCommandsMax,
  pingInterval: pingEveryMs,
} as const;
const socketOptions = () => ({
  connectTimeout: connectWithinMs,
  socketTimeout: silentForMs,
  reconnectStrategy: false as const,
});

export interface OpenOptions {
  readonly url: string;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
  /** Called when the connection breaks later on. */
  lost(error: unknown): void;
}

/** Rejects when nothing answers there in time. */
export async function openRedis({ url, signal, lost }: OpenOptions): Promise<RedisConnection> {
  const client = createClient({ ...common, url, scripts, socket: socketOptions() });
  client.on('error', lost);
  const connection: RedisConnection = {
    run: (call) => client.rates(call),
    destroy: () => client.isOpen && client.destroy(),
  };
  const isCluster = await attempt(connection, signal, async () => {
    await client.connect();
    return /^cluster_enabled:1\r?$/m.test(String(await client.info('cluster')));
  });
  if (!isCluster) {
    return connection;
  }
  connection.destroy();
  return openCluster({ url, signal, lost });
}

async function openCluster({ url, signal, lost }: OpenOptions): Promise<RedisConnection> {
  const { username, password, protocol } = new URL(url);
  const cluster = createCluster({
    RESP: common.RESP,
    scripts,
    rootNodes: [{ url, socket: socketOptions() }],
    // The nodes that are found are reached with nothing but these.
    defaults: {
      ...common,
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      socket: { ...socketOptions(), ...(protocol === 'rediss:' && { tls: true as const }) },
    },
  });
  cluster.on('error', lost);
  cluster.on('node-error', lost);
  const connection: RedisConnection = {
    run: (call) => cluster.rates(call),
    destroy: () => cluster.isOpen && cluster.destroy(),
  };
  await attempt(connection, signal, () => cluster.connect());
  return connection;
}

/** A server may accept the connection and then say nothing: whatever is not done in time is given up. */
async function attempt<Result>(
  { destroy }: RedisConnection,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  let giveUp: () => void = () => undefined;
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = () => reject(new Error('there was no answer in time'));
  });
  const timer = setTimeout(giveUp, connectWithinMs);
  signal.addEventListener('abort', giveUp);
  try {
    return await Promise.race([work(), givenUp]);
  } catch (error) {
    destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  }
}
