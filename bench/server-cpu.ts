/** The CPU time of a PostgreSQL server: of its main process and all processes that it has started. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';
import { query } from './postgres.ts';

const msPerTick = 10;

interface ProcessTimes {
  readonly pid: number;
  readonly parent: number;
  readonly ownMs: number;
  /** Of children that have ended. */
  readonly endedMs: number;
}

export async function mainProcessOf(url: string): Promise<number> {
  // This process runs for as long as the server.
  const [writer] = await query<{ pid: number }>(
    url,
    `SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'`,
  );
  return timesOf(writer?.pid ?? 0)?.parent ?? 0;
}

export function serverCpuMs(mainProcess: number): number {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => timesOf(Number(name)) ?? []);
  return all
    .filter(({ pid, parent }) => pid === mainProcess || parent === mainProcess)
    .reduce((sum, { pid, ownMs, endedMs }) => sum + ownMs + (pid === mainProcess ? endedMs : 0), 0);
}

function timesOf(pid: number): ProcessTimes | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
    return {
      pid,
      parent,
      ownMs: (user + system) * msPerTick,
      endedMs: (endedUser + endedSystem) * msPerTick,
    };
  } catch {
    // The process has ended meanwhile.
    return undefined;
  }
}
