/** Runs a list of steps in order. If a step rejects or throws, the earlier steps are undone in reverse order. */

/** Builds the error of a rejected request. Called after the earlier steps were undone. */
export type Rejection = () => Error | Promise<Error>;

export interface Step<Context> {
  readonly name: string;
  /** Returns undefined if the step succeeds. If it rejects or throws, it must leave nothing to undo, because its `undo` is not called. */
  check(context: Context): Rejection | undefined | Promise<Rejection | undefined>;
  /** Reverts a successful `check`. */
  undo?(context: Context): unknown;
}

export type OnUndoError = (stepName: string, error: unknown) => void;

/** Runs the steps. Throws the error of the step that failed. A failing undo is only reported; the other steps are still undone. */
export async function runSteps<Context>(
  steps: readonly Step<Context>[],
  context: Context,
  onUndoError: OnUndoError,
): Promise<void> {
  let succeeded = 0;
  let rejection: Rejection | undefined;
  try {
    for (const step of steps) {
      const checked = step.check(context);
      // `await` is skipped for synchronous steps, which most are.
      rejection = checked instanceof Promise ? await checked : checked;
      if (rejection !== undefined) {
        break;
      }
      succeeded += 1;
    }
  } catch (error) {
    await undoSteps(steps.slice(0, succeeded), context, onUndoError);
    throw error;
  }
  if (rejection !== undefined) {
    await undoSteps(steps.slice(0, succeeded), context, onUndoError);
    throw await rejection();
  }
}

/** Undoes steps that succeeded, in reverse order. */
export async function undoSteps<Context>(
  succeeded: readonly Step<Context>[],
  context: Context,
  onUndoError: OnUndoError,
): Promise<void> {
  for (const step of succeeded.toReversed()) {
    try {
      await step.undo?.(context);
    } catch (error) {
      onUndoError(step.name, error);
    }
  }
}
