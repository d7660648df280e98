/** Deletes sessions that ended long ago, and expired links. Until then admins can see who was signed in. */

import type { Database } from '../../../platform/db/database.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { deleteOldLinks } from './console-links.ts';
import { deleteOldSessions } from './queries.ts';

const keptDays = 90;
const batch = 500;

export function sessionTidying({ db, clock }: { readonly db: Database; readonly clock: Clock }): Job {
  return {
    id: 'delete-old-sessions',
    everyMs: 3_600_000,
    async runOnce() {
      const now = clock.now();
      const before = new Date(now.getTime() - keptDays * 24 * 3_600_000);
      const sessions = await deleteOldSessions(db, before, batch);
      return (await deleteOldLinks(db, now, batch)) === batch || sessions === batch;
    },
  };
}
