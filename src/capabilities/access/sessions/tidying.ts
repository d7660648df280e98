/** Deletes sessions that ended long ago, and expired links. Until then admins can see who was signed in. */
import type { Database } from '../../../platform/db/database.ts';
import { deleteBatch } from '../../../platform/db/delete-batch.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';

const keptDays = 90;
/** Deleting the row is safe, because the tokens of deleted sessions are still recognized by their signature. */
const sessions = { table: 'sessions', key: 'tenant_id, id', where: 'expires_at <= $1', limit: 500 };
const links = { table: 'console_links', key: 'digest', where: 'expires_at <= $1', limit: 500 };

export function sessionTidying({ db, clock }: { readonly db: Database; readonly clock: Clock }): Job {
  return {
    id: 'delete-old-sessions',
    everyMs: 3_600_000,
    async runOnce() {
      const now = clock.now();
      const before = new Date(now.getTime() - keptDays * 24 * 3_600_000);
      const moreSessions = await deleteBatch(db, { ...sessions, params: [before] });
      return (await deleteBatch(db, { ...links, params: [now] })) || moreSessions;
    },
  };
}
