/** Revokes keys that were not used for as long as the rules of their org say. */
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { findUnusedKeys } from './key-rules.ts';
import { endUnusedKey } from './keys.ts';
import { revoked } from './outcomes.ts';

const keysPerBatch = 100;

export interface UnusedKeysDependencies extends Appending {
  readonly db: Database;
  readonly clock: SharedClock;
}

export function unusedKeys({ db, clock, ...appending }: UnusedKeysDependencies): Job {
  return {
    id: 'revoke-unused-keys',
    everyMs: 600_000,
    runOnce: () =>
      db.transaction(async (tx) => {
        const now = await agreedNow(tx, clock);
        const unused = await findUnusedKeys(tx, now, keysPerBatch);
        for (const { org_id, id } of unused) {
          const change = await endUnusedKey(tx, now, org_id, id);
          const actor = { kind: 'service', id: 'key-rules', at: now } as const;
          for (const ended of change === undefined ? [] : revoked(change, now).changes) {
            await recordChange(tx, appending, actor, 'keys.revoke_unused', ended);
          }
        }
        return unused.length === keysPerBatch;
      }),
  };
}
