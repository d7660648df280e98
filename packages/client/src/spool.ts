/** The interface of a spool: settlements that outlive the process. `@purser/client/node` has one on disk. */
import { PurserError } from './errors.ts';
import type { CreateRun } from './generated/types.ts';

/** A run that settles a call. Its `external_id` makes posting it again harmless. */
export type Settlement = CreateRun & { readonly external_id: string };

export interface Spool {
  /** Stores a settlement. Rejects with a `SpoolFullError` if there is no room. */
  add(settlement: Settlement): Promise<void>;
  /** Removes a settlement that was posted. */
  remove(externalId: string): Promise<void>;
  /** Sets a settlement aside that the service will never accept. */
  reject(externalId: string): Promise<void>;
  /** Returns the settlements that earlier processes have left. Those that cannot be read are reported. */
  leftBehind(onUnreadable: (error: unknown) => void): Promise<readonly Settlement[]>;
}

export class SpoolFullError extends PurserError {
  constructor(directory: string) {
    super(`The spool ${directory} is full: settlements are kept in memory only.`);
    this.name = 'SpoolFullError';
  }
}
