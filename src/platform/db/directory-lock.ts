/**
 * Keeps a second process out of an embedded data directory: two of them would ruin it.
 *
 * The lock is a file that names its holder: host, process id, and the instant that process started, so that a
 * process id used again (in a container it is always 1) is not mistaken for the holder. A holder on another host
 * (another container on the same volume) cannot be looked up; it is alive while it keeps touching the file.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { link, mkdir, readFile, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const touchEveryMs = 1_000;
/** A holder on another host that has not touched the file for this long is dead. */
const silentAfterMs = 5_000;
const pollEveryMs = 250;

export interface DirectoryLock {
  release(): Promise<void>;
}

export class DirectoryInUse extends Error {
  constructor(directory: string, holder: Holder) {
    super(
      `the data directory ${directory} is in use by another Purser process (pid ${holder.pid} on ${holder.host}). ` +
        'Stop that process first, choose another SVC_DATA_DIR, or set SVC_DATABASE_URL to share a PostgreSQL database.',
    );
    this.name = 'DirectoryInUse';
  }
}

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly started: string;
}

export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  // What is in it is nobody else's business: key digests, and the first operator key.
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, 'lock');
  const me: Holder = { pid: process.pid, host: hostname(), started: processStart(process.pid) ?? '' };
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, JSON.stringify(me));
  try {
    await acquire(directory, path, draft);
  } finally {
    await rm(draft, { force: true });
  }
  const touching = setInterval(() => void touch(path), touchEveryMs);
  touching.unref();
  return {
    async release() {
      clearInterval(touching);
      await rm(path, { force: true });
    },
  };
}

/** `link` is the atomic step: it fails when the lock exists. */
async function acquire(directory: string, path: string, draft: string): Promise<void> {
  for (;;) {
    try {
      await link(draft, path);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw error;
      }
    }
    const holder = await readHolder(path);
    if (holder === undefined) {
      continue;
    }
    if (holder.host !== hostname()) {
      await waitForSilence(directory, path, holder);
    } else if (processStart(holder.pid) === holder.started && holder.pid !== process.pid) {
      throw new DirectoryInUse(directory, holder);
    }
    await removeStale(path, holder);
  }
}

async function waitForSilence(directory: string, path: string, holder: Holder): Promise<void> {
  const touchedAtMs = await lastTouch(path);
  while (Date.now() - (await lastTouch(path)) < silentAfterMs) {
    if ((await lastTouch(path)) !== touchedAtMs) {
      throw new DirectoryInUse(directory, holder);
    }
    await pause(pollEveryMs);
  }
}

/** Of several processes that find the same stale lock, one removes it; the others see that it has changed. */
async function removeStale(path: string, stale: Holder): Promise<void> {
  const guard = `${path}.takeover`;
  try {
    await mkdir(guard);
  } catch {
    if (Date.now() - (await lastTouch(guard)) > silentAfterMs) {
      await rm(guard, { recursive: true, force: true });
    }
    await pause(pollEveryMs);
    return;
  }
  try {
    const now = await readHolder(path);
    if (now !== undefined && JSON.stringify(now) === JSON.stringify(stale)) {
      await unlink(path);
    }
  } finally {
    await rm(guard, { recursive: true, force: true });
  }
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}

async function lastTouch(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => undefined);
}

/** Something that tells two processes with the same id apart; undefined when there is no such process. */
function processStart(pid: number): string | undefined {
  try {
    // The 22nd field is the start time; the second, the command's name, may hold spaces and parentheses.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return existsSync('/proc/self/stat') ? undefined : processStartByPs(pid);
  }
}

/** For systems without `/proc`. */
function processStartByPs(pid: number): string | undefined {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}
