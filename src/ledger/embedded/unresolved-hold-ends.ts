/** Holds whose outcome is unknown: their end, or the run that opens them, was sent to the database without a known result. */
import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseUnavailable } from '../../platform/db/database.ts';

export class UnresolvedHoldEnd extends DatabaseUnavailable {
  override readonly name = 'UnresolvedHoldEnd';

  constructor() {
    super('the end of the hold is not confirmed yet');
  }
}

const retryAfterMs = 250;

export class UnresolvedHoldEnds {
  readonly #holdIds = new Set<string>();
  #closed = false;

  /**
   * Retries `find`, which determines the outcome and acts on it, until `find` succeeds or `close` is called. Until then the holds
   * are unresolved.
   */
  async resolve(holdIds: readonly string[], find: () => Promise<void>): Promise<void> {
    for (const id of holdIds) {
      this.#holdIds.add(id);
    }
    while (!this.#closed) {
      try {
        await find();
        for (const id of holdIds) {
          this.#holdIds.delete(id);
        }
        return;
      } catch {
        await pause(retryAfterMs, undefined, { ref: false });
      }
    }
  }

  /**
   * Throws if the end of a hold is unresolved: reporting the hold as ended could be wrong, and so could ending it
   * again. The caller may retry soon.
   */
  throwIfUnresolved(holdIds: readonly (string | null)[]): void {
    if (holdIds.some((id) => id !== null && this.#holdIds.has(id))) {
      throw new UnresolvedHoldEnd();
    }
  }

  close(): void {
    this.#closed = true;
  }
}
