/**
 * Bulk creation that skips invalid runs. Each run is validated and checked separately. Those that pass are posted in one
 * transaction, together with the stored response. The ledger skips runs that a limit denies.
 */
import { ApiError, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import { lockedFieldError } from '../../../ledger/attribution.ts';
import type { Outcome, Posting, PostingRejection } from '../../../ledger/posting.ts';
import { compileBody } from '../../../platform/http/routes/validation.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import { bulkResult } from './create-runs.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import { type Drafted, type InvalidRun, isInvalid } from './draft-run.ts';
import { draftEach } from './draft-runs.ts';
import { countAllowed, postingContext, undoErrorLogger } from './post-runs.ts';
import {
  checkSteps,
  countRejection,
  errorOfRejection,
  type PostingContext,
  postGroup,
} from './posting-steps.ts';
import type { RunDraft } from './queries.ts';
import { type BulkResult, CreateRun } from './schema.ts';
import { runSteps, undoSteps } from './step-runner.ts';

type ItemError = NonNullable<BulkResult['errors']>[number];

/** The runs of a request as sent, and the errors of those that could not be parsed. */
export interface UncheckedRuns {
  readonly items: readonly unknown[];
  readonly parseErrors: ReadonlyMap<number, readonly FieldError[]>;
  recordDenial(error: ApiError, body: object): void;
}

/** A run that has passed all checks except the ledger's. */
interface CheckedRun {
  readonly index: number;
  readonly body: CreateRun;
  readonly posting: Posting<RunDraft>;
  readonly context: PostingContext;
}

const checkRun = compileBody(CreateRun);

export async function createRunsSkipping(
  deps: RunDependencies,
  call: RunCall,
  unchecked: UncheckedRuns,
  record: boolean,
): Promise<BulkResult> {
  const errors: ItemError[] = [];
  const valid = validRuns(unchecked, errors);
  const drafts = await draftEach(
    deps,
    call,
    valid.map(({ body }) => body),
    { record },
  );
  const checked: CheckedRun[] = [];
  try {
    const yielder = createYielder();
    for (const [position, { index, body }] of valid.entries()) {
      const drafted = drafts[position] as Drafted;
      if (isInvalid(drafted)) {
        errors.push(itemError(index, errorOfInvalid(drafted)));
        continue;
      }
      const context = await postingContext(deps, call, [drafted], { bulk: false, contents: [body.content] });
      try {
        await runSteps(checkSteps, context, undoErrorLogger(context));
        checked.push({ index, body, posting: context.postings[0] ?? drafted, context });
      } catch (error) {
        const denial = requireItemError(error);
        unchecked.recordDenial(denial, body);
        errors.push(itemError(index, denial));
      }
      await yielder.yieldIfDue();
    }
  } catch (error) {
    await undoChecks(checked);
    throw error;
  }
  return post(deps, call, { checked, errors, recordDenial: unchecked.recordDenial });
}

function validRuns(
  { items, parseErrors }: UncheckedRuns,
  errors: ItemError[],
): { readonly index: number; readonly body: CreateRun }[] {
  return items.flatMap((item, index) => {
    const fields = parseErrors.get(index) ?? checkRun(item);
    if (fields.length > 0) {
      errors.push(itemError(index, invalidFields([...fields])));
      return [];
    }
    return [{ index, body: item as CreateRun }];
  });
}

function errorOfInvalid({ fieldErrors, lockedField }: InvalidRun): ApiError {
  return lockedField === undefined ? invalidFields(fieldErrors) : lockedFieldError(lockedField);
}

interface CheckedRuns extends Pick<UncheckedRuns, 'recordDenial'> {
  readonly checked: readonly CheckedRun[];
  readonly errors: readonly ItemError[];
}

async function post(
  deps: RunDependencies,
  call: RunCall,
  { checked, errors, recordDenial }: CheckedRuns,
): Promise<BulkResult> {
  const { storeResponse } = call;
  let response: BulkResult | undefined;
  let rejected: readonly RejectedRun[] = [];
  // Rejected runs are counted after the transaction, because it may be retried.
  const respond = async (outcomes: readonly Outcome<RunDraft>[]): Promise<BulkResult> => {
    rejected = await rejectedRuns(checked, outcomes);
    const rejectedErrors = rejected.map(({ run, error }) => itemError(run.index, error));
    response = {
      ...bulkResult(outcomes, (position) => checked[position]?.index ?? position),
      errors: [...errors, ...rejectedErrors].sort((one, other) => one.index - other.index),
    };
    return response;
  };
  const result = await postGroup(
    {
      deps,
      orgId: call.caller.tenantId,
      postings: checked.map(({ posting }) => posting),
      bulk: true,
      storeResponse: storeResponse && (async (tx, outcomes) => storeResponse(tx, await respond(outcomes))),
    },
    true,
  ).catch(async (error: unknown) => {
    await undoChecks(checked);
    throw error;
  });
  const outcomes = result.kind === 'done' ? result.outcomes : [];
  const isRejected = (_: CheckedRun, position: number) => outcomes[position]?.kind === 'rejected';
  await undoChecks(checked.filter(isRejected));
  const admitted = checked.filter((run, position) => !isRejected(run, position));
  countAllowed(admitted.reduce((sum, { context }) => sum + context.admissions, 0));
  const answered = response ?? (await respond(outcomes));
  for (const { run, rejection, error } of rejected) {
    countRejection(run.context, rejection, error);
    recordDenial(error, run.body);
  }
  return answered;
}

interface RejectedRun {
  readonly run: CheckedRun;
  readonly rejection: PostingRejection;
  readonly error: ApiError;
}

async function rejectedRuns(
  checked: readonly CheckedRun[],
  outcomes: readonly Outcome<RunDraft>[],
): Promise<RejectedRun[]> {
  const rejected: RejectedRun[] = [];
  for (const [position, run] of checked.entries()) {
    const outcome = outcomes[position];
    if (outcome?.kind === 'rejected') {
      // The index is 0, because each run was checked alone.
      const rejection = { ...outcome.rejection, index: 0 };
      rejected.push({
        run,
        rejection,
        error: requireItemError(await errorOfRejection(run.context, rejection)),
      });
    }
  }
  return rejected;
}

async function undoChecks(checked: readonly CheckedRun[]): Promise<void> {
  for (const { context } of checked) {
    await undoSteps(checkSteps, context, undoErrorLogger(context));
  }
}

/** Returns the error of one run. Rethrows any other error, such as that of an unavailable database. */
function requireItemError(error: unknown): ApiError {
  if (!(error instanceof ApiError) || error.status >= 500) {
    throw error;
  }
  return error;
}

function itemError(index: number, { code, message, details }: ApiError): ItemError {
  const { fields = [], ...others } = (details ?? {}) as { readonly fields?: ItemError['fields'] };
  return { index, code, message, fields: [...fields], details: others };
}
