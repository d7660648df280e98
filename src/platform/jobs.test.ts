import { expect, test } from 'vitest';
import { startJobs } from './jobs.ts';
import { createLog } from './log.ts';

test('a job that cannot end what it left is told of, and keeps nothing else from stopping', async () => {
  const lines: string[] = [];
  const log = createLog('trace', { write: (line: string) => void lines.push(line) });
  const idle = { everyMs: 60_000, runOnce: async () => false };
  let isOtherStopped = false;
  const jobs = startJobs(
    [
      { ...idle, name: 'broken', stop: () => Promise.reject(new Error('the database is away')) },
      {
        ...idle,
        name: 'whole',
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
