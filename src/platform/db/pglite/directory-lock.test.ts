import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DirectoryInUse, lockDirectory } from './directory-lock.ts';

test('replaces a lock file that a power cut has emptied', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'purser-lock-'));
  try {
    writeFileSync(join(directory, 'lock'), '');
    const lock = await lockDirectory(directory);
    await expect(lockDirectory(directory)).rejects.toThrow(DirectoryInUse);
    await lock.release();
  } finally {
    rmSync(directory, { recursive: true });
  }
});
