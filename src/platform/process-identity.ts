/** Distinguishes processes, even those with the same id: in a container it is always 1. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Returns an id of the time since the machine was started, which is the same inside containers; undefined on systems without such
 * an id.
 */
export function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Returns the realm in which a process id is unique: this boot of this host, and this container. */
export function processRealm(): string {
  const boot = bootId();
  try {
    return boot === undefined ? hostname() : `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** Returns the start of a process, which distinguishes it from others with the same id; undefined if there is no such process. */
export function processStart(pid: number): string | undefined {
  try {
    // The second field is the command's name, which may contain spaces and parentheses. After it, the first field is the state and
    // the twentieth the start time. A zombie has exited.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return existsSync('/proc/self/stat') ? undefined : processStartByPs(pid);
  }
}

/** Returns the start of a process on systems without `/proc`. */
function processStartByPs(pid: number): string | undefined {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}
