/** Admits an open hold again at another time, after a wrong clock has dated its admission ahead of now. */
import { applicableCounters } from '../../kernel/admission.ts';
import type { OrgLimits } from '../../kernel/limits.ts';
import type { Transaction } from '../../platform/db/database.ts';
import type { Hold } from './hold.ts';

export interface ClockReset {
  /** Number of orgs whose time was set back to the clock. */
  readonly orgs: number;
  /** Number of open holds that were admitted again. */
  readonly holds: number;
}

/** Moves runs in progress that are dated after `after` to the time of their holds. Other runs and holds stay unchanged. */
export type MoveRuns = (tx: Transaction, orgId: string, holds: readonly Hold[], after: Date) => Promise<void>;

/**
 * Returns the hold with its full lifetime from now on. The hold reserves in the windows of the new time, even if their limits have
 * no room, because it was admitted before.
 */
export function readmitHold(hold: Hold, limits: OrgLimits, atMs: number): Hold {
  return {
    ...hold,
    admittedAtMs: atMs,
    expiresAtMs: atMs + (hold.expiresAtMs - hold.admittedAtMs),
    shares: applicableCounters(limits, hold.scope, atMs, hold.surface).shares,
  };
}
