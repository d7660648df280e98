/** Deletes device codes that have expired. */
import type { Database } from '../../../platform/db/database.ts';
import { deleteBatch } from '../../../platform/db/delete-batch.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';

const keptMs = 24 * 3_600_000;
const codes = { table: 'device_codes', key: 'digest', where: 'expires_at <= $1', limit: 500 };

export function deviceCodeTidying({ db, clock }: { readonly db: Database; readonly clock: Clock }): Job {
  return {
    id: 'delete-old-device-codes',
    everyMs: 600_000,
    runOnce: () => deleteBatch(db, { ...codes, params: [new Date(clock.now().getTime() - keptMs)] }),
  };
}
