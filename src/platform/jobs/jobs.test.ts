import { expect, test, vi } from 'vitest';
import { createLog } from '../log.ts';
import { startJobs } from './jobs.ts';

test('logs a job that fails to stop, and stops all other jobs', async () => {
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

test('pauses between the batches of a job as long as it says, unless it is stopped', async () => {
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
    // No timer may be left after this.
    await jobs.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(batches).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});
