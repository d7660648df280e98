/**
 * Lock file of an embedded data directory, which two processes would corrupt. The file names the holder by its process id, its
 * start time, and the realm in which the id is unique (boot and process namespace). So another process with the same id is not
 * mistaken for the holder; in a container the id is always 1.
 *
 * A holder in another realm (another host, or another container on the same volume) cannot be looked up. It counts as alive while
 * it keeps touching the file. A holder whose lock was taken over, because it was frozen for too long, exits immediately. If the
 * file cannot be read, the lock counts as unchanged, because the error may be temporary.
 */
import { link, mkdir, readFile, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { makeDirectory } from '../../files/durable-files.ts';
import { processRealm, processStart } from '../../process-identity.ts';

const touchEveryMs = 1_000;
/** Time after which a holder in another realm counts as dead if it has not touched the file. */
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
  readonly realm: string;
  readonly started: string;
}

export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  // Makes the directory private: it will contain key digests and the first operator key.
  makeDirectory(directory);
  const path = join(directory, 'lock');
  const me: Holder = {
    pid: process.pid,
    host: hostname(),
    realm: processRealm(),
    started: processStart(process.pid) ?? '',
  };
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, JSON.stringify(me), { flush: true });
  try {
    await acquire(directory, path, draft);
  } finally {
    await rm(draft, { force: true });
  }
  // Undefined after a transient error, such as too many open files. The next round reads the file again.
  const isMine = () => isHeldBy(path, me).catch(() => undefined);
  const touching = setInterval(async () => {
    const mine = await isMine();
    if (mine === true) {
      await touch(path);
    } else if (mine === false) {
      process.stderr.write(
        `purser: another process has taken over ${directory}; exiting to avoid corrupting it\n`,
      );
      process.exit(1);
    }
  }, touchEveryMs);
  touching.unref();
  return {
    async release() {
      clearInterval(touching);
      // If the file cannot be removed, the next process detects that it is stale.
      if ((await isMine()) === true) {
        await rm(path, { force: true });
      }
    },
  };
}

/** Returns true if a live process has locked the directory, or if that cannot be determined. */
export async function isLocked(directory: string): Promise<boolean> {
  const path = join(directory, 'lock');
  try {
    const holder = await readHolder(path);
    if (holder === undefined || holder === damaged) {
      return false;
    }
    return holder.realm === processRealm()
      ? processStart(holder.pid) === holder.started
      : Date.now() - (await lastTouch(path)) < silentAfterMs;
  } catch {
    return true;
  }
}

async function isHeldBy(path: string, holder: Holder | typeof damaged): Promise<boolean> {
  return JSON.stringify(await readHolder(path)) === JSON.stringify(holder);
}

/** Takes the lock. `link` is the atomic step: it fails if the lock exists. */
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
      // The lock was released in the meantime.
      continue;
    }
    if (holder === damaged) {
      await removeStale(path, holder);
      continue;
    }
    if (holder.realm !== processRealm()) {
      await waitForSilence(directory, path, holder);
    } else if (processStart(holder.pid) === holder.started) {
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

/** Removes a stale lock. If several processes find it, one of them removes it and the others find that it has changed. */
async function removeStale(path: string, stale: Holder | typeof damaged): Promise<void> {
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
    if (await isHeldBy(path, stale)) {
      await unlink(path);
    }
  } finally {
    await rm(guard, { recursive: true, force: true });
  }
}

/** A lock file without a holder: a power cut has lost its content. The file of a live lock is complete when it appears. */
const damaged = 'damaged';

/** Returns the holder; undefined if there is no lock file. Throws if the file cannot be read. */
async function readHolder(path: string): Promise<Holder | typeof damaged | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    return ifAbsent(error, undefined);
  }
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return damaged;
  }
}

async function lastTouch(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    (error) => ifAbsent(error, 0),
  );
}

/** Returns the value if the error means that a file does not exist; throws any other error. */
function ifAbsent<Value>(error: unknown, value: Value): Value {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
    return value;
  }
  throw error;
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => undefined);
}
