/** The hold log while the disk fails. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { holdOf } from '../../../test/support/ledger-values.ts';
import { HoldsNotDurable, openHoldLog } from './hold-log.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'purser-holds-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const fileBytes = () => statSync(join(directory, readdirSync(directory)[0] ?? '')).size;

test('a file whose last hold ends while a line fails is emptied', async () => {
  let isFailing = false;
  const syncData = async () => {
    if (isFailing) {
      throw new Error('EIO');
    }
  };
  const log = openHoldLog(directory, { durability: 'sync', syncData });
  const location = await log.append([holdOf('dec_1')]);
  isFailing = true;
  const failing = log.append([holdOf('dec_2')]);
  log.remove([location]);
  await expect(failing).rejects.toThrow(HoldsNotDurable);
  expect(fileBytes()).toBeGreaterThan(0);
  await expect.poll(fileBytes).toBe(0);
  log.close();
});
