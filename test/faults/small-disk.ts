/** A small file system in memory that a scenario can fill. Mounting it requires root. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratch } from '../support/scratch.ts';

export interface SmallDisk {
  readonly directory: string;
  /** Fills the file system; undefined if it is a plain directory, because the machine cannot mount one. */
  readonly fill: (() => () => void) | undefined;
  remove(): void;
}

export function openSmallDisk(megabytes: number): SmallDisk {
  const directory = mkdtempSync(join(scratch, 'purser-test-disk-'));
  const isMounted = mount(directory, megabytes);
  // The unprivileged user of PostgreSQL has its directory inside.
  chmodSync(directory, 0o755);
  const filler = join(directory, 'filler');
  return {
    directory,
    fill: isMounted
      ? () => {
          for (const bytes of [2 ** 20, 4_096, 1]) {
            fillWith(filler, bytes);
          }
          return () => rmSync(filler);
        }
      : undefined,
    remove() {
      if (isMounted) {
        execFileSync('umount', ['-l', directory], { stdio: 'pipe' });
      }
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function mount(directory: string, megabytes: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'purser-test', directory], {
      stdio: 'pipe',
    });
    return true;
  } catch {
    return false;
  }
}

function fillWith(file: string, bytes: number): void {
  try {
    for (;;) {
      writeFileSync(file, Buffer.alloc(bytes), { flag: 'a' });
    }
  } catch {
    // The file system is full.
  }
}
