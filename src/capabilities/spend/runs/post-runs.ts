import { decisionCounts } from '../../../ledger/metrics.ts';
import { needsAdmission, type Outcome, type Posting } from '../../../ledger/posting.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { PostingContents } from './content-storage.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import { type PostingContext, postingSteps } from './posting-steps.ts';
import type { RunDraft } from './queries.ts';
import { type OnUndoError, runSteps } from './step-runner.ts';

export interface PostRunsOptions<View> {
  readonly bulk: boolean;
  readonly contents?: PostingContents;
  /** Builds the response from the outcomes, which have the order of the postings. */
  respond(db: Queryable, outcomes: readonly Outcome<RunDraft>[]): Promise<View>;
  /** Records the change in the same transaction as the runs. */
  record?(tx: Transaction, view: View): Promise<void>;
}

/**
 * Checks and posts a group of runs, all or none, and returns the response. The response of an idempotent request is built and
 * stored in the same transaction.
 */
export async function postRuns<View>(
  deps: RunDependencies,
  call: RunCall,
  postings: readonly Posting<RunDraft>[],
  { bulk, contents, respond, record }: PostRunsOptions<View>,
): Promise<View> {
  const { storeResponse } = call;
  let stored: View | undefined;
  const context = await postingContext(deps, call, postings, {
    bulk,
    contents,
    storeResponse:
      storeResponse === undefined && record === undefined
        ? undefined
        : async (tx, outcomes) => {
            stored = await respond(tx, outcomes);
            await record?.(tx, stored);
            await storeResponse?.(tx, stored);
          },
  });
  await runSteps(postingSteps, context, undoErrorLogger(context));
  countAllowed(context.admissions);
  return stored ?? respond(deps.db, context.outcomes);
}

interface ContextOptions {
  readonly bulk: boolean;
  readonly contents: PostingContext['contents'];
  readonly keepsContent?: boolean;
  readonly storeResponse?: PostingContext['storeResponse'];
}

/** Returns the context of unchecked postings. It is one literal, because this runs for every run. */
export async function postingContext(
  deps: RunDependencies,
  call: RunCall,
  postings: readonly Posting<RunDraft>[],
  { bulk, contents, keepsContent = true, storeResponse }: ContextOptions,
): Promise<PostingContext> {
  const orgId = call.caller.tenantId;
  return {
    deps,
    call,
    orgId,
    limits: deps.orgLimits.peek(orgId) ?? (await deps.orgLimits.get(orgId)),
    bulk,
    contents,
    keepsContent,
    storeResponse,
    admissions: postings.filter(needsAdmission).length,
    postings,
    takenRates: [],
    fittedRates: undefined,
    policyCheck: undefined,
    outcomes: [],
  };
}

export function undoErrorLogger({ deps, orgId }: Pick<PostingContext, 'deps' | 'orgId'>): OnUndoError {
  return (step, err) => deps.log.error({ err, tenant: orgId, step }, 'posting step undo failed');
}

export function countAllowed(admissions: number): void {
  if (admissions > 0) {
    decisionCounts.count('run', 'allow', '', admissions);
  }
}
