/** Records reported calls as runs, each call once. */
import { ApiError } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import {
  type RecordedRun,
  type ReportedRun,
  type RunCall,
  type RunDependencies,
  recordRuns,
} from '../../spend/runs/index.ts';
import type { ModelCall } from './model-call.ts';
import { findAdmittedChains } from './queries.ts';
import { withoutRepeated } from './repeated-calls.ts';
import { isLabel, runOfCall } from './run-of-call.ts';

/** Runs that are posted in one transaction. */
const runsPerTransaction = 500;

export interface RecordDependencies {
  readonly runs: RunDependencies;
  /** Posts the gateway calls of an org that have ended and are not posted yet, so that they are recognised. */
  postPending(orgId: string): Promise<unknown> | undefined;
}

export interface RecordedCalls {
  readonly recorded: number;
  /** Calls that are recorded already, here or by the gateway. */
  readonly known: number;
  readonly rejected: number;
  /** Why calls were rejected, for the first of each reason. */
  readonly reasons: readonly string[];
}

const reasonsMax = 5;

export async function recordCalls(
  deps: RecordDependencies,
  { caller, now }: { readonly caller: Caller; readonly now: Date },
  calls: readonly ModelCall[],
): Promise<RecordedCalls> {
  const orgId = caller.tenantId;
  await deps.postPending(orgId);
  const reasons = new Set<string>();
  const reject = (reason: string) => {
    if (reasons.size < reasonsMax) {
      reasons.add(reason);
    }
  };
  const fresh = await withoutRecorded(deps, orgId, calls);
  const runs: ReportedRun[] = [];
  const yielder = createYielder();
  for (const call of fresh) {
    const run = await runOf(deps, orgId, call, now);
    if (run === undefined) {
      reject('A call without the name of a model cannot be recorded.');
    } else {
      runs.push(run);
    }
    await yielder.yieldIfDue();
  }
  let recorded = 0;
  let known = calls.length - fresh.length;
  for (let start = 0; start < runs.length; start += runsPerTransaction) {
    const batch = runs.slice(start, start + runsPerTransaction);
    const results = await recordEach(deps.runs, { caller, now, storeResponse: undefined }, batch);
    for (const result of results) {
      recorded += result.kind === 'recorded' ? 1 : 0;
      known += result.kind === 'existing' ? 1 : 0;
      if (result.kind === 'invalid') {
        reject(reasonOf(result));
      }
    }
  }
  return { recorded, known, rejected: calls.length - recorded - known, reasons: [...reasons] };
}

/** Leaves out calls that went through this service, those of sessions whose calls did, and second reports of one call. */
async function withoutRecorded(
  { runs }: RecordDependencies,
  orgId: string,
  calls: readonly ModelCall[],
): Promise<readonly ModelCall[]> {
  const sessions = [...new Set(calls.flatMap(({ session }) => session ?? []))].filter((id) => isLabel(id));
  const admitted = sessions.length === 0 ? noChains : await findAdmittedChains(runs.db, orgId, sessions);
  return withoutRepeated(calls).filter(
    ({ isRecordedElsewhere, session }) =>
      !isRecordedElsewhere && !(session !== undefined && admitted.has(session)),
  );
}

/** One run may exceed what a sum can hold: it is then rejected alone. */
async function recordEach(
  deps: RunDependencies,
  call: RunCall,
  runs: readonly ReportedRun[],
): Promise<readonly RecordedRun[]> {
  try {
    return await recordRuns(deps, call, runs);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) {
      throw error;
    }
    if (runs.length === 1) {
      return [{ kind: 'invalid', fieldErrors: fieldErrorsOf(error) }];
    }
    const half = runs.length / 2;
    return [
      ...(await recordEach(deps, call, runs.slice(0, half))),
      ...(await recordEach(deps, call, runs.slice(half))),
    ];
  }
}

function fieldErrorsOf({ details, code, message }: ApiError): readonly FieldError[] {
  const { fields } = details as { readonly fields?: readonly FieldError[] };
  return fields ?? [{ field: code, code: 'invalid_value', message }];
}

const noChains: ReadonlySet<string> = new Set();

/**
 * Uses the requested name if it has a price, as the gateway does, or else the name that the provider reports: the requested one may be
 * that of a deployment. Without a price the cost that the emitter states is taken.
 */
async function runOf(
  { runs: { prices } }: RecordDependencies,
  orgId: string,
  call: ModelCall,
  now: Date,
): Promise<ReportedRun | undefined> {
  const named = [call.requestModel, call.responseModel].filter(
    (name): name is string => name !== undefined && isLabel(name),
  );
  const atMs = Math.min(call.startMs || now.getTime(), now.getTime());
  for (const model of named) {
    const found = prices.find(orgId, model, atMs, call.labels);
    if ((found instanceof Promise ? await found : found) !== undefined) {
      return runOfCall(call, { model, usesStatedCost: false, now });
    }
  }
  const [model] = named;
  return model === undefined ? undefined : runOfCall(call, { model, usesStatedCost: true, now });
}

function reasonOf({ fieldErrors }: Extract<RecordedRun, { kind: 'invalid' }>): string {
  return fieldErrors.map(({ field, message }) => `${field}: ${message ?? 'invalid'}`).join(' ');
}
