/** The state that the parts of the embedded ledger share. */
import type { Database } from '../../platform/db/database.ts';
import type { DurableHolds } from './durable-holds.ts';
import type { KeysInFlight } from './keys-in-flight.ts';
import type { LedgerStates } from './ledger-states.ts';
import type { UnresolvedHoldEnds } from './unresolved-hold-ends.ts';

export interface EmbeddedState {
  readonly db: Database;
  readonly states: LedgerStates;
  readonly durable: DurableHolds;
  readonly unresolvedEnds: UnresolvedHoldEnds;
  readonly keysInFlight: KeysInFlight;
  /** Time of the ledger, which may be ahead of the clock. */
  now(): number;
  clockMs(): number;
}
