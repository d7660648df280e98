/** Holds whose end was sent to the database, and nobody knows yet whether it is there. */
import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseUnavailable } from '../../platform/db/database.ts';

export class UnresolvedHoldEnd extends DatabaseUnavailable {
  constructor() {
    super('it is not known yet whether the hold has ended');
    this.name = 'EndInDoubt';
  }
}

const retryAfterMs = 250;

export class UnresolvedHoldEnds {
  readonly #holdIds = new Set<string>();
  #closed = false;

  /** They are in doubt until `find` has found out, and done what follows from it. Nobody asks any more after `close`. */
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

  /** To say that they have ended would be as wrong as to end them again: whoever asked may ask again soon. */
  refuse(holdIds: readonly (string | null)[]): void {
    if (holdIds.some((id) => id !== null && this.#holdIds.has(id))) {
      throw new UnresolvedHoldEnd();
    }
  }

  close(): void {
    this.#closed = true;
  }
}
