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
  const server = owned(
    spawn(join(bin, 'postgres'), ['-D', data, ...options.flatMap((option) => ['-c', option])], {
      stdio: 'ignore',
      cwd: data,
      uid,
      gid,
    }),
  );
  await untilItAnswers(cluster.url);
  return {
    async database(name) {
      await query(cluster.url, `CREATE DATABASE ${name}`);
      return cluster.url.replace(/[^/]+$/, name);
    },
    async stop() {
      const ended = once(server, 'exit');
      server.kill('SIGINT');
      await ended;
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
