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
import { findExternalIds, findUsageByExternalId } from './queries.ts';
import { findForeignResponses, insertOuterReports, type ResponseOfRun } from './responses.ts';
import type { CreateRun } from './schema.ts';

/** A reported run. Only one run is recorded for each response. */
export interface ReportedRun extends Pick<EndOfCall, 'marks' | 'responseId'> {
  readonly body: CreateRun & { readonly external_id: string };
  /** Ids of this report and of the report that encloses it, which may describe the same call. Without an id, a report counts as unique. */
  readonly reportId: string | undefined;
  readonly outerId: string | undefined;
  /** `external_id` of the run that the enclosing report has if it arrives first. */
  readonly outerExternalId: string | undefined;
  /** If false, another report of the same call that has usage is recorded as well. */
  readonly hasUsage: boolean;
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
    { record: true, ends: runs.map((run) => (run.hasUsage ? run : { ...run, responseId: undefined })) },
  );
  let pending: PendingRun[] = drafts.flatMap((drafted, index) => {
    if (isInvalid(drafted)) {
      results[index] = { kind: 'invalid', fieldErrors: drafted.fieldErrors };
      return [];
    }
    return [{ index, posting: drafted, report: runs[index] as ReportedRun }];
  });
  // Each round either posts the runs, or drops those whose response another transaction has recorded in the meantime.
  for (;;) {
    pending = await withoutRecorded(deps, call.caller.tenantId, pending);
    const outcomes = pending.length === 0 ? [] : await post(deps, call.caller.tenantId, pending);
    if (outcomes === undefined) {
      continue;
    }
    const others = await findOtherCalls(deps, call.caller.tenantId, pending, outcomes);
    for (const [position, run] of pending.entries()) {
      const isPosted = outcomes[position]?.kind === 'posted';
      results[run.index] = others.has(run) ? otherCall : { kind: isPosted ? 'recorded' : 'existing' };
    }
    return results;
  }
}

interface PendingRun {
  readonly index: number;
  readonly posting: Posting<RunDraft>;
  readonly report: ReportedRun;
}

const otherCall: RecordedRun = {
  kind: 'invalid',
  fieldErrors: [
    {
      field: 'external_id',
      code: 'invalid_value',
      message: 'Another call with other usage is recorded under this id.',
    },
  ],
};

/** Returns the runs whose `external_id` is that of a call with another model or other counts. A repeated report differs in labels at most. */
async function findOtherCalls(
  { db }: RunDependencies,
  orgId: string,
  pending: readonly PendingRun[],
  outcomes: readonly Outcome<RunDraft>[],
): Promise<ReadonlySet<PendingRun>> {
  const conflicts = pending.filter((_, position) => {
    const outcome = outcomes[position];
    return outcome?.kind === 'rejected' && outcome.rejection.kind === 'external_id_conflict';
  });
  const recorded = await findUsageByExternalId(
    db,
    orgId,
    conflicts.map(({ report }) => report.body.external_id),
  );
  return new Set(
    conflicts.filter(({ report: { body } }) => {
      const run = recorded.get(body.external_id);
      return (
        run !== undefined &&
        (run.model !== body.model ||
          Number(run.input_tokens) !== (body.input_tokens ?? 0) ||
          Number(run.output_tokens) !== (body.output_tokens ?? 0))
      );
    }),
  );
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
    const enclosing = await findExternalIds(tx, orgId, outerExternalIdsOf(posted));
    if (foreign.size > 0 || enclosing.size > 0) {
      throw new ResponseRecordedElsewhere();
    }
    await insertOuterReports(
      tx,
      orgId,
      posted
        .filter(({ report }) => report.hasUsage)
        .map(({ report: { outerId }, posting: { runId } }) => ({ outerId, runId })),
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

function hasIds({ report: { responseId, reportId, outerId } }: PendingRun): boolean {
  return (responseId ?? reportId ?? outerId) !== undefined;
}

/** Leaves out runs of this group: reports in it that enclose others are calls of their own. */
function outerExternalIdsOf(pending: readonly PendingRun[]): readonly string[] {
  const own = new Set(pending.map(({ report }) => report.body.external_id));
  return pending.flatMap(({ report: { outerExternalId, hasUsage } }) =>
    outerExternalId === undefined || !hasUsage || own.has(outerExternalId) ? [] : [outerExternalId],
  );
}

function idsOf({ report: { responseId, reportId }, posting: { runId } }: PendingRun): ResponseOfRun[] {
  return [
    { responseId, runId },
    { responseId: reportId, runId },
  ];
}

/**
 * Returns the runs to record. Drops runs whose response has a run already, all but the first run of a response, and reports that
 * enclose one with a run, or are enclosed by one.
 */
async function withoutRecorded(
  { db }: RunDependencies,
  orgId: string,
  pending: readonly PendingRun[],
): Promise<PendingRun[]> {
  const foreign = await findForeignResponses(db, orgId, pending.flatMap(idsOf));
  const enclosing = await findExternalIds(db, orgId, outerExternalIdsOf(pending));
  const seen = new Set<string>();
  const withUsageFirst = [...pending].sort(
    (one, other) => Number(other.report.hasUsage) - Number(one.report.hasUsage),
  );
  return withUsageFirst.filter(({ report: { responseId, reportId, outerExternalId = '' } }) => {
    if ((reportId !== undefined && foreign.has(reportId)) || enclosing.has(outerExternalId)) {
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
