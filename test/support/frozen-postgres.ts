/** Freezes a whole PostgreSQL server, like a machine that hangs: connections stay open, but get no response. */
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';

/** Resolves with a function that resumes the server. */
export async function freezePostgres(url: string): Promise<() => void> {
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
  return () => {
    for (const pid of all) {
      signal(pid, 'SIGCONT');
    }
  };
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
