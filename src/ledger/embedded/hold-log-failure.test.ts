/** The hold log while the disk fails. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { holdOf } from '../../../test/support/ledger-values.ts';
import { HoldsNotDurable, openHoldLog } from './hold-log.ts';

const disk = vi.hoisted(() => ({ isFailing: false }));
vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs')>();
  return {
    ...fs,
    fdatasync: (descriptor: number, done: (error: Error | null) => void) =>
      disk.isFailing ? setImmediate(done, new Error('EIO')) : fs.fdatasync(descriptor, done),
  };
});

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'purser-holds-'));
});
afterEach(() => {
  disk.isFailing = false;
  rmSync(directory, { recursive: true, force: true });
});

const fileBytes = () => statSync(join(directory, readdirSync(directory)[0] ?? '')).size;

test('a file whose last hold ends while a line fails is emptied', async () => {
  const log = openHoldLog(directory, { durability: 'sync' });
  const location = await log.append([holdOf('dec_1')]);
  disk.isFailing = true;
  const failing = log.append([holdOf('dec_2')]);
  log.remove([location]);
  await expect(failing).rejects.toThrow(HoldsNotDurable);
  expect(fileBytes()).toBeGreaterThan(0);
  await expect.poll(fileBytes).toBe(0);
  log.close();
});
