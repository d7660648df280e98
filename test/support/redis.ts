/** A private Redis server for a test, without persistence, run from the binary installed on the machine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { freePort } from './free-port.ts';

/**
 * Returns the path of the server, or undefined if the machine has none; then tests are skipped. If
 * PURSER_TEST_REQUIRE_ALL is set, a missing server is an error.
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
  /** Ends the server at once; all its data is lost. */
  kill(): Promise<void>;
  /** Starts the server again on the same port. */
  start(): Promise<void>;
  /** From now on the server accepts connections but does not respond, until `thaw` is called. */
  freeze(): void;
  thaw(): void;
}

const running = new Set<ChildProcess>();

/** For `afterEach`: a failed test leaves no server behind. SIGKILL also ends frozen servers. */
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
