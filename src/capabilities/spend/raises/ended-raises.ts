/**
 * Records raises that have ended by themselves: in the audit log, and as an event. Decisions do not wait for this job, because the
 * capacity of a limit depends on the time alone.
 */

import { findOrgsWithEndedRaises, markEndedRaises } from '../../../ledger/limits/limit-raises.ts';
import { findLimitsEvenEnded } from '../../../ledger/limits/limits.ts';
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database } from '../../../platform/db/database.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { type RaisedLimit, viewRaise } from './raises.ts';

const perBatch = 200;

export interface EndedRaisesDependencies extends Appending {
  readonly db: Database;
  readonly clock: SharedClock;
}

export function recordEndedRaises({ db, ids, heads, clock }: EndedRaisesDependencies): Job {
  return {
    id: 'record-ended-raises',
    everyMs: 1_000,
    async runOnce() {
      const now = await agreedNow(db, clock);
      const orgIds = await findOrgsWithEndedRaises(db, now, perBatch);
      let isMore = false;
      for (const group of await db.tenantGroups.split(orgIds, (orgId) => orgId)) {
        isMore = (await recordBatch(group, now)) || isMore;
      }
      return isMore;
    },
  };

  function recordBatch(orgIds: readonly string[], now: Date): Promise<boolean> {
    return db.transaction(async (tx) => {
      const ended = await markEndedRaises(tx, orgIds, now, perBatch);
      for (const row of ended) {
        const [limit] = await findLimitsEvenEnded(tx, row.org_id, [row.limit_id]);
        const raised: RaisedLimit = limit ?? { id: row.limit_id, kind: 'budget', name: null };
        const views = {
          before: viewRaise(raised, { ...row, ended_at: null }, new Date(row.until.getTime() - 1)),
          after: viewRaise(raised, row, now),
        };
        const actor = { kind: 'service', id: 'raises', at: now } as const;
        const change = changeOf('raise', row, views, 'raise.ended');
        await recordChange(tx, { ids, heads }, actor, 'raises.end', change);
      }
      return ended.length === perBatch;
    });
  }
}
