/**
 * Where tests put databases that nobody keeps: in memory, if the machine has plenty. On a disk, to make and remove the thousand
 * files of each takes longer than to run most tests on it.
 */
import { accessSync, constants, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const inMemory = '/dev/shm';
/** Several times what a whole run has there at once. */
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

/** No run lasts that long. */
const abandonedAfterMs = 6 * 3_600_000;

/** What runs have left that were killed: it would take memory until the machine is started anew. */
export function removeAbandoned(): void {
  for (const name of readdirSync(scratch).filter((one) => /^purser-(test|postgres)-/.test(one))) {
    const path = join(scratch, name);
    const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (changedMs < Date.now() - abandonedAfterMs) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}
