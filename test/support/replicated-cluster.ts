/** A PostgreSQL primary with a streaming standby, run from the binaries installed on the machine. */
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { unprivilegedUser } from './postgres-cluster.ts';

export interface ReplicatedServer {
  readonly url: string;
  readonly port: number;
  start(): Promise<void>;
  /** Ends every process at once, like a crash. */
  kill(): Promise<void>;
  query<Row extends object>(sql: string): Promise<Row[]>;
}

export interface ReplicatedCluster {
  readonly primary: ReplicatedServer;
  readonly standby: ReplicatedServer;
  /** Makes the standby a primary on a new timeline. The former primary is not touched. */
  promote(): Promise<void>;
  /** Promotes the former primary too, as if it had never heard of the other one: both are on the same timeline. */
  promoteFormerPrimary(): Promise<void>;
  /** A connection string with both hosts. */
  urlOf(database: string): string;
  remove(): Promise<void>;
}

/** With `synchronous`, a commit on the primary waits until the standby has it on disk. */
export async function startReplicatedCluster(
  bin: string,
  { synchronous, where = tmpdir() }: { readonly synchronous: boolean; readonly where?: string },
): Promise<ReplicatedCluster> {
  const directory = mkdtempSync(join(where, 'purser-replicated-'));
  const user: { uid?: number; gid?: number } = process.getuid?.() === 0 ? unprivilegedUser() : {};
  if (user.uid !== undefined && user.gid !== undefined) {
    chownSync(directory, user.uid, user.gid);
  }
  const run = (program: string, ...args: string[]) =>
    execFileSync(join(bin, program), args, { stdio: 'pipe', cwd: directory, ...user });

  const data = { primary: join(directory, 'primary'), standby: join(directory, 'standby') };
  run('initdb', '-D', data.primary, '-U', 'purser', '-A', 'trust', '-N', '--encoding=UTF8');
  const primary = await serverOf(data.primary);
  await primary.start();
  run('pg_basebackup', '-D', data.standby, '-d', primary.url, '-R', '-X', 'stream', '-c', 'fast');
  const standby = await serverOf(data.standby);
  await standby.start();
  if (synchronous) {
    await primary.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await primary.query('SELECT pg_reload_conf()');
    await eventually(async () => {
      const [row] = await primary.query<{ sync_state: string }>('SELECT sync_state FROM pg_stat_replication');
      if (row?.sync_state !== 'sync') {
        throw new Error('the standby is not synchronous yet');
      }
    });
  }

  async function serverOf(dataDirectory: string): Promise<ReplicatedServer> {
    const port = await freePort();
    const url = `postgres://purser@127.0.0.1:${port}/postgres`;
    let server: ReturnType<typeof spawn> | undefined;
    const options = ['fsync=off', 'max_connections=200', 'listen_addresses=127.0.0.1', `port=${port}`];
    const query = async <Row extends object>(sql: string): Promise<Row[]> => {
      const client = new pg.Client(url);
      await client.connect();
      try {
        return (await client.query<Row>(sql)).rows;
      } finally {
        await client.end();
      }
    };
    return {
      url,
      port,
      query,
      async start() {
        server = spawn(
          join(bin, 'postgres'),
          ['-D', dataDirectory, '-k', directory, ...options.flatMap((option) => ['-c', option])],
          { stdio: 'ignore', cwd: directory, ...user },
        );
        for (let left = 200; ; left -= 1) {
          try {
            await query('SELECT 1');
            return;
          } catch (error) {
            if (left === 0) {
              throw error;
            }
            await pause(50);
          }
        }
      },
      async kill() {
        const ended = server;
        server = undefined;
        if (ended?.exitCode === null && ended.signalCode === null) {
          const gone = new Promise((resolve) => ended.once('exit', resolve));
          ended.kill('SIGQUIT');
          await gone;
        }
      },
    };
  }

  return {
    primary,
    standby,
    async promote() {
      await standby.query('SELECT pg_promote(true, 60)');
    },
    async promoteFormerPrimary() {
      const signal = join(data.primary, 'standby.signal');
      writeFileSync(signal, '');
      if (user.uid !== undefined && user.gid !== undefined) {
        chownSync(signal, user.uid, user.gid);
      }
      await primary.start();
      await primary.query('SELECT pg_promote(true, 60)');
    },
    urlOf: (database) =>
      `postgres://purser@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/${database}?target_session_attrs=read-write`,
    async remove() {
      await primary.kill();
      await standby.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
