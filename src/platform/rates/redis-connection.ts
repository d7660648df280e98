/** A connection to Redis or Valkey. For the address of a cluster, it has one connection to each node. */
import { type CommandParser, createClient, createCluster, defineScript } from '@redis/client';
import { rateScript, type ScriptCall } from './redis-script.ts';

export interface RedisConnection {
  /** Runs the script of `redis-script.ts`. */
  run(call: ScriptCall): Promise<readonly number[]>;
  /** Closes the connection immediately and fails pending commands. */
  destroy(): void;
}

const connectWithinMs = 2_000;
/**
 * Interval of pings, which detect idle connections that died silently. They also close connections that were abandoned while
 * connecting.
 */
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

/** The client does not reconnect by itself. The owner opens a new connection, which detects again whether it is a cluster. */
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
  /** Aborts the attempt to connect. */
  readonly signal: AbortSignal;
  /** Called when the connection breaks later. */
  lost(error: unknown): void;
}

/** Rejects if Redis does not respond in time. */
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
    // Only these options apply to discovered nodes.
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

/** Bounds the time of connecting, because a server may accept the connection and then not respond. */
async function attempt<Result>(
  { destroy }: RedisConnection,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  let giveUp: () => void = () => undefined;
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = () => reject(new Error('there was no response in time'));
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
