import { mkdirSync, mkdtempSync, rmdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DirectoryInUse, isLocked, lockDirectory } from './directory-lock.ts';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'purser-lock-'));
  path = join(directory, 'lock');
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

/** Replaces the lock file by a directory: it exists, and reading it fails. */
function makeUnreadable(): void {
  rmSync(path, { force: true });
  mkdirSync(path);
}

test('replaces a lock file that a power cut has emptied', async () => {
  writeFileSync(path, '');
  const lock = await lockDirectory(directory);
  await expect(lockDirectory(directory)).rejects.toThrow(DirectoryInUse);
  await lock.release();
});

test('a lock file that cannot be read counts as locked', async () => {
  expect(await isLocked(directory)).toBe(false);
  makeUnreadable();
  expect(await isLocked(directory)).toBe(true);
  await expect(lockDirectory(directory)).rejects.toThrow('EISDIR');
});

describe('the regular check of the holder', () => {
  /** Locks the directory. `check` is what the timer calls. */
  async function locked() {
    const intervals = vi.spyOn(globalThis, 'setInterval');
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const lock = await lockDirectory(directory);
    const check = intervals.mock.calls[0]?.[0] as () => Promise<void>;
    return { lock, check, exit };
  }

  test('skips a round in which the file cannot be read, and continues', async () => {
    const { lock, check, exit } = await locked();
    const content = await readFile(path);
    makeUnreadable();
    await check();
    expect(exit).not.toHaveBeenCalled();

    rmdirSync(path);
    writeFileSync(path, content);
    utimesSync(path, 1, 1);
    await check();
    expect(statSync(path).mtimeMs).toBeGreaterThan(1_000);
    expect(exit).not.toHaveBeenCalled();
    await lock.release();
    expect(await isLocked(directory)).toBe(false);
  });

  test.each(['removed', 'replaced'])(
    'the regular check of the holder ends the process if the file was %s',
    async (change) => {
      const { lock, check, exit } = await locked();
      rmSync(path);
      if (change === 'replaced') {
        writeFileSync(path, '{}');
      }
      await check();
      expect(exit).toHaveBeenCalledWith(1);
      await lock.release();
    },
  );

  test('does not fail to end when the file cannot be read', async () => {
    const { lock } = await locked();
    makeUnreadable();
    await lock.release();
  });
});
