/** A private PostgreSQL server on the same cores, with durable commits. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { findPostgres, startCluster } from '../test/support/postgres-cluster.ts';
import { owned, ownedDirectory } from './processes.ts';

export interface BenchPostgres {
  /** Creates an empty database. */
  database(name: string): Promise<string>;
  /** Ends the server without a checkpoint, as a crash would, and starts it again. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

const startAttempts = 200;

/**
 * The server of the tests runs without fsync. A bench needs fsync, so the server is restarted with it on the same
 * directory.
 */
export async function startPostgres(): Promise<BenchPostgres> {
  const bin = findPostgres();
  if (bin === undefined) {
    throw new Error('PostgreSQL 15 or newer was not found on this machine');
  }
  const cluster = await startCluster(bin);
  const [row] = await query<{ data_directory: string }>(cluster.url, 'SHOW data_directory');
  const data = row?.data_directory ?? '';
  ownedDirectory(dirname(data));
  await cluster.stop();
  const { uid, gid } = statSync(data);
  const { port } = new URL(cluster.url);
  const options = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=100',
  ];
  async function start() {
    const args = ['-D', data, ...options.flatMap((option) => ['-c', option])];
    const started = owned(
      spawn(join(bin as string, 'postgres'), args, { stdio: 'ignore', cwd: data, uid, gid }),
    );
    await untilItAnswers(cluster.url);
    return started;
  }
  let server = await start();
  async function end(signal: 'SIGINT' | 'SIGQUIT') {
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
  }
  return {
    async database(name) {
      await query(cluster.url, `CREATE DATABASE ${name}`);
      return cluster.url.replace(/[^/]+$/, name);
    },
    async crash() {
      await end('SIGQUIT');
      server = await start();
    },
    async stop() {
      await end('SIGINT');
      await cluster.remove();
    },
  };
}

export async function query<Row extends object>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function untilItAnswers(url: string): Promise<void> {
  for (let left = startAttempts; ; left -= 1) {
    try {
      await query(url, 'SELECT 1');
      return;
    } catch (error) {
      if (left === 0) {
        throw error;
      }
      await pause(50);
    }
  }
}
