import { apiError } from '../../../contract/api-error.ts';
import type { Outcome } from '../../../ledger/posting.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import type { EndOfCall } from './draft-context.ts';
import { draftRuns } from './draft-runs.ts';
import { postRuns } from './post-runs.ts';
import { findRun, type RunDraft } from './queries.ts';
import type { BulkResult, CreateRun, RunView } from './schema.ts';
import { viewPosted, viewStored } from './view.ts';

/** Creates a run. `ended` is set for the run of a gateway call. */
export async function createRun(
  deps: RunDependencies,
  call: RunCall,
  body: CreateRun,
  ended?: EndOfCall,
): Promise<RunView> {
  const ends = ended && [ended];
  const postings = await draftRuns(deps, call, [body], { record: false, bulk: false, ends });
  return postRuns(deps, call, postings, {
    bulk: false,
    contents: [body.content],
    respond: (db, [outcome]) => viewOutcome(db, call.caller.tenantId, outcome),
  });
}

/** Creates all runs or none. */
export async function createRuns(
  deps: RunDependencies,
  call: RunCall,
  bodies: readonly CreateRun[],
  record: boolean,
): Promise<BulkResult> {
  const postings = await draftRuns(deps, call, bodies, { record, bulk: true });
  return postRuns(deps, call, postings, {
    bulk: true,
    contents: bodies.map(({ content }) => content),
    respond: async (_, outcomes) => bulkResult(outcomes, (position) => position),
  });
}

/** Returns the result of a bulk request. `indexOf` returns the index in the request for the position of an outcome. */
export function bulkResult(
  outcomes: readonly Outcome<RunDraft>[],
  indexOf: (position: number) => number,
): Omit<BulkResult, 'errors'> {
  const runs: BulkResult['runs'] = [];
  const known: BulkResult['known'] = [];
  let accepted = 0;
  for (const [position, outcome] of outcomes.entries()) {
    if (outcome.kind === 'rejected') {
      continue;
    }
    const index = indexOf(position);
    const external_id = outcome.posting.externalId;
    if (outcome.kind === 'existing') {
      const run = { index, id: outcome.runId, external_id };
      runs.push(run);
      known.push(run);
    } else {
      runs.push({ index, id: outcome.posting.runId, external_id });
      accepted += 1;
    }
  }
  return { accepted, runs, known };
}

async function viewOutcome(
  db: Queryable,
  orgId: string,
  outcome: Outcome<RunDraft> | undefined,
): Promise<RunView> {
  if (outcome?.kind === 'posted') {
    return viewPosted(outcome, outcome.hold);
  }
  const run = outcome?.kind === 'existing' ? await findRun(db, orgId, outcome.runId) : undefined;
  if (run === undefined) {
    throw apiError('gone', 'The run with this `external_id` was deleted.');
  }
  return viewStored(db, run);
}
