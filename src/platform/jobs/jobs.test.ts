import { expect, test, vi } from 'vitest';
import { DatabaseUnavailable } from '../db/database.ts';
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

test('logs a job that fails in every run once, and once that it succeeds again', async () => {
  vi.useFakeTimers();
  try {
    const lines: Record<string, unknown>[] = [];
    const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) });
    let isAway = true;
    let runs = 0;
    const job = {
      id: 'tidy',
      everyMs: 1_000,
      async runOnce() {
        runs += 1;
        if (isAway) {
          throw new DatabaseUnavailable('the database is away');
        }
        return false;
      },
    };
    const jobs = startJobs([job], log);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(runs).toBeGreaterThan(20);
    const failed = runs;
    isAway = false;
    await vi.advanceTimersByTimeAsync(30_000);
    await jobs.stop();
    expect(lines).toMatchObject([
      { job: 'tidy', msg: 'job failed; will run again', err: { message: 'the database is away' } },
      { job: 'tidy', msg: 'job succeeds again', failures: failed },
    ]);
    expect(lines[0]?.err).not.toHaveProperty('stack');
  } finally {
    vi.useRealTimers();
  }
});
