/** Failures of real writes, which change the readiness immediately. */
export type WriteTarget = 'database' | 'data-directory';

type WriteFailureListener = (target: WriteTarget, error: unknown) => void;

export class WriteFailures {
  #listener: WriteFailureListener | undefined;

  /** Reports a failure. Does nothing without a listener, because a failed start is reported in another way. */
  report(target: WriteTarget, error: unknown): void {
    this.#listener?.(target, error);
  }

  listen(listener: WriteFailureListener | undefined): void {
    this.#listener = listener;
  }
}
