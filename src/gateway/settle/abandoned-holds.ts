/**
 * Holds of calls that were not made: the database became unavailable while the hold was taken, and may have stored it. These holds
 * are voided, and runs stored with them are cancelled. Otherwise their amounts would be posted when the holds expire.
 */
import {
  completeRun,
  type RunDependencies,
  type UncertainStart,
} from '../../capabilities/spend/runs/index.ts';
import { ApiError } from '../../contract/api-error.ts';
import { holdIdOfCall } from '../../ledger/holds/hold.ts';
import type { Job } from '../../platform/jobs/jobs.ts';
import { ServiceUnavailable } from '../../platform/service-unavailable.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { callerOf } from './caller-of.ts';

export interface AbandonedCall extends UncertainStart {
  readonly orgId: string;
  readonly keyId: string;
}

export interface AbandonedHolds {
  add(call: AbandonedCall): void;
  readonly job: Job;
}

/**
 * Maximum number of holds to void. Calls fail quickly while the database is unavailable, so few of them leave a hold. Further holds
 * are posted at expiry.
 */
const holdsMax = 10_000;

export function createAbandonedHolds(runs: RunDependencies, clock: Clock): AbandonedHolds {
  const calls = new Set<AbandonedCall>();

  async function end({ orgId, keyId, runId, isStored }: AbandonedCall): Promise<void> {
    if (isStored) {
      const call = { caller: callerOf(orgId, keyId), now: clock.now(), storeResponse: undefined };
      const ended = { marks: [], releasesKey: true } as const;
      await completeRun(runs, call, runId, { status: 'cancelled', cost_usd: '0' }, ended).catch(
        ignoreMissing,
      );
    }
    // Voided even without its run, because the hold of a call with an idempotency key is taken before the run is stored.
    await runs.ledger.void(orgId, holdIdOfCall(runId));
  }

  return {
    add(call) {
      if (calls.size < holdsMax) {
        calls.add(call);
      }
    },
    job: {
      id: 'void-abandoned-holds',
      everyMs: 1_000,
      async runOnce() {
        try {
          for (const call of calls) {
            await end(call);
            calls.delete(call);
          }
        } catch (error) {
          // The next run of the job tries again.
          if (!(error instanceof ServiceUnavailable)) {
            throw error;
          }
        }
        return false;
      },
    },
  };
}

/** Ignores that the run was not stored or has ended; throws any other error. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof ApiError) || error.status >= 500) {
    throw error;
  }
}
