/**
 * Holds of calls that were not made: the database became unavailable while the hold was taken, and may have stored it. They are
 * voided, and runs that were stored with them are cancelled, since the amount of a call that is never settled is posted when its
 * hold expires.
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

/** Calls fail quickly while the database is unavailable, and hardly any of them leaves a hold. Holds beyond this number are posted at expiry. */
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
    // Also without its run: the hold of a call with an idempotency key is taken before the run is stored.
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

/** The run was not stored, or has ended. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof ApiError) || error.status >= 500) {
    throw error;
  }
}
