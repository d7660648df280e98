import { type ApiError, apiError, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import { contradictedLock, lockedFieldError } from '../../../ledger/attribution.ts';
import type { Outcome, Posting } from '../../../ledger/posting.ts';
import { hasRun } from '../../../ledger/postings/ledger-writes.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { findCallInProgress, parentOfCall } from './calls-in-progress.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import { needsPrice } from './drafted-cost.ts';
import { type DraftContext, type Drafted, draftRun, isInvalid, type StartedCall } from './drafts.ts';
import { type EndOfCall, withEnd } from './end-of-call.ts';
import { postRuns } from './post-runs.ts';
import { findParents, findRun, type ParentRow, postedRow, type RunDraft } from './queries.ts';
import { findRunPrice } from './run-price.ts';
import type { BulkResult, CreateRun, RunView } from './schema.ts';
import { viewRun } from './view.ts';

/** `ended` is set for the run of a call that this service has made. */
export async function createRun(
  deps: RunDependencies,
  call: RunCall,
  body: CreateRun,
  ended?: EndOfCall,
): Promise<RunView> {
  const drafts = await draftRuns(deps, call, [body], { record: false, bulk: false });
  const postings = ended === undefined ? drafts : drafts.map((draft) => withEnd(draft, ended));
  return postRuns(deps, call, postings, {
    bulk: false,
    amountField: 'cost_usd',
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
    amountField: 'cost_usd',
    contents: bodies.map(({ content }) => content),
    respond: async (_, outcomes) => bulkResult(outcomes, (position) => position),
  });
}

/** `indexOf` returns the index in the request of the outcome at a position. */
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
    if (outcome.kind === 'known') {
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
    return viewRun(postedRow(outcome), outcome.hold);
  }
  const run = outcome?.kind === 'known' ? await findRun(db, orgId, outcome.runId) : undefined;
  if (run === undefined) {
    throw apiError('gone', 'The run with this `external_id` was deleted.');
  }
  return viewRun(run);
}

interface DraftOptions {
  readonly record: boolean;
  readonly bulk: boolean;
  /** Set if the run is the start of a call that this service makes. */
  readonly started?: StartedCall;
}

/**
 * Validates every run before any is posted. Throws the field errors of all runs together, or the error of the first run that
 * contradicts a locked value of the key.
 */
export async function draftRuns(
  deps: RunDependencies,
  call: RunCall,
  bodies: readonly CreateRun[],
  { record, bulk, started }: DraftOptions,
): Promise<readonly Posting<RunDraft>[]> {
  const postings: Posting<RunDraft>[] = [];
  const fieldErrors: FieldError[] = [];
  let locked: ApiError | undefined;
  for (const [index, drafted] of (await draftEach(deps, call, bodies, record, started)).entries()) {
    if (isLocked(drafted)) {
      locked ??= lockedFieldError(drafted.lockedField, bulk ? index : undefined);
    } else if (!isInvalid(drafted)) {
      postings.push(drafted);
    } else {
      const prefix = bulk ? `runs[${index}].` : '';
      fieldErrors.push(
        ...drafted.map((fieldError) => ({ ...fieldError, field: `${prefix}${fieldError.field}` })),
      );
    }
  }
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
  if (locked !== undefined) {
    throw locked;
  }
  return postings;
}

/** A run that states another value than a locked one of the calling key. */
export interface LockedRun {
  readonly lockedField: string;
}

export function isLocked(drafted: Drafted | LockedRun): drafted is LockedRun {
  return 'lockedField' in drafted;
}

/** Returns the posting or the errors of each run, in order. */
export async function draftEach(
  deps: RunDependencies,
  { caller, now }: RunCall,
  bodies: readonly CreateRun[],
  record: boolean,
  started?: StartedCall,
): Promise<readonly (Drafted | LockedRun)[]> {
  const orgId = caller.tenantId;
  const limits = deps.orgLimits.peek(orgId) ?? (await deps.orgLimits.get(orgId));
  const parents = bodies.some(hasParent) ? await loadParents(deps, orgId, bodies) : noParents;
  const context: DraftContext = {
    ids: deps.ids,
    keyId: caller.keyId,
    now,
    record,
    chained: limits.index.byValue.has('chain_id'),
    parentOf: (runId) => parents.get(runId),
    contentDigest: (body) => deps.contentDigest(orgId, body),
    attribution: caller.attribution?.values,
    failOpenAtMs: (decisionId) => deps.failOpen.decidedAtMs(orgId, decisionId),
    call: started,
  };
  const decisionIds = bodies.flatMap(({ decision_id }) => decision_id ?? []);
  if (decisionIds.length > 0) {
    await deps.failOpen.importNow(orgId, decisionIds);
  }
  const drafts: (Drafted | LockedRun)[] = [];
  for (const body of bodies) {
    const lockedField = caller.attribution && contradictedLock(body, caller.attribution);
    if (lockedField !== undefined && !(await isKnown(deps.db, orgId, body))) {
      drafts.push({ lockedField });
      continue;
    }
    const found = needsPrice(body) ? findRunPrice(deps, orgId, body, pricedAt(body, context)) : undefined;
    const price = found instanceof Promise ? await found : found;
    drafts.push(draftRun(body, context, price));
  }
  return drafts;
}

/** A repeated run is the same run, also if its key was locked to other values in the meantime. */
async function isKnown(
  db: Queryable,
  orgId: string,
  { external_id: externalId }: CreateRun,
): Promise<boolean> {
  return externalId !== undefined && (await hasRun(db, orgId, externalId));
}

/** Backfilled runs have the price of their own time. */
function pricedAt({ started_at }: CreateRun, { record, now }: DraftContext): Date {
  return record && started_at !== undefined ? new Date(started_at) : now;
}

const noParents: ReadonlyMap<string, ParentRow> = new Map();

function hasParent({ parent_run_id }: CreateRun): boolean {
  return parent_run_id !== undefined;
}

async function loadParents(
  { db, ledger }: RunDependencies,
  orgId: string,
  bodies: readonly CreateRun[],
): Promise<ReadonlyMap<string, ParentRow>> {
  const ids = [...new Set(bodies.flatMap(({ parent_run_id }) => parent_run_id ?? []))];
  const parents = new Map((await findParents(db, orgId, ids)).map((row) => [row.id, row]));
  for (const id of ids) {
    const hold = parents.has(id) ? undefined : await findCallInProgress(ledger, orgId, id);
    if (hold !== undefined) {
      parents.set(id, parentOfCall(hold, id));
    }
  }
  return parents;
}
