/** Records runs that are reported after the fact: without checks, each separately, at the time and price of its start. */

import type { FieldError } from '../../../contract/errors.ts';
import type { Outcome, Posting } from '../../../ledger/posting.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { unpricedAtNoCost } from '../unpriced-models/index.ts';
import { withoutLocked } from './attribute-run.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import type { EndOfCall } from './draft-context.ts';
import { isInvalid } from './draft-run.ts';
import { draftEach } from './draft-runs.ts';
import { postGroup } from './posting-steps.ts';
import type { RunDraft } from './queries.ts';
import { findForeignResponses, insertOuterReports, type ResponseOfRun } from './responses.ts';
import type { CreateRun } from './schema.ts';

/** A reported run. Only one run is recorded for each response. */
export interface ReportedRun extends Pick<EndOfCall, 'marks' | 'responseId'> {
  readonly body: CreateRun & { readonly external_id: string };
  /** Ids of this report and of the report that encloses it, which may describe the same call. Without an id, a report counts as unique. */
  readonly reportId: string | undefined;
  readonly outerId: string | undefined;
}

export type RecordedRun =
  | { readonly kind: 'recorded' }
  /** Recorded before: under its `external_id`, by another run for the same response, or by an enclosed report. */
  | { readonly kind: 'existing' }
  | { readonly kind: 'invalid'; readonly fieldErrors: readonly FieldError[] };

/**
 * Returns the result of each run. Locked values of the key take precedence, and a model without a price is recorded at no cost,
 * marked `unpriced`. The money was spent, so a run is not rejected for either.
 */
export async function recordRuns(
  deps: RunDependencies,
  call: RunCall,
  runs: readonly ReportedRun[],
): Promise<readonly RecordedRun[]> {
  const results: RecordedRun[] = runs.map(() => ({ kind: 'existing' }));
  const drafts = await draftEach(
    withPriceForAll(deps),
    call,
    runs.map(({ body }) => withoutLocked(body, call.caller.attribution)),
    { record: true, ends: runs },
  );
  let pending: PendingRun[] = drafts.flatMap((drafted, index) => {
    if (isInvalid(drafted)) {
      results[index] = { kind: 'invalid', fieldErrors: drafted.fieldErrors };
      return [];
    }
    const { reportId, outerId } = runs[index] as ReportedRun;
    return [{ index, posting: drafted, responseId: drafted.run.response_id, reportId, outerId }];
  });
  // Each round either posts the runs, or drops those whose response another transaction has recorded in the meantime.
  for (;;) {
    pending = await withoutRecorded(deps, call.caller.tenantId, pending);
    const outcomes = pending.length === 0 ? [] : await post(deps, call.caller.tenantId, pending);
    if (outcomes === undefined) {
      continue;
    }
    for (const [position, { index }] of pending.entries()) {
      results[index] = { kind: outcomes[position]?.kind === 'posted' ? 'recorded' : 'existing' };
    }
    return results;
  }
}

interface PendingRun extends Pick<ReportedRun, 'responseId' | 'reportId' | 'outerId'> {
  readonly index: number;
  readonly posting: Posting<RunDraft>;
}

class ResponseRecordedElsewhere extends Error {}

/** Posts the runs. Returns undefined and posts nothing if another run was recorded for one of the responses in the meantime. */
async function post(
  deps: RunDependencies,
  orgId: string,
  pending: readonly PendingRun[],
): Promise<readonly Outcome<RunDraft>[] | undefined> {
  const storeResponse = async (tx: Transaction, outcomes: readonly Outcome<RunDraft>[]): Promise<void> => {
    const postedIds = new Set(
      outcomes.flatMap(({ kind, posting }) => (kind === 'posted' ? [posting.runId] : [])),
    );
    const posted = pending.filter(({ posting }) => postedIds.has(posting.runId));
    const foreign = await findForeignResponses(tx, orgId, posted.flatMap(idsOf));
    if (foreign.size > 0) {
      throw new ResponseRecordedElsewhere();
    }
    await insertOuterReports(
      tx,
      orgId,
      posted.map(({ outerId, posting: { runId } }) => ({ outerId, runId })),
    );
  };
  try {
    const result = await postGroup(
      {
        deps,
        orgId,
        postings: pending.map(({ posting }) => posting),
        storeResponse: pending.some(hasIds) ? storeResponse : undefined,
        bulk: true,
      },
      // Rejected runs are skipped: if a run has a known `external_id` and other content, the first report counts.
      true,
    );
    return result.kind === 'done' ? result.outcomes : [];
  } catch (error) {
    if (error instanceof ResponseRecordedElsewhere) {
      return undefined;
    }
    throw error;
  }
}

function hasIds({ responseId, reportId, outerId }: PendingRun): boolean {
  return (responseId ?? reportId ?? outerId) !== undefined;
}

function idsOf({ responseId, reportId, posting: { runId } }: PendingRun): ResponseOfRun[] {
  return [
    { responseId, runId },
    { responseId: reportId, runId },
  ];
}

/**
 * Returns the runs to record. Drops runs whose response has a run already, all but the first run of a response, and reports that
 * enclose one with a run.
 */
async function withoutRecorded(
  { db }: RunDependencies,
  orgId: string,
  pending: readonly PendingRun[],
): Promise<PendingRun[]> {
  const foreign = await findForeignResponses(db, orgId, pending.flatMap(idsOf));
  const seen = new Set<string>();
  return pending.filter(({ responseId, reportId }) => {
    if (reportId !== undefined && foreign.has(reportId)) {
      return false;
    }
    if (responseId === undefined) {
      return true;
    }
    const isFirst = !seen.has(responseId) && !foreign.has(responseId);
    seen.add(responseId);
    return isFirst;
  });
}

function withPriceForAll(deps: RunDependencies): RunDependencies {
  const { prices } = deps;
  return {
    ...deps,
    prices: {
      ...prices,
      findForCall(orgId, name, atMs, at) {
        const found = prices.findForCall(orgId, name, atMs, at);
        return found instanceof Promise
          ? found.then((price) => price ?? unpricedAtNoCost)
          : (found ?? unpricedAtNoCost);
      },
    },
  };
}
