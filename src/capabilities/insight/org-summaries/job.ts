/** Refreshes the stored figures of organizations. */
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { runForEach } from '../../../platform/jobs/run-for-each.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { findDueOrgs, type OrgInZone, storeFigures } from './queries.ts';
import { computeFigures, type SummaryDependencies } from './summaries.ts';

const orgsPerBatch = 50;
const activeSeconds = 300;
/** Interval for orgs without recent usage. It also finds usage that was posted to an earlier time. */
const idleSeconds = 3_600;

export interface SummaryJobDependencies extends SummaryDependencies {
  readonly db: Database;
  readonly clock: SharedClock;
}

export function summarizeOrgs({ db, ledger, clock }: SummaryJobDependencies): Job {
  /** Organizations whose last refresh has failed, and when: they are left out for some minutes, so that the others get their turn. */
  const failedAtMs = new Map<string, number>();

  async function refresh(org: OrgInZone, now: Date): Promise<void> {
    try {
      await storeFigures(db, org.id, await computeFigures({ db, ledger }, org, now), now);
    } catch (error) {
      failedAtMs.set(org.id, now.getTime());
      throw error;
    }
  }

  return {
    id: 'summarize-orgs',
    everyMs: 60_000,
    async runOnce() {
      const now = await agreedNow(db, clock);
      for (const [orgId, failedMs] of failedAtMs) {
        if (failedMs <= now.getTime() - activeSeconds * 1_000) {
          failedAtMs.delete(orgId);
        }
      }
      const due = await findDueOrgs(db, {
        now,
        activeSeconds,
        idleSeconds,
        except: [...failedAtMs.keys()],
        limit: orgsPerBatch,
      });
      await runForEach(due, (org) => refresh(org, now), 'organizations could not be summarized');
      return due.length === orgsPerBatch;
    },
    // The job rests for as long as it ran: it uses at most half of the time, however many orgs there are.
    restMs: (tookMs) => tookMs,
  };
}
