/** Enqueues the events of runs in the transaction that posts them. */

import { formatUsd } from '../../../kernel/money.ts';
import type { Posted } from '../../../ledger/posting.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { enqueueEvents, type OutgoingEvent } from '../../../platform/outbox/outbox.ts';
import { pricedName, type RunDraft } from './queries.ts';
import { viewPosted } from './view.ts';

type RunEventType = 'run.finished' | 'run.unsettled' | 'price.missing';

export interface RunEventDependencies {
  readonly ids: Ids;
  /** Returns true if a webhook of the org is subscribed to the event. Returns true also while that is unknown. */
  wants(orgId: string, type: RunEventType): boolean;
}

export async function enqueueRunEvents(
  tx: Queryable,
  { ids, wants }: RunEventDependencies,
  posted: readonly Posted<RunDraft>[],
): Promise<void> {
  const events: OutgoingEvent[] = [];
  const add = (one: Posted<RunDraft>, type: RunEventType, dataOf: () => Record<string, unknown>) => {
    if (wants(one.orgId, type)) {
      const createdAt = new Date(one.postedAtMs);
      events.push({ id: ids.next('evt'), tenantId: one.orgId, type, createdAt, data: dataOf() });
    }
  };
  for (const one of posted) {
    if (isFinished(one)) {
      add(one, 'run.finished', () => finishedData(one));
    }
    if (one.posting.kind === 'expire') {
      add(one, 'run.unsettled', () => unsettledData(one));
    }
    if (one.posting.costAsHeld === 'unpriced') {
      add(one, 'price.missing', () => missingPriceData(one));
    }
  }
  if (events.length > 0) {
    await enqueueEvents(tx, events);
  }
}

/** Returns true if the run has just finished. Backfilled runs have finished in the past. */
function isFinished({ posting: { kind, usage } }: Posted): boolean {
  return kind === 'charge' || kind === 'complete' || (kind === 'resettle' && usage.status !== 'running');
}

/** Returns the data of the event. Leaves out content and metadata, because receivers of events may not have permission to read runs. */
function finishedData(one: Posted<RunDraft>): Record<string, unknown> {
  const { content: _, metadata: __, held_usd: ___, expires_at: ____, ...data } = viewPosted(one);
  return data;
}

function unsettledData({ posting, scope, chargedAtMs }: Posted<RunDraft>): Record<string, unknown> {
  return {
    run_id: posting.runId,
    decision_id: posting.decisionId,
    model: scope.model ?? posting.run.model,
    key_id: scope.key_id,
    workflow: scope.workflow,
    customer_id: scope.customer_id,
    posted_usd: formatUsd(posting.amounts.usd),
    charged_at: new Date(chargedAtMs).toISOString(),
  };
}

function missingPriceData({ posting, chargedAtMs }: Posted<RunDraft>): Record<string, unknown> {
  return {
    run_id: posting.runId,
    model: pricedName(posting.run),
    decision_id: posting.decisionId,
    posted_usd: formatUsd(posting.amounts.usd),
    charged_at: new Date(chargedAtMs).toISOString(),
  };
}
