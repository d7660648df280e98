/** A private Redis made from the machine's own binary, without persistence, for as long as a test needs it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { freePort } from './free-port.ts';

/**
 * The path of the server, if the machine has one. PURSER_TEST_REQUIRE_ALL turns a missing one from a skip into a
 * failure.
 */
export function findRedis(): string | undefined {
  const places = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin'];
  const found = places
    .flatMap((place) => [join(place, 'redis-server'), join(place, 'valkey-server')])
    .find((path) => existsSync(path));
  if (found === undefined && process.env.PURSER_TEST_REQUIRE_ALL === '1') {
    throw new Error('redis-server was not found on this machine, and PURSER_TEST_REQUIRE_ALL is set');
  }
  return found;
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Ends it at once; it forgets everything. */
  kill(): Promise<void>;
  /** On the same port as before. */
  start(): Promise<void>;
  /** Accepts connections and answers nothing, until it is continued. */
  freeze(): void;
  thaw(): void;
}

const running = new Set<ChildProcess>();

/** For `afterEach`: a test that fails leaves none behind. SIGKILL also ends the frozen ones. */
export function endAllRedis(): void {
  for (const child of running) {
    child.kill('SIGKILL');
  }
}
process.once('exit', endAllRedis);

export async function startRedis(options: readonly string[] = []): Promise<RedisServer> {
  const binary = findRedis();
  if (binary === undefined) {
    throw new Error('redis-server is needed for this test');
  }
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    server = spawn(binary as string, [...settings, '--daemonize', 'no', ...options], { stdio: 'ignore' });
    running.add(server);
    const started = server;
    started.once('exit', () => running.delete(started));
    await untilItAnswers(url);
  }
  await start();
  return {
    url,
    port,
    start,
    async kill() {
      const ended = server;
      server = undefined;
      if (ended?.exitCode === null && ended.signalCode === null) {
        const gone = new Promise((resolve) => ended.once('exit', resolve));
        ended.kill('SIGKILL');
        await gone;
      }
    },
    freeze: () => void server?.kill('SIGSTOP'),
    thaw: () => void server?.kill('SIGCONT'),
  };
}

async function untilItAnswers(url: string): Promise<void> {
  for (let left = 200; ; left -= 1) {
    const client = createClient({ url, socket: { reconnectStrategy: false } });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.ping();
      client.destroy();
      return;
    } catch (error) {
      if (left === 0) {
        throw error;
      }
      await pause(25);
    }
  }
}
