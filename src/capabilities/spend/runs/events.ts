/** Tells of runs that have ended, in the transaction that books them, where somebody listens. */

import type { Posted } from '../../../ledger/posting.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { enqueueEvents, type OutgoingEvent } from '../../../platform/outbox/outbox.ts';
import { postedRow, type RunDraft } from './queries.ts';
import { viewRun } from './view.ts';

export interface RunEventDependencies {
  readonly ids: Ids;
  /** Whether anybody in the org waits for it. */
  wanted(orgId: string): boolean;
}

export async function enqueueFinished(
  tx: Queryable,
  { ids, wanted }: RunEventDependencies,
  posted: readonly Posted<RunDraft>[],
): Promise<void> {
  const events: OutgoingEvent[] = [];
  for (const one of posted) {
    if (isFinished(one) && wanted(one.orgId)) {
      // What was said in it is for those who may read runs, not for whoever receives events.
      const { content: _, metadata: __, held_usd: ___, expires_at: ____, ...data } = viewRun(postedRow(one));
      events.push({
        id: ids.next('evt'),
        tenantId: one.orgId,
        type: 'run.finished',
        createdAt: new Date(one.postedAtMs),
        data,
      });
    }
  }
  if (events.length > 0) {
    await enqueueEvents(tx, events);
  }
}

/** History that is recorded past the gates ended long ago. */
function isFinished({ posting: { kind } }: Posted): boolean {
  return kind === 'charge' || kind === 'complete';
}
