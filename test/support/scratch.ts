/**
 * The directory for temporary test databases: in memory, if the machine has enough. On a disk, creating and removing
 * the thousand files of each database takes longer than most tests.
 */
import { accessSync, constants, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const inMemory = '/dev/shm';
/** Several times the space that a whole test run needs at once. */
const roomBytesMin = 6 * 2 ** 30;

export const scratch = hasRoom(inMemory) ? inMemory : tmpdir();

function hasRoom(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize >= roomBytesMin;
  } catch {
    return false;
  }
}

/** Longer than any test run. */
const abandonedAfterMs = 6 * 3_600_000;

/** Removes what killed test runs have left behind, which would take memory until the machine is restarted. */
export function removeAbandoned(): void {
  for (const name of readdirSync(scratch).filter((one) =>
    /^purser-(test|postgres|replicated|patroni|pgbouncer|failover|timeline)-/.test(one),
  )) {
    const path = join(scratch, name);
    const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (changedMs < Date.now() - abandonedAfterMs) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}
