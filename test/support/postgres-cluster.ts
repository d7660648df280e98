/** A private PostgreSQL server for the tests, run from the binaries installed on the machine. */
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from './free-port.ts';

const oldestMajor = 15;

/** Returns the directory of the newest installed PostgreSQL that is new enough. */
export function findPostgres(): string | undefined {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).map(Number) : [];
  const [newest] = versions.filter((version) => version >= oldestMajor).sort((a, b) => b - a);
  if (newest !== undefined && existsSync(join(root, String(newest), 'bin', 'initdb'))) {
    return join(root, String(newest), 'bin');
  }
  try {
    const bin = execFileSync('pg_config', ['--bindir'], { encoding: 'utf8', stdio: 'pipe' }).trim();
    const version = execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8', stdio: 'pipe' });
    return Number(/(\d+)/.exec(version)?.[1] ?? 0) >= oldestMajor ? bin : undefined;
  } catch {
    return undefined;
  }
}

export interface Cluster {
  /** A URL of the maintenance database; replace the last part to reach another one. */
  readonly url: string;
  /** An orderly shutdown that does not wait for clients. */
  stop(): Promise<void>;
  /** Ends every process at once, like a crash: the next start must recover. */
  kill(): Promise<void>;
  start(): Promise<void>;
  remove(): Promise<void>;
}

/** `settings` are added to the command line of the server, such as `fsync=on`. */
export async function startCluster(
  bin: string,
  where: string = tmpdir(),
  settings: readonly string[] = [],
): Promise<Cluster> {
  const directory = mkdtempSync(join(where, 'purser-postgres-'));
  const data = join(directory, 'data');
  // PostgreSQL refuses to run as root.
  const user: { uid?: number; gid?: number } = process.getuid?.() === 0 ? unprivilegedUser() : {};
  if (user.uid !== undefined && user.gid !== undefined) {
    chownSync(directory, user.uid, user.gid);
  }
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'purser', '-A', 'trust', '-N', '--encoding=UTF8'], {
    stdio: 'pipe',
    cwd: directory,
    ...user,
  });
  const port = await freePort();
  const url = `postgres://purser@127.0.0.1:${port}/postgres`;
  let server: ReturnType<typeof spawn> | undefined;

  async function start(): Promise<void> {
    const fixed = ['fsync=off', 'max_connections=300', 'listen_addresses=127.0.0.1', `port=${port}`];
    const options = [...fixed, ...settings];
    server = spawn(
      join(bin, 'postgres'),
      ['-D', data, '-k', directory, ...options.flatMap((option) => ['-c', option])],
      { stdio: 'ignore', cwd: directory, ...user },
    );
    for (let left = 200; ; left -= 1) {
      const client = new pg.Client(url);
      try {
        await client.connect();
        await client.end();
        return;
      } catch (error) {
        if (left === 0) {
          throw error;
        }
        await pause(50);
      }
    }
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    const ended = server;
    server = undefined;
    if (ended?.exitCode === null && ended.signalCode === null) {
      const gone = new Promise((resolve) => ended.once('exit', resolve));
      ended.kill(signal);
      await gone;
    }
  }

  await start();
  return {
    url,
    start,
    stop: () => end('SIGINT'),
    kill: () => end('SIGQUIT'),
    async remove() {
      await end('SIGQUIT');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export function unprivilegedUser(): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
