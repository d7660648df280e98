/** Takes the runs of a request through the stages. Reads the records that they refer to first: parents, decisions and prices. */
import { type ApiError, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import { lockedFieldError } from '../../../ledger/attribution.ts';
import type { Posting } from '../../../ledger/posting.ts';
import { contradictedField } from './attribute-run.ts';
import { findCallInProgress, parentOfCall } from './calls-in-progress.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import type { DraftContext, EndOfCall, StartOfCall } from './draft-context.ts';
import { type Drafted, draftRun, isInvalid } from './draft-run.ts';
import { findRunPrice, withOtherPrices } from './find-price.ts';
import { needsPrice } from './price-run.ts';
import { findParents, type ParentRow, type RunDraft } from './queries.ts';
import type { CreateRun } from './schema.ts';

export interface DraftOptions {
  readonly record: boolean;
  /** Set if the run is the start of a gateway call. */
  readonly started?: StartOfCall | undefined;
  /** Ends of the calls that the runs stand for, in the order of the runs. */
  readonly ends?: readonly EndOfCall[] | undefined;
}

/**
 * Validates every run before any is posted. Throws the field errors of all runs together, or the error of the first run that
 * contradicts a locked value of the key.
 */
export async function draftRuns(
  deps: RunDependencies,
  call: RunCall,
  bodies: readonly CreateRun[],
  { bulk, ...options }: DraftOptions & { readonly bulk: boolean },
): Promise<readonly Posting<RunDraft>[]> {
  const postings: Posting<RunDraft>[] = [];
  const fieldErrors: FieldError[] = [];
  let locked: ApiError | undefined;
  for (const [index, drafted] of (await draftEach(deps, call, bodies, options)).entries()) {
    if (!isInvalid(drafted)) {
      postings.push(drafted);
      continue;
    }
    if (drafted.lockedField !== undefined) {
      locked ??= lockedFieldError(drafted.lockedField, bulk ? index : undefined);
    }
    for (const { field, ...error } of drafted.fieldErrors) {
      fieldErrors.push({ field: bulk ? `runs[${index}].${field}` : field, ...error });
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

/** Returns the posting or the errors of each run, in the order of the runs. */
export async function draftEach(
  deps: RunDependencies,
  call: RunCall,
  bodies: readonly CreateRun[],
  { record, started, ends }: DraftOptions,
): Promise<readonly Drafted[]> {
  const { caller } = call;
  const context = await contextOf(deps, call, bodies, { record, started });
  const drafts: Drafted[] = [];
  for (const [index, body] of bodies.entries()) {
    const contradicted = contradictedField(deps.db, caller, body);
    const lockedField = contradicted && (await contradicted);
    if (lockedField !== undefined) {
      drafts.push({ fieldErrors: [], lockedField });
      continue;
    }
    const found = needsPrice(body)
      ? findRunPrice(deps, caller.tenantId, body, pricedAt(body, context), started ?? ends?.[index])
      : undefined;
    const own = found instanceof Promise ? await found : found;
    const price =
      body.other_models === undefined
        ? own
        : await withOtherPrices(deps.prices, caller.tenantId, body, own, {
            atMs: pricedAt(body, context).getTime(),
            at: body,
          });
    drafts.push(draftRun(body, context, price, ends?.[index]));
  }
  return drafts;
}

async function contextOf(
  deps: RunDependencies,
  { caller, now }: RunCall,
  bodies: readonly CreateRun[],
  { record, started }: DraftOptions,
): Promise<DraftContext> {
  const orgId = caller.tenantId;
  const limits = deps.orgLimits.peek(orgId) ?? (await deps.orgLimits.get(orgId));
  const parents = bodies.some(hasParent) ? await loadParents(deps, orgId, bodies) : noParents;
  const decisionIds = bodies.flatMap(({ decision_id }) => decision_id ?? []);
  if (decisionIds.length > 0) {
    await deps.failOpen.importNow(orgId, decisionIds);
  }
  return {
    ids: deps.ids,
    keyId: caller.keyId,
    now,
    record,
    chained: limits.index.byValue.has('chain_id'),
    parentOf: (runId) => parents.get(runId),
    contentDigest: (body) => deps.contentDigest(orgId, body),
    attribution: caller.attribution?.values,
    failOpenAtMs: (decisionId) => deps.failOpen.decidedAtMs(orgId, decisionId),
    started,
  };
}

/** Returns the time of the price. Backfilled runs have the price of their own time. */
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
    const hold = parents.has(id) ? undefined : await findCallInProgress(ledger.reads, orgId, id);
    if (hold !== undefined) {
      parents.set(id, parentOfCall(hold, id));
    }
  }
  return parents;
}
