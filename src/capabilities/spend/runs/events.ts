/** Enqueues `run.finished` events in the transaction that posts the runs. */

import type { Posted } from '../../../ledger/posting.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { enqueueEvents, type OutgoingEvent } from '../../../platform/outbox/outbox.ts';
import { postedRow, type RunDraft } from './queries.ts';
import { viewRun } from './view.ts';

export interface RunEventDependencies {
  readonly ids: Ids;
  /** Returns true if a webhook of the org is subscribed to the event, or if that is not known yet. */
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
      // Content and metadata require permission to read runs, which receivers of events may not have.
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

/** Returns false for backfilled runs, which finished in the past. */
function isFinished({ posting: { kind } }: Posted): boolean {
  return kind === 'charge' || kind === 'complete';
}
