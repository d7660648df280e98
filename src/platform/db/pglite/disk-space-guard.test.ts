import { expect, test } from 'vitest';
import { createLog } from '../../log.ts';
import { guardDiskSpace } from './disk-space-guard.ts';

const mebibyte = 1_048_576;

test('makes the database read-only below the minimum, and writable again with some space to spare', async () => {
  let free = 100 * mebibyte;
  let isRunning = true;
  const states: boolean[] = [];
  const guard = guardDiskSpace({
    directory: '/',
    log: createLog('silent'),
    freeBytes: async () => free,
    async setReadOnly(readOnly) {
      if (!isRunning) {
        throw new Error('not running');
      }
      states.push(readOnly);
    },
  });
  const lookWith = async (mebibytes: number) => {
    free = mebibytes * mebibyte;
    await guard.look();
    return states.splice(0);
  };
  try {
    expect(await lookWith(48)).toEqual([]);
    isRunning = false;
    expect(await lookWith(47)).toEqual([]);
    isRunning = true;
    expect(await lookWith(47)).toEqual([true]);
    expect(await lookWith(63)).toEqual([]);
    guard.restarted();
    expect(await lookWith(10)).toEqual([true]);
    expect(await lookWith(64)).toEqual([false]);
  } finally {
    guard.stop();
  }
});
