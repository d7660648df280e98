/** Deletes expired sign-in attempts and assertions. */

import type { Database } from '../../../platform/db/database.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { deleteOver } from './queries.ts';

const batch = 500;

export function ssoTidying({ db, clock }: { readonly db: Database; readonly clock: Clock }): Job {
  return {
    id: 'delete-old-sign-ins',
    everyMs: 600_000,
    runOnce: async () => (await deleteOver(db, clock.now(), batch)) === batch,
  };
}
