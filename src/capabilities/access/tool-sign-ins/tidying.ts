/** Deletes sign-ins that ended long ago, and tokens that cannot be used anymore. Until then admins can see who was signed in. */
import type { Database } from '../../../platform/db/database.ts';
import { deleteBatch } from '../../../platform/db/delete-batch.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';

const keptDays = 90;
/** Time for which an expired token is still recognized, so that its error says that it has expired. */
const expiredTokenDays = 7;
const dayMs = 24 * 3_600_000;
const signIns = { table: 'tool_sign_ins', key: 'id', where: 'expires_at <= $1', limit: 500 };
const tokens = { table: 'tool_tokens', key: 'digest', where: 'expires_at <= $1', limit: 500 };

export function toolSignInTidying({ db, clock }: { readonly db: Database; readonly clock: Clock }): Job {
  return {
    id: 'delete-old-tool-sign-ins',
    everyMs: 3_600_000,
    async runOnce() {
      const nowMs = clock.now().getTime();
      const moreTokens = await deleteBatch(db, {
        ...tokens,
        params: [new Date(nowMs - expiredTokenDays * dayMs)],
      });
      const before = new Date(nowMs - keptDays * dayMs);
      return (await deleteBatch(db, { ...signIns, params: [before] })) || moreTokens;
    },
  };
}
