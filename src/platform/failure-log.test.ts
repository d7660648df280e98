import { expect, test } from 'vitest';
import { DatabaseUnavailable } from './db/database.ts';
import { createFailureLog, summaryEveryMs } from './failure-log.ts';
import { createLog } from './log.ts';

function logging(level = 'info') {
  const lines: Record<string, unknown>[] = [];
  const clock = { nowMs: 0 };
  const failures = createFailureLog({
    log: createLog(level, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    fields: { job: 'tidy' },
    messages: { failed: 'failed', stillFails: 'still fails', recovered: 'recovered' },
    nowMs: () => clock.nowMs,
  });
  return { failures, lines, clock };
}

const refused = () =>
  new DatabaseUnavailable('the database is away', {
    cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' }),
  });

test('logs the first failure, a summary a minute, and the recovery, in short lines', () => {
  const { failures, lines, clock } = logging();
  for (let second = 0; second < 150; second += 1) {
    clock.nowMs = second * 1_000;
    failures.failed(refused(), { traceId: `t${second}` });
  }
  failures.succeeded();
  failures.succeeded();
  const err = { type: 'DatabaseUnavailable', message: expect.stringContaining('ECONNREFUSED') };
  expect(lines.map(({ time: _, ...line }) => line)).toEqual([
    { level: 'warn', job: 'tidy', traceId: 't0', err, msg: 'failed' },
    { level: 'warn', job: 'tidy', failures: 61, forSeconds: 60, err, msg: 'still fails' },
    { level: 'warn', job: 'tidy', failures: 121, forSeconds: 120, err, msg: 'still fails' },
    { level: 'info', job: 'tidy', failures: 150, forSeconds: 149, msg: 'recovered' },
  ]);
  expect(Math.max(...lines.map((line) => JSON.stringify(line).length))).toBeLessThan(300);
});

test('logs a failure of another kind at once, with its stack', () => {
  const { failures, lines } = logging();
  failures.failed(refused());
  failures.failed(new TypeError('a bug'));
  failures.failed(new TypeError('the same bug'));
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatchObject({
    err: { message: 'a bug', stack: expect.stringContaining('failure-log') },
  });
});

test('logs the first failure after a recovery at once', () => {
  const { failures, lines, clock } = logging();
  failures.failed(refused());
  failures.succeeded();
  clock.nowMs = summaryEveryMs / 2;
  failures.failed(refused());
  expect(lines.map(({ msg }) => msg)).toEqual(['failed', 'recovered', 'failed']);
});

test('logs every failure with its stack at level debug', () => {
  const { failures, lines } = logging('debug');
  failures.failed(refused());
  failures.failed(refused());
  expect(lines).toMatchObject([
    { level: 'warn', err: { stack: expect.stringContaining('failure-log') } },
    { level: 'debug', err: { stack: expect.stringContaining('failure-log') } },
  ]);
});
