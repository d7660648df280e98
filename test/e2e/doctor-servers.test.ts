/** `purser doctor` on PostgreSQL servers of its own: durable, too small, stopped, a standby, behind a pooler. */
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { examine } from '../support/doctor.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type Cluster, findPostgres, startCluster, unprivilegedUser } from '../support/postgres-cluster.ts';

const bin = findPostgres() as string;
const pgbouncer = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path));
const asRoot = process.getuid?.() === 0;
const user: { uid?: number; gid?: number } = asRoot ? unprivilegedUser() : {};

let directory: string;
let cleanUps: (() => Promise<unknown>)[];
beforeEach(() => {
  cleanUps = [];
  directory = mkdtempSync(join(tmpdir(), 'purser-doctor-'));
  if (user.uid !== undefined && user.gid !== undefined) {
    chownSync(directory, user.uid, user.gid);
  }
});
afterEach(async () => {
  for (const cleanUp of cleanUps.toReversed()) {
    await cleanUp();
  }
  rmSync(directory, { recursive: true, force: true });
});

async function cluster(...settings: string[]): Promise<Cluster> {
  const started = await startCluster(bin, tmpdir(), settings);
  cleanUps.push(started.remove);
  return started;
}
const settingsFor = (url: string) => ({ SVC_DATA_DIR: directory, SVC_PORT: '0', SVC_DATABASE_URL: url });

/** Starts a server process as the unprivileged user, and ends it after the test. */
function startServer(command: string, args: readonly string[]): void {
  const server = spawn(command, args, { stdio: 'ignore', cwd: directory, ...user });
  const gone = new Promise((resolve) => server.once('exit', resolve));
  cleanUps.push(async () => {
    server.kill('SIGQUIT');
    await gone;
  });
}

async function untilConnected(url: string): Promise<void> {
  await eventually(async () => {
    const client = new pg.Client(url);
    client.on('error', () => undefined);
    await client.connect();
    await client.end();
  });
}

test('finds a durable server in order, one with few connections too small, and a stopped one unreachable', async () => {
  const server = await cluster('fsync=on', 'max_connections=20', 'autovacuum=off');
  const report = await examine(settingsFor(server.url));
  expect(report['postgres-durability']).toMatchObject({
    status: 'ok',
    finding: expect.stringMatching(/fsync is on/),
  });
  expect(report['postgres-writable']?.status).toBe('ok');
  expect(report['postgres-standby']?.status).toBe('ok');
  expect(report['postgres-connections']).toMatchObject({
    status: 'warn',
    finding: expect.stringMatching(/need 22/),
  });
  expect(report['postgres-settings']).toMatchObject({
    status: 'warn',
    finding: expect.stringMatching(/autovacuum/),
  });
  await server.stop();
  const stopped = await examine(settingsFor(server.url));
  expect(stopped.database).toMatchObject({ status: 'fail', finding: expect.stringMatching(/ECONNREFUSED/) });
});

describe('with a standby', () => {
  async function startStandby(primary: Cluster): Promise<string> {
    const { port } = new URL(primary.url);
    const data = join(directory, 'standby');
    const from = ['--host=127.0.0.1', `--port=${port}`, '--username=purser'];
    const as = { cwd: directory, stdio: 'pipe' as const, ...user };
    execFileSync(
      join(bin, 'pg_basebackup'),
      [...from, '-D', data, '--write-recovery-conf', '--checkpoint=fast'],
      as,
    );
    const own = await freePort();
    const options = ['fsync=off', 'max_connections=300', 'listen_addresses=127.0.0.1', `port=${own}`];
    startServer(join(bin, 'postgres'), [
      '-D',
      data,
      '-k',
      directory,
      ...options.flatMap((option) => ['-c', option]),
    ]);
    const url = `postgres://purser@127.0.0.1:${own}/postgres`;
    await untilConnected(url);
    return url;
  }

  test('reports a connection to the standby, and replication that is not synchronous', async () => {
    const primary = await cluster();
    const standby = await startStandby(primary);
    const onStandby = Object.values(await examine(settingsFor(standby)));
    expect(onStandby.filter(({ status }) => status === 'fail').map(({ finding }) => finding)).toContainEqual(
      expect.stringMatching(/standby/),
    );
    await eventually(async () => {
      const onPrimary = await examine(settingsFor(primary.url));
      expect(onPrimary['postgres-standby']).toMatchObject({
        status: 'warn',
        finding: expect.stringMatching(/none is synchronous/),
      });
    });
    const client = new pg.Client(primary.url);
    await client.connect();
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await client.query('SELECT pg_reload_conf()');
    await client.end();
    await eventually(async () => {
      expect((await examine(settingsFor(primary.url)))['postgres-standby']?.status).toBe('ok');
    });
  });

  test('reports synchronous replication without a standby: writes wait', async () => {
    const primary = await cluster('synchronous_standby_names=*');
    const report = await examine(settingsFor(primary.url));
    expect(report['postgres-standby']).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(/writes wait/),
    });
  });
});

describe.skipIf(pgbouncer === undefined)('behind PgBouncer', () => {
  async function startPooler(server: Cluster, mode: string): Promise<string> {
    const { port } = new URL(server.url);
    const own = await freePort();
    const file = join(directory, 'pgbouncer.ini');
    const lines = [
      '[databases]',
      `postgres = host=127.0.0.1 port=${port} user=purser dbname=postgres`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${own}`,
      'auth_type = any',
      `pool_mode = ${mode}`,
      'unix_socket_dir =',
      'ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout,extra_float_digits',
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    startServer(pgbouncer as string, [file]);
    const url = `postgres://purser@127.0.0.1:${own}/postgres`;
    await untilConnected(url);
    return url;
  }

  test('the doctor accepts a pooler in session mode', async () => {
    const server = await cluster();
    const inSession = await examine(settingsFor(await startPooler(server, 'session')));
    expect(inSession.pooler).toMatchObject({ status: 'ok', finding: expect.stringMatching(/session mode/) });
    expect(inSession.notifications?.status).toBe('ok');
  });

  test('reports transaction mode, which loses notifications', async () => {
    const server = await cluster();
    const report = await examine(settingsFor(await startPooler(server, 'transaction')));
    expect(report.pooler).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(/transaction mode/),
    });
    expect(report.notifications?.status).toBe('fail');
  });
});
