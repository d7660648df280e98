/** Signals to all processes of a PostgreSQL server: frozen like a machine that hangs, or killed like one that lost its power. */
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';

/** Resolves with a function that resumes the server. Meanwhile connections stay open, but get no response. */
export async function freezePostgres(url: string): Promise<() => void> {
  const all = await stopAll(url);
  return () => {
    for (const pid of all) {
      signal(pid, 'SIGCONT');
    }
  };
}

/** Sends SIGKILL to all processes of the server. */
export async function killPostgres(url: string): Promise<void> {
  for (const pid of await stopAll(url)) {
    signal(pid, 'SIGKILL');
  }
}

async function stopAll(url: string): Promise<number[]> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const server = parentOf(rows[0]?.pid ?? 0);
  await client.end();
  if (server === undefined) {
    throw new Error('the server of a connection was not found');
  }
  signal(server, 'SIGSTOP');
  // The stopped server starts no more child processes.
  const all = [server, ...childrenOf(server)];
  for (const pid of all) {
    signal(pid, 'SIGSTOP');
  }
  return all;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has already ended.
  }
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => parentOf(child) === pid);
}
