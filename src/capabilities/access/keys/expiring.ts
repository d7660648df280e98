/** Emits events for keys that expire soon: one a week before and one a day before. */

import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { enqueueEvents } from '../../../platform/outbox/outbox.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { viewKey } from './keys.ts';
import { markExpiring } from './queries.ts';

export interface ExpiringDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly clock: SharedClock;
}

/** Sorted ascending, so that a key that is found late is only reported once. */
const reportDaysBefore = [1, 7] as const;
const keysPerBatch = 500;

export function expiringKeys({ db, ids, clock }: ExpiringDependencies): Job {
  return {
    id: 'emit-key-expiring-events',
    everyMs: 60_000,
    runOnce: () =>
      db.transaction(async (tx) => {
        const now = await agreedNow(tx, clock);
        let more = false;
        for (const days of reportDaysBefore) {
          const keys = await markExpiring(tx, now, days, keysPerBatch);
          more ||= keys.length === keysPerBatch;
          await enqueueEvents(
            tx,
            keys.map((key) => ({
              id: ids.next('evt'),
              tenantId: key.org_id as string,
              type: 'key.expiring' as const,
              createdAt: now,
              data: { ...viewKey(key, now), days_left: days },
            })),
          );
        }
        return more;
      }),
  };
}
