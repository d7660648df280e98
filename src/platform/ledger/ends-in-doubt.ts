/** Holds whose end was sent to the database, and nobody knows yet whether it is there. */
import { DatabaseUnavailable } from '../db/database.ts';

export class EndInDoubt extends DatabaseUnavailable {
  constructor() {
    super('it is not known yet whether the hold has ended');
    this.name = 'EndInDoubt';
  }
}

export class EndsInDoubt {
  readonly #holdIds = new Set<string>();

  add(holdIds: readonly string[]): void {
    for (const id of holdIds) {
      this.#holdIds.add(id);
    }
  }

  delete(holdIds: readonly string[]): void {
    for (const id of holdIds) {
      this.#holdIds.delete(id);
    }
  }

  /** To say that they have ended would be as wrong as to end them again: whoever asked may ask again soon. */
  refuse(holdIds: readonly (string | null)[]): void {
    if (holdIds.some((id) => id !== null && this.#holdIds.has(id))) {
      throw new EndInDoubt();
    }
  }
}
