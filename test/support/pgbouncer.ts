/** A private PgBouncer in transaction mode in front of a PostgreSQL server, run from the binary installed on the machine. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { scratch } from './scratch.ts';

/**
 * Returns the path of the pooler, or undefined if the machine has none; then tests are skipped. If
 * PURSER_TEST_REQUIRE_ALL is set, a missing pooler is an error.
 */
export function findPgBouncer(): string | undefined {
  const places = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  const found = places.map((place) => join(place, 'pgbouncer')).find((path) => existsSync(path));
  if (found === undefined) {
    const message = 'pgbouncer was not found on this machine';
    if (process.env.PURSER_TEST_REQUIRE_ALL === '1') {
      throw new Error(`${message}, and PURSER_TEST_REQUIRE_ALL is set`);
    }
    process.stderr.write(`${message}: the tests of poolers are skipped.\n`);
  }
  return found;
}

export interface PgBouncer {
  /** Leads to the same database as the URL that it was started with. */
  readonly url: string;
  readonly version: string;
  /** Sends new server connections to another server, as an operator would: the clients stay connected. */
  pointTo(url: string): Promise<void>;
  stop(): Promise<void>;
}

export interface PgBouncerOptions {
  readonly mode?: 'session' | 'transaction';
  readonly serverConnections?: number;
}

export async function startPgBouncer(
  url: string,
  { mode = 'transaction', serverConnections = 4 }: PgBouncerOptions = {},
): Promise<PgBouncer> {
  const binary = findPgBouncer();
  if (binary === undefined) {
    throw new Error('pgbouncer is needed for this test');
  }
  const version =
    /PgBouncer (\S+)/.exec(execFileSync(binary, ['--version'], { encoding: 'utf8' }))?.[1] ?? '';
  const directory = mkdtempSync(join(scratch, 'purser-pgbouncer-'));
  // PgBouncer refuses to run as root and reads its files as another user.
  chmodSync(directory, 0o755);
  const port = await freePort();
  const file = join(directory, 'pgbouncer.ini');
  const configure = (target: string) => {
    const { hostname, port: targetPort, username } = new URL(target);
    writeFileSync(
      file,
      `[databases]
* = host=${hostname} port=${targetPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(directory, 'users.txt')}
admin_users = ${username}
pool_mode = ${mode}
default_pool_size = ${serverConnections}
max_client_conn = 500
server_login_retry = 1
`,
      { mode: 0o644 },
    );
    writeFileSync(join(directory, 'users.txt'), `"${username}" ""\n`, { mode: 0o644 });
  };
  configure(url);
  const asUser = process.getuid?.() === 0 ? ['-u', 'postgres'] : [];
  const child: ChildProcess = spawn(binary, [...asUser, '-q', file], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const endWithTests = () => child.kill('SIGKILL');
  process.once('exit', endWithTests);
  const pooled = new URL(url);
  pooled.port = String(port);
  const admin = new URL(pooled);
  admin.pathname = '/pgbouncer';

  async function command(sql: string): Promise<void> {
    const client = new pg.Client(admin.href);
    await client.connect();
    await client.query(sql);
    await client.end();
  }
  for (let left = 200; ; left -= 1) {
    try {
      await command('SHOW VERSION');
      break;
    } catch (error) {
      if (left === 0) {
        throw error;
      }
      await pause(50);
    }
  }
  return {
    url: pooled.href,
    version,
    async pointTo(target) {
      configure(target);
      await command('RELOAD');
      // Server connections to the former target are closed as soon as their transaction ends.
      await command('RECONNECT');
    },
    async stop() {
      process.off('exit', endWithTests);
      child.kill('SIGINT');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
