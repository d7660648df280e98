/** Refreshes the stored figures of organizations. */
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { findDueOrgs, storeFigures } from './queries.ts';
import { computeFigures, type SummaryDependencies } from './summaries.ts';

const orgsPerBatch = 50;
const activeSeconds = 300;
/** Also finds usage that was posted to an earlier time. */
const idleSeconds = 3_600;

export interface SummaryJobDependencies extends SummaryDependencies {
  readonly db: Database;
  readonly clock: SharedClock;
}

export function summarizeOrgs({ db, ledger, clock }: SummaryJobDependencies): Job {
  return {
    id: 'summarize-orgs',
    everyMs: 60_000,
    async runOnce() {
      const now = await agreedNow(db, clock);
      const due = await findDueOrgs(db, { now, activeSeconds, idleSeconds, limit: orgsPerBatch });
      for (const org of due) {
        await storeFigures(db, org.id, await computeFigures({ db, ledger }, org, now), now);
      }
      return due.length === orgsPerBatch;
    },
    // At most half of the time, also with very many orgs.
    restMs: (tookMs) => tookMs,
  };
}
