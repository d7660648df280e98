/**
 * A spool in a directory: one file per settlement, so that processes can share it. A file is complete or absent, because it is renamed
 * into place. Settlements survive the process; with `sync` also a power failure of the machine.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Settlement, type Spool, SpoolFullError } from './spool.ts';

export interface DiskSpoolOptions {
  readonly directory: string;
  /** Maximum size of all settlements, some 500 bytes each. Default: 64 MiB. */
  readonly maxBytes?: number;
  /** Writes each settlement through to the disk before its call returns. Default: false. */
  readonly sync?: boolean;
}

const suffix = '.json';
const rejectedSuffix = '.rejected';
/** File systems allow names of 255 bytes, and suffixes follow. */
const hexMax = 200;

export function createDiskSpool({ directory, maxBytes = 67_108_864, sync = false }: DiskSpoolOptions): Spool {
  /** Files of this process and those that it found, with their sizes. */
  const sizes = new Map<string, number>();
  let bytes = 0;
  const opened = openDirectory();

  async function openDirectory(): Promise<readonly string[]> {
    await mkdir(directory, { recursive: true });
    const names = await readdir(directory);
    for (const name of names.filter((name) => name.endsWith(suffix) || name.endsWith(rejectedSuffix))) {
      const size = await stat(join(directory, name)).then(
        (found) => found.size,
        () => 0,
      );
      remember(name, size);
    }
    return names.filter((name) => name.endsWith(suffix));
  }
  // Reported by the first operation.
  opened.catch(() => undefined);

  function remember(name: string, size: number): void {
    forget(name);
    sizes.set(name, size);
    bytes += size;
  }

  function forget(name: string): void {
    bytes -= sizes.get(name) ?? 0;
    sizes.delete(name);
  }

  return {
    async add(settlement) {
      await opened;
      const name = fileName(settlement.external_id);
      const text = JSON.stringify(settlement);
      const size = Buffer.byteLength(text);
      if (bytes + size > maxBytes) {
        throw new SpoolFullError(directory);
      }
      remember(name, size);
      const temporary = join(directory, `${name}.${process.pid}.tmp`);
      try {
        const file = await open(temporary, 'w', 0o600);
        try {
          await file.writeFile(text);
          await (sync ? file.sync() : undefined);
        } finally {
          await file.close();
        }
        await rename(temporary, join(directory, name));
        await (sync ? syncDirectory(directory) : undefined);
      } catch (error) {
        forget(name);
        await rm(temporary, { force: true }).catch(() => undefined);
        throw error;
      }
    },
    async remove(externalId) {
      const name = fileName(externalId);
      await rm(join(directory, name), { force: true });
      forget(name);
    },
    async reject(externalId) {
      const name = fileName(externalId);
      const target = name.slice(0, -suffix.length) + rejectedSuffix;
      const size = sizes.get(name) ?? 0;
      await rename(join(directory, name), join(directory, target));
      forget(name);
      remember(target, size);
    },
    async leftBehind(onUnreadable) {
      const found: Settlement[] = [];
      for (const name of await opened) {
        const settlement = await readSettlement(join(directory, name), onUnreadable);
        if (settlement !== undefined) {
          found.push(settlement);
        }
      }
      return found;
    },
  };
}

/** Ids of callers may contain anything, and be longer than the name of a file. */
function fileName(externalId: string): string {
  const hex = Buffer.from(externalId).toString('hex');
  const name = hex.length <= hexMax ? hex : `sha256-${createHash('sha256').update(externalId).digest('hex')}`;
  return `${name}${suffix}`;
}

/** Returns undefined for a file that another process has posted and removed, or that is not a settlement. */
async function readSettlement(
  path: string,
  onUnreadable: (error: unknown) => void,
): Promise<Settlement | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Settlement;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      onUnreadable(error);
    }
    return undefined;
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
