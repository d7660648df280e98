/**
 * Holds of calls that were not made: the database went away while the hold was taken, and may have stored it. They are voided, since
 * the amount of a call that is never settled is posted when its hold expires.
 */
import type { Ledger } from '../../ledger/ledger.ts';
import type { Job } from '../../platform/jobs/jobs.ts';
import { ServiceUnavailable } from '../../platform/service-unavailable.ts';

export interface AbandonedHolds {
  add(orgId: string, holdId: string): void;
  readonly job: Job;
}

/** Calls fail quickly while the database is away, and hardly any of them has left a hold. Those beyond are posted at their expiry. */
const holdsMax = 10_000;

export function createAbandonedHolds(ledger: Pick<Ledger, 'void'>): AbandonedHolds {
  /** The org of each hold. */
  const orgs = new Map<string, string>();

  return {
    add(orgId, holdId) {
      if (orgs.size < holdsMax) {
        orgs.set(holdId, orgId);
      }
    },
    job: {
      id: 'void-abandoned-holds',
      everyMs: 1_000,
      async runOnce() {
        try {
          for (const [holdId, orgId] of orgs) {
            await ledger.void(orgId, holdId);
            orgs.delete(holdId);
          }
        } catch (error) {
          // Tried again by the next run of the job.
          if (!(error instanceof ServiceUnavailable)) {
            throw error;
          }
        }
        return false;
      },
    },
  };
}
