import { expect, test, vi } from 'vitest';
import { createLog } from '../log.ts';
import { startJobs } from './jobs.ts';

test('a job that cannot end what it left is told of, and keeps nothing else from stopping', async () => {
  const lines: string[] = [];
  const log = createLog('trace', { write: (line: string) => void lines.push(line) });
  const idle = { everyMs: 60_000, runOnce: async () => false };
  let isOtherStopped = false;
  const jobs = startJobs(
    [
      { ...idle, id: 'broken', stop: () => Promise.reject(new Error('the database is away')) },
      {
        ...idle,
        id: 'whole',
        async stop() {
          isOtherStopped = true;
        },
      },
    ],
    log,
  );
  await jobs.stop();
  expect(isOtherStopped).toBe(true);
  expect(lines.join('')).toContain('broken');
});

test('a job that has more to do rests in between as long as it says, and no longer once it is to stop', async () => {
  vi.useFakeTimers();
  try {
    let batches = 0;
    const job = {
      id: 'long',
      everyMs: 1_000,
      async runOnce() {
        batches += 1;
        return true;
      },
      restMs: () => 10_000,
    };
    const jobs = startJobs([job], createLog('silent'));
    await vi.advanceTimersByTimeAsync(1_250);
    expect(batches).toBe(1);
    await vi.advanceTimersByTimeAsync(8_000);
    expect(batches).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(batches).toBe(2);
    // No timer has to run for it.
    await jobs.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(batches).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});
