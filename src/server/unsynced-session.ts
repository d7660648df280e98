/**
 * Detects that the machine went down while a service with `SVC_DURABILITY=os` was running. Acknowledged writes that the operating
 * system had not written to disk are then lost. The end of the process alone (`kill -9`) loses nothing.
 *
 * A file in the data directory marks the session from the start to a clean stop, with the id of the machine's boot. A start logs a
 * warning if it finds the file of another boot. A clean stop syncs everything before it removes the file, so that a later power cut
 * loses nothing.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/settings.ts';
import { readIfPresent, syncDirectory, syncTree, writePrivateFile } from '../platform/files/durable-files.ts';
import type { Log } from '../platform/log.ts';
import { bootId } from '../platform/process-identity.ts';

interface Marker {
  /** Null if the machine has no boot id. */
  readonly boot: string | null;
  readonly startedAt: string;
}

export interface UnsyncedSession {
  /** Must be called after the database and the hold log are closed. */
  end(): Promise<void>;
}

const synced: UnsyncedSession = { async end() {} };

export interface SessionOptions {
  readonly config: Pick<Config, 'dataDir' | 'durability'>;
  readonly log: Log;
  readonly now: Date;
  /** Id of the current boot. Default: read from this machine. */
  readonly boot?: string | undefined;
}

/** Begins a session. Must be called after the embedded database was opened. */
export function beginSession({ config, log, now, boot = bootId() }: SessionOptions): UnsyncedSession {
  const { dataDir, durability } = config;
  const path = join(dataDir, fileName);
  const last = readMarker(path);
  if (last !== undefined && (boot === undefined || last.boot !== boot)) {
    log.warn(
      { sessionStartedAt: last.startedAt, isBootKnown: boot !== undefined && last.boot !== null },
      lossWarning(boot !== undefined && last.boot !== null),
    );
  }
  if (durability === 'sync') {
    removeSessionMarker(dataDir);
    return synced;
  }
  const marker: Marker = { boot: boot ?? null, startedAt: now.toISOString() };
  writePrivateFile(path, `${JSON.stringify(marker)}\n`);
  return {
    async end() {
      for (const part of ['database', 'holds'].map((name) => join(dataDir, name)).filter(existsSync)) {
        await syncTree(part);
      }
      removeSessionMarker(dataDir);
    },
  };
}

const fileName = 'unsynced-session.json';

function lossWarning(isBootKnown: boolean): string {
  return (
    (isBootKnown
      ? 'the machine went down while the service ran with SVC_DURABILITY=os: '
      : 'the service did not stop cleanly with SVC_DURABILITY=os. If the machine went down, ') +
    'holds, runs and other changes that were acknowledged in the last half minute before may be missing. ' +
    'Compare the spend of that time with your providers, and set SVC_DURABILITY=sync if this must not happen.'
  );
}

/** Reads the marker. A file that cannot be parsed was truncated by a power cut, because nothing else truncates it. */
function readMarker(path: string): Marker | undefined {
  const text = readIfPresent(path);
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Marker);
  } catch {
    return { boot: null, startedAt: 'unknown' };
  }
}

/** Removes the marker. A restore calls it too, because the marker belongs to the previous database. */
export function removeSessionMarker(dataDir: string): void {
  const path = join(dataDir, fileName);
  if (existsSync(path)) {
    rmSync(path);
    syncDirectory(dataDir);
  }
}
