/** The cases that `npm run fuzz` finds in the report of a turn, and the command that replays each. */
import { describe, expect, test } from 'vitest';
import { failuresIn, type Report, replayCommand } from '../scripts/fuzz-report.ts';

const reportOf = (...results: Report['testResults'][number]['assertionResults']): Report => ({
  testResults: [{ status: 'failed', message: '', assertionResults: results }],
});
const failing = (fullName: string, title: string, message: string) => ({
  status: 'failed',
  fullName,
  title,
  failureMessages: [message],
});

describe('a failure in a report', () => {
  test('a failure in a report has the seed and the path of fast-check', () => {
    const message =
      'Property failed after 4 tests\n{ seed: 77, path: "3:0:1", endOnFailure: true }\nCounterexample: []';
    const report = reportOf(failing('a window tiles time', 'tiles time', message));
    expect(failuresIn(report, [76, 77])).toMatchObject([{ test: 'tiles time', seed: 77, path: '3:0:1' }]);
  });

  test('a failure in a report has the seed of its title and no path, also if fast-check names a derived seed', () => {
    const message = '{ seed: 79, path: "5", endOnFailure: true }';
    const report = reportOf(failing('answers requests (seed 77)', 'answers requests (seed 77)', message));
    expect(failuresIn(report, [77])).toMatchObject([{ seed: 77, path: undefined }]);
    const described = reportOf(failing('a table (seed 78) is routed', 'is routed', 'expected 1 to be 2'));
    expect(failuresIn(described, [77, 78])).toMatchObject([{ seed: 78, path: undefined }]);
  });

  test('a failure in a report may be one of a whole file', () => {
    const report = { testResults: [{ status: 'failed', message: 'cannot load', assertionResults: [] }] };
    expect(failuresIn(report, [5])).toEqual([
      { test: undefined, seed: 5, path: undefined, message: 'cannot load' },
    ]);
  });

  test('a failure in a report is none where all passed, or where there is no report', () => {
    const passed = { status: 'passed', fullName: 'a', title: 'a' };
    expect(failuresIn({ testResults: [{ status: 'passed', assertionResults: [passed] }] }, [5])).toEqual([]);
    expect(failuresIn(undefined, [5])).toEqual([]);
  });
});

test('the command that replays a failure names its test, engine, seed and path', () => {
  const turn = { name: 'rate', project: 'embedded' };
  expect(replayCommand(turn, { test: "a bucket's wait", seed: 5, path: '1:2' })).toBe(
    "npm run fuzz -- --only rate --project embedded --seed 5 --path 1:2 --test 'a bucket'\\''s wait'",
  );
  expect(replayCommand(turn, { test: 'a', seed: 5, path: undefined })).toBe(
    'npm run fuzz -- --only rate --project embedded --seed 5',
  );
});
