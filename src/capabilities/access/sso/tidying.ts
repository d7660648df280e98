/** Deletes expired sign-in attempts, assertions and tests. */
import type { Database } from '../../../platform/db/database.ts';
import { deleteBatch } from '../../../platform/db/delete-batch.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';

const tables = [
  { table: 'sso_attempts', key: 'digest' },
  { table: 'saml_assertions', key: 'org_id, digest' },
  { table: 'sso_tests', key: 'org_id, id' },
];

export function ssoTidying({ db, clock }: { readonly db: Database; readonly clock: Clock }): Job {
  return {
    id: 'delete-old-sign-ins',
    everyMs: 600_000,
    async runOnce() {
      const expired = { where: 'expires_at <= $1', params: [clock.now()], limit: 500 };
      let more = false;
      for (const table of tables) {
        more = (await deleteBatch(db, { ...table, ...expired })) || more;
      }
      return more;
    },
  };
}
