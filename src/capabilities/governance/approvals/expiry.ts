/** Ends approvals that have expired, or whose rule has changed. */

import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { approvalChange } from './approvals.ts';
import { type Ended, endOfRule, endOverdue, findOrgsWithOverdue } from './queries.ts';

const perBatch = 200;

export interface ExpiryDependencies extends Appending {
  readonly db: Database;
  readonly clock: SharedClock;
}

export function approvalExpiry({ db, ids, heads, clock }: ExpiryDependencies): Job {
  return {
    id: 'expire-approvals',
    everyMs: 1_000,
    async runOnce() {
      const now = await agreedNow(db, clock);
      const orgIds = await findOrgsWithOverdue(db, now, perBatch);
      let isMore = false;
      for (const group of await db.tenantGroups.split(orgIds, (orgId) => orgId)) {
        isMore = (await endBatch(group, now)) || isMore;
      }
      return isMore;
    },
  };

  function endBatch(orgIds: readonly string[], now: Date): Promise<boolean> {
    return db.transaction(async (tx) => {
      const ended = await endOverdue(tx, orgIds, now, perBatch);
      for (const one of ended) {
        const actor = { kind: 'service', id: 'approvals', at: now } as const;
        await recordChange(tx, { ids, heads }, actor, 'approvals.expire', expired(one));
      }
      return ended.length === perBatch;
    });
  }
}

/**
 * Ends the approvals of a rule. Runs in the transaction that changes the rule, because an approval is only valid for the version
 * for which it was requested.
 */
export async function endApprovalsOfRule(
  tx: Transaction,
  orgId: string,
  ruleId: string,
  now: Date,
): Promise<Change[]> {
  return (await endOfRule(tx, orgId, ruleId, now)).map(expired);
}

function expired(ended: Ended): Change {
  return approvalChange(ended, 'approval.expired');
}
