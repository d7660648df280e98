import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLog } from '../platform/log.ts';
import { logStartPhases, progressEveryMs } from './start-phases.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('logs the duration of a phase, and its progress while it lasts', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) });
  const phases = logStartPhases(log, () => Date.now());
  let position = 1;
  let finish = () => {};
  const running = phases.run(
    'apply-migrations',
    () =>
      new Promise<void>((resolve) => {
        finish = resolve;
      }),
    () => ({ position, pending: 3 }),
  );
  await vi.advanceTimersByTimeAsync(progressEveryMs);
  position = 3;
  await vi.advanceTimersByTimeAsync(progressEveryMs - 1);
  finish();
  await running;
  await vi.advanceTimersByTimeAsync(10 * progressEveryMs);
  const common = { level: 'info', phase: 'apply-migrations', pending: 3 };
  expect(lines).toMatchObject([
    { ...common, position: 1, durationMs: 5_000, msg: 'start: apply-migrations is in progress' },
    { ...common, position: 3, durationMs: 9_999, msg: 'start: apply-migrations is complete' },
  ]);
});

test('logs nothing more about a phase that failed', async () => {
  const lines: string[] = [];
  const phases = logStartPhases(createLog('info', { write: (line: string) => void lines.push(line) }), () =>
    Date.now(),
  );
  await expect(phases.run('listen', () => Promise.reject(new Error('in use')))).rejects.toThrow('in use');
  await vi.advanceTimersByTimeAsync(10 * progressEveryMs);
  expect(lines).toEqual([]);
});
