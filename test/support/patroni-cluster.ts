/** Two PostgreSQL servers that Patroni promotes and demotes by itself, over a private etcd. All are run from installed programs. */
import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { unprivilegedUser } from './postgres-cluster.ts';
import { scratch } from './scratch.ts';

const programs = ['/usr/bin/patroni', '/usr/bin/etcd'];

/** False if the machine has no Patroni: unlike PostgreSQL and PgBouncer it is not required. */
export function hasPatroni(): boolean {
  const missing = programs.filter((path) => !existsSync(path));
  if (missing.length > 0) {
    process.stderr.write(
      `${missing.join(' and ')} not found on this machine: the test of Patroni is skipped.\n`,
    );
  }
  return missing.length === 0;
}

export interface PatroniCluster {
  /** A connection string with both hosts. */
  readonly url: string;
  /** The name of the present primary; undefined if there is none. */
  leader(): Promise<string | undefined>;
  /** Ends the primary and its Patroni at once, like the loss of a machine. Returns its name. */
  loseLeader(): Promise<string>;
  remove(): Promise<void>;
}

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

export async function startPatroniCluster(bin: string): Promise<PatroniCluster> {
  const directory = mkdtempSync(join(scratch, 'purser-patroni-'));
  const user: { uid?: number; gid?: number } = process.getuid?.() === 0 ? unprivilegedUser() : {};
  if (user.uid !== undefined && user.gid !== undefined) {
    chownSync(directory, user.uid, user.gid);
  }
  const children = new Map<string, ChildProcess>();
  const run = (name: string, program: string, args: readonly string[]) => {
    const child = spawn(program, args, { stdio: 'ignore', cwd: directory, ...user });
    children.set(name, child);
    child.once('exit', () => children.delete(name));
  };
  const endAll = () => {
    for (const name of children.keys()) {
      end(name);
    }
  };
  process.once('exit', endAll);
  /** PostgreSQL outlives its Patroni, so it is ended too. */
  function end(name: string): void {
    children.get(name)?.kill('SIGKILL');
    try {
      const [pid] = readFileSync(join(directory, name, 'postmaster.pid'), 'utf8').split('\n');
      process.kill(Number(pid), 'SIGQUIT');
    } catch {
      // It does not run.
    }
  }

  const etcd = `http://127.0.0.1:${await freePort()}`;
  const peer = `http://127.0.0.1:${await freePort()}`;
  run('etcd', '/usr/bin/etcd', [
    ...['--data-dir', 'etcd', '--unsafe-no-fsync'],
    ...['--listen-client-urls', etcd, '--advertise-client-urls', etcd],
    ...['--listen-peer-urls', peer],
  ]);
  await eventually(async () => {
    const { status } = await fetch(`${etcd}/health`);
    if (status !== 200) {
      throw new Error('etcd is not healthy yet');
    }
  });
  const nodes: { readonly name: string; readonly port: number; readonly api: string }[] = [];
  for (const name of ['a', 'b']) {
    const [port, apiPort] = [await freePort(), await freePort()];
    nodes.push({ name, port, api: `http://127.0.0.1:${apiPort}` });
    writeFileSync(join(directory, `${name}.yml`), settingsOf({ name, port, apiPort, etcd, bin, directory }), {
      mode: 0o644,
    });
    run(name, '/usr/bin/patroni', [`${name}.yml`]);
    const role = name === 'a' ? 'leader' : 'sync_standby';
    await eventually(async () => {
      const found = (await members()).find((member) => member.name === name);
      if (found?.role !== role || !['running', 'streaming'].includes(found.state)) {
        throw new Error(`${name} is not the ${role} yet: ${JSON.stringify(found)}`);
      }
    });
  }

  async function members(): Promise<Member[]> {
    for (const { api } of nodes) {
      try {
        const answer = await fetch(`${api}/cluster`);
        return ((await answer.json()) as { members: Member[] }).members;
      } catch {
        // That Patroni does not run: the other one knows too.
      }
    }
    return [];
  }
  const leader = async () => (await members()).find(({ role }) => role === 'leader')?.name;
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `postgres://purser@${hosts}/postgres?target_session_attrs=read-write`,
    leader,
    async loseLeader() {
      const lost = await leader();
      if (lost === undefined) {
        throw new Error('there is no leader');
      }
      end(lost);
      return lost;
    },
    async remove() {
      process.off('exit', endAll);
      const ended = [...children.values()].map(
        (child) => new Promise((resolve) => child.once('exit', resolve)),
      );
      endAll();
      await Promise.all(ended);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface NodeSettings {
  readonly name: string;
  readonly port: number;
  readonly apiPort: number;
  readonly etcd: string;
  readonly bin: string;
  readonly directory: string;
}

/** YAML that is also JSON. The times are the shortest that Patroni accepts. */
function settingsOf({ name, port, apiPort, etcd, bin, directory }: NodeSettings): string {
  const api = `127.0.0.1:${apiPort}`;
  const address = `127.0.0.1:${port}`;
  const purser = { username: 'purser', password: 'unused' };
  return JSON.stringify({
    scope: 'purser',
    name,
    restapi: { listen: api, connect_address: api },
    etcd3: { hosts: etcd.replace('http://', '') },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 1,
        retry_timeout: 3,
        maximum_lag_on_failover: 0,
        synchronous_mode: true,
        postgresql: { use_pg_rewind: true, parameters: { wal_log_hints: 'on', fsync: 'off' } },
      },
      initdb: [{ encoding: 'UTF8' }, { 'auth-host': 'trust' }, { 'auth-local': 'trust' }],
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
    },
    postgresql: {
      listen: address,
      connect_address: address,
      data_dir: join(directory, name),
      bin_dir: bin,
      pgpass: join(directory, `${name}.pgpass`),
      authentication: {
        superuser: purser,
        rewind: purser,
        replication: { username: 'replicator', password: 'unused' },
      },
      parameters: { unix_socket_directories: directory },
    },
  });
}
