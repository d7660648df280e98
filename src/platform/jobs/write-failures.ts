/** Failures of real writes, which readiness follows at once. */
export type WriteTarget = 'database' | 'data-directory';

type Listener = (target: WriteTarget, error: unknown) => void;

export class WriteFailures {
  #listener: Listener | undefined;

  /** Does nothing while there is no listener: a start that fails is reported otherwise. */
  report(target: WriteTarget, error: unknown): void {
    this.#listener?.(target, error);
  }

  listen(listener: Listener | undefined): void {
    this.#listener = listener;
  }
}
