import { expect, test } from 'vitest';
import { createJobHistory } from './job-history.ts';

test('records the last run of a job, and its failures since the last success', async () => {
  let nowMs = 0;
  let fails = false;
  const history = createJobHistory({ now: () => new Date(nowMs) });
  const job = history.observe({
    id: 'tidy',
    everyMs: 1_000,
    async runOnce() {
      expect(history.statuses()[0]?.isRunning).toBe(true);
      nowMs += 5;
      if (fails) {
        throw new Error(`no room ${'x'.repeat(1_000)}`);
      }
      return true;
    },
  });
  const status = () => history.statuses()[0];
  expect(status()).toMatchObject({ id: 'tidy', startedAt: null, endedAt: null, failures: 0 });
  expect(await job.runOnce()).toBe(true);
  expect(status()).toMatchObject({ startedAt: new Date(0), endedAt: new Date(5), isRunning: false });
  fails = true;
  await expect(job.runOnce()).rejects.toThrow('no room');
  await expect(job.runOnce()).rejects.toThrow('no room');
  expect(status()).toMatchObject({ failures: 2, failedAt: new Date(15) });
  expect(status()?.lastError).toHaveLength(300);
  fails = false;
  await job.runOnce();
  expect(status()).toMatchObject({ failures: 0, endedAt: new Date(20), failedAt: new Date(15) });
  expect(status()?.lastError).toMatch(/^no room/);
});

test('keeps the other parts of a job', async () => {
  const history = createJobHistory({ now: () => new Date(0) });
  let stopped = false;
  const job = history.observe({
    id: 'tidy',
    everyMs: 1_000,
    runOnce: async () => false,
    restMs: (tookMs) => tookMs * 2,
    async stop() {
      stopped = true;
    },
  });
  await job.stop?.();
  expect([job.restMs?.(4), stopped, job.everyMs]).toEqual([8, true, 1_000]);
});
