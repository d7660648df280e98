/** Deletes expired sign-in attempts, assertions and tests. */

import type { Database } from '../../../platform/db/database.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { deleteOver } from './queries.ts';
import { deleteExpiredTests } from './test-queries.ts';

const batch = 500;

export function ssoTidying({ db, clock }: { readonly db: Database; readonly clock: Clock }): Job {
  return {
    id: 'delete-old-sign-ins',
    everyMs: 600_000,
    async runOnce() {
      const now = clock.now();
      const signIns = await deleteOver(db, now, batch);
      const tests = await deleteExpiredTests(db, now, batch);
      return Math.max(signIns, tests) === batch;
    },
  };
}
