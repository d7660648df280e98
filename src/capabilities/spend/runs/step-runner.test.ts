import { describe, expect, test } from 'vitest';
import { type Rejection, runSteps, type Step } from './step-runner.ts';

type Calls = string[];

interface StepBehaviour {
  readonly check?: () => Rejection | undefined | Promise<Rejection | undefined>;
  readonly undo?: () => unknown;
}

/** A step that appends its calls to the context. */
function stepNamed(name: string, { check, undo }: StepBehaviour = {}): Step<Calls> {
  return {
    name,
    check(calls) {
      calls.push(`check ${name}`);
      return check?.();
    },
    undo(calls) {
      calls.push(`undo ${name}`);
      return undo?.();
    },
  };
}

async function run(steps: readonly Step<Calls>[]) {
  const calls: Calls = [];
  const undoErrors: unknown[] = [];
  const error = await runSteps(steps, calls, (name, cause) => undoErrors.push([name, cause])).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { calls, undoErrors, error };
}

const failure = new Error('step failed');

describe('runSteps', () => {
  test('runs the checks in order, waits for each, and undoes nothing if all succeed', async () => {
    const slow = stepNamed('slow', { check: async () => undefined });
    const { calls, error } = await run([stepNamed('first'), slow, stepNamed('last')]);
    expect(error).toBeUndefined();
    expect(calls).toEqual(['check first', 'check slow', 'check last']);
  });

  test.each<[string, StepBehaviour]>([
    [
      'throws',
      {
        check: () => {
          throw failure;
        },
      },
    ],
    ['rejects its promise', { check: () => Promise.reject(failure) }],
    ['returns a rejection', { check: () => () => failure }],
    ['resolves to a rejection', { check: async () => async () => failure }],
  ])('undoes the earlier steps in reverse order if a step %s', async (_, behaviour) => {
    const failing = stepNamed('failing', behaviour);
    const { calls, error } = await run([stepNamed('a'), stepNamed('b'), failing, stepNamed('never')]);
    expect(error).toBe(failure);
    expect(calls).toEqual(['check a', 'check b', 'check failing', 'undo b', 'undo a']);
  });

  test('builds the error of a rejection after the undo', async () => {
    const calls: Calls = [];
    const rejecting: Step<Calls> = {
      name: 'rejecting',
      check: () => () => {
        calls.push('error');
        return failure;
      },
    };
    await expect(runSteps([stepNamed('a'), rejecting], calls, () => {})).rejects.toBe(failure);
    expect(calls).toEqual(['check a', 'undo a', 'error']);
  });

  test('runSteps waits for an undo before it starts the next one', async () => {
    const calls: Calls = [];
    const slow: Step<Calls> = {
      name: 'slow',
      check: () => undefined,
      async undo() {
        await Promise.resolve();
        calls.push('undo slow');
      },
    };
    const failing = stepNamed('failing', { check: () => () => failure });
    await expect(runSteps([stepNamed('a'), slow, failing], calls, () => {})).rejects.toBe(failure);
    expect(calls).toEqual(['check a', 'check failing', 'undo slow', 'undo a']);
  });

  test('throws the first error and undoes the other steps if an undo fails', async () => {
    const undoFailure = new Error('undo failed');
    const fragile = stepNamed('fragile', {
      undo: () => {
        throw undoFailure;
      },
    });
    const failing = stepNamed('failing', { check: () => Promise.reject(failure) });
    const { calls, undoErrors, error } = await run([stepNamed('a'), fragile, failing]);
    expect(error).toBe(failure);
    expect(undoErrors).toEqual([['fragile', undoFailure]]);
    expect(calls).toEqual(['check a', 'check fragile', 'check failing', 'undo fragile', 'undo a']);
  });
});
