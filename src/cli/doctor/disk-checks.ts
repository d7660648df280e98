/** Checks of the directories that Purser writes to. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Check, type Finding, fail, ok, warn } from './check.ts';
import type { InspectedDeployment } from './deployment.ts';

export const diskChecks: readonly Check[] = [
  { id: 'data-directory', run: checkDataDirectory },
  { id: 'disk-space', run: checkSpace },
  { id: 'spool-space', run: checkSpoolSpace },
  { id: 'disk-sync', run: checkSync },
];

function checkDataDirectory({ config: { dataDir } }: InspectedDeployment): Finding {
  const place = nearestExisting(dataDir);
  try {
    accessSync(place, constants.W_OK | constants.X_OK);
  } catch (error) {
    return fail(
      `${place} is not writable: ${(error as NodeJS.ErrnoException).code}.`,
      'Make it writable for the user of the service, or set SVC_DATA_DIR to another directory.',
    );
  }
  if (place !== dataDir) {
    return ok(`${dataDir} does not exist yet; \`serve\` creates it.`);
  }
  const othersMayAccess = (statSync(dataDir).mode & 0o077) !== 0;
  return othersMayAccess
    ? warn(`Other users may access ${dataDir}.`, `Run \`chmod 0700 ${dataDir}\`: it contains keys.`)
    : ok(`${dataDir} is writable, and private.`);
}

const gigabyte = 1e9;
const spaceBytes = { warn: 2 * gigabyte, fail: 0.2 * gigabyte };

function checkSpace({ config: { dataDir } }: InspectedDeployment): Finding {
  return spaceOf(
    dataDir,
    'Free some space or enlarge the volume: without space nothing can be written, and calls return 503.',
  );
}

function checkSpoolSpace({ config: { spoolDir = tmpdir() } }: InspectedDeployment): Finding {
  return spaceOf(spoolDir, 'Free some space, or set SVC_SPOOL_DIR to a larger volume: exports need it.');
}

function spaceOf(directory: string, remedy: string): Finding {
  const place = nearestExisting(directory);
  const { bavail, bsize } = statfsSync(place);
  const free = bavail * bsize;
  const finding = `${(free / gigabyte).toFixed(1)} GB free in ${place}.`;
  if (free < spaceBytes.fail) {
    return fail(finding, remedy);
  }
  return free < spaceBytes.warn ? warn(finding, remedy) : ok(finding);
}

const syncs = 20;
const slowSyncMs = 20;

/**
 * Measures synced writes. On the embedded engine a decision waits for such a write. On PostgreSQL the disk of the database server
 * matters instead.
 */
async function checkSync({ config: { dataDir }, engine }: InspectedDeployment): Promise<Finding> {
  const remedy =
    'Use a local disk with a write cache that survives a power cut, or PostgreSQL on such a disk.';
  const file = join(nearestExisting(dataDir), `.doctor-${process.pid}`);
  let durationsMs: number[];
  try {
    durationsMs = await timeSyncs(file);
  } catch (error) {
    return fail(
      `A file cannot be written in ${dirname(file)}: ${(error as NodeJS.ErrnoException).code}.`,
      'Free some space, or make the directory writable for the user of the service.',
    );
  } finally {
    await rm(file, { force: true }).catch(() => undefined);
  }
  const medianMs = durationsMs.sort((a, b) => a - b)[Math.floor(syncs / 2)] ?? 0;
  const finding = `Writing 4 kB to the disk takes ${medianMs.toFixed(1)} ms (median of ${syncs}).`;
  return medianMs > slowSyncMs && engine === 'embedded' ? warn(finding, remedy) : ok(finding);
}

async function timeSyncs(file: string): Promise<number[]> {
  const block = Buffer.alloc(4_096, 1);
  const handle = await open(file, 'wx', 0o600);
  try {
    const durationsMs: number[] = [];
    for (let left = syncs; left > 0; left -= 1) {
      const startedMs = performance.now();
      await handle.write(block);
      await handle.datasync();
      durationsMs.push(performance.now() - startedMs);
    }
    return durationsMs;
  } finally {
    await handle.close();
  }
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}
