/** Admits a gateway call through all checks of a run. */
import type { ReservedCounter } from '../../../kernel/admission.ts';
import type { Fit } from '../../../kernel/fit.ts';
import type { LimitUse } from '../../../kernel/limit-use.ts';
import type { Amounts } from '../../../kernel/limits.ts';
import type { CalledAt } from '../../../kernel/model-hosts.ts';
import { outputFit } from '../../../kernel/output-fit.ts';
import { type Hold, holdIdOfCall, type UnwatchedCost } from '../../../ledger/holds/hold.ts';
import type { RequestKey } from '../../../ledger/holds/hold-keys.ts';
import type { HoldRequest, HoldResult } from '../../../ledger/holds/hold-request.ts';
import { smallestRemaining } from '../../../ledger/holds/take-hold.ts';
import { giveBackUnused } from '../../../ledger/limits/admission-rates.ts';
import type { Posting } from '../../../ledger/posting.ts';
import { otherChargesOf, requestedRates } from '../../../ledger/service-fields.ts';
import { DatabaseUnavailable } from '../../../platform/db/database.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import type { StartOfCall } from './draft-context.ts';
import { draftRuns } from './draft-runs.ts';
import { countAllowed, postingContext, undoErrorLogger } from './post-runs.ts';
import { checkSteps, type PostingContext, postGroup, rejectionError } from './posting-steps.ts';
import type { RunDraft } from './queries.ts';
import type { CreateRun } from './schema.ts';
import { type Rejection, runSteps, type Step } from './step-runner.ts';

export interface StartOptions {
  /** Minimum useful output, if less than `max_output_tokens` is acceptable; undefined: all or nothing. */
  readonly fitDownTo?: number | undefined;
  /** Maximum cost of tools without a price. */
  readonly toolNanos?: bigint;
  /** The place whose price is held; undefined: the one that the body states. */
  readonly calledAt?: CalledAt;
  /** The name whose price is held; undefined: the model. */
  readonly pricedName?: string | undefined;
  /** Text for the safety detectors. It is never stored. */
  readonly content?: string | undefined;
  /** The idempotency key of the call, which is stored with the hold. */
  readonly key?: RequestKey | undefined;
  /** The cost that the call may have beyond its hold if this service stops during the call. */
  readonly goesOn?: UnwatchedCost | undefined;
  /** Amounts by which the hold of the call is expected to be increased soon. */
  readonly growth?: Amounts | undefined;
  /** Called before a limit denies the call. Returns a promise if other calls are being settled, after which this one may fit. */
  beforeDenial?(): Promise<void> | undefined;
  /** Called if the call is not admitted although its hold was taken, or may have been because the database became unavailable. */
  onUncertain?(uncertain: UncertainStart): void;
}

export interface UncertainStart {
  readonly runId: string;
  /** True if the row of the run may exist too. */
  readonly isStored: boolean;
}

export interface StartedRun {
  readonly runId: string;
  /** True if the row of the run exists, so that the settlement completes it instead of creating it. */
  readonly isStored: boolean;
  readonly decisionId: string;
  readonly chainId: string | null;
  /** Depth of the run in its chain. */
  readonly depth: number;
  readonly heldNanos: bigint;
  /** Price version of the hold; null if there is none. */
  readonly priceVersion: string | null;
  /** Output tokens that the hold covers. */
  readonly maxOutputTokens: number;
  /** The counters in which the hold is reserved. */
  readonly shares: readonly ReservedCounter[];
  /** The smallest amount that the cost limits still allow; undefined if no cost limit applies. */
  readonly remainingNanos: bigint | undefined;
  /** The limit of cost that is used most; undefined if no cost limit applies. */
  readonly fullest: LimitUse | undefined;
}

export type InProgress = Omit<CreateRun, 'status' | 'content' | 'decision_id' | 'estimated_cost_usd'> & {
  readonly input_tokens: number;
  readonly max_output_tokens: number;
};

/** The response stored under the idempotency key of a call. It contains the id of the run, but no content. */
export interface KeyedCall {
  readonly run_id: string;
}

/** Thrown by `startRun` if another call has used the idempotency key. */
export class KeyInUse extends Error {
  constructor() {
    super('another call has used the idempotency key');
    this.name = 'KeyInUse';
  }
}

interface RunStartContext extends PostingContext {
  readonly key: StartOptions['key'];
  readonly goesOn: StartOptions['goesOn'];
  readonly growth: StartOptions['growth'];
  readonly beforeDenial: StartOptions['beforeDenial'];
  readonly onUncertain: StartOptions['onUncertain'];
  /** Set by the last step. */
  started: Started | undefined;
}

type Started = Pick<StartedRun, 'isStored' | 'remainingNanos' | 'fullest'> & { readonly hold: Hold };

/**
 * Admits the call and takes its hold, which is durable when the promise resolves. If the call is never settled, the held amount is
 * posted when the hold expires, regardless of the org's setting, because the call was made.
 */
export async function startRun(
  deps: RunDependencies,
  call: RunCall,
  body: InProgress,
  options: StartOptions,
): Promise<StartedRun> {
  const {
    fitDownTo,
    toolNanos = 0n,
    calledAt,
    pricedName,
    content,
    key,
    goesOn,
    growth,
    beforeDenial,
    onUncertain,
  } = options;
  const fit =
    fitDownTo === undefined
      ? undefined
      : await fitOf(deps, call, body, { fitDownTo, toolNanos, calledAt, pricedName });
  const postings = await draftRuns(deps, call, [{ status: 'running', ...body }], {
    record: false,
    bulk: false,
    started: { fit, toolNanos, calledAt, pricedName },
  });
  const context: RunStartContext = {
    key,
    goesOn,
    growth,
    beforeDenial,
    onUncertain,
    started: undefined,
    ...(await postingContext(deps, call, postings, {
      bulk: false,
      contents: [content],
      keepsContent: false,
    })),
  };
  await runSteps(startSteps, context, undoErrorLogger(context));
  countAllowed(1);
  const { hold, isStored, remainingNanos, fullest } = context.started as Started;
  if (fit !== undefined && context.fittedRates !== undefined) {
    giveBackUnused(deps.rates, context.fittedRates, fit, hold.amounts, call.now.getTime());
  }
  const { runId, scope, depth } = postings[0] as Posting<RunDraft>;
  return {
    runId,
    isStored,
    decisionId: hold.id,
    chainId: scope.chain_id,
    depth,
    heldNanos: hold.amounts.usd,
    shares: hold.shares,
    priceVersion: hold.priceVersion,
    maxOutputTokens: Number(hold.amounts.tokens) - body.input_tokens,
    remainingNanos,
    fullest,
  };
}

/**
 * Takes the hold. The run is only created when the call is settled, unless it uses a permit or was flagged. Such a run is stored
 * now, with the results of the checks.
 */
const takeHold: Step<RunStartContext> = {
  name: 'hold',
  check(context) {
    const [posting] = context.postings;
    if (posting?.permit === undefined && posting?.run.flagged_by === null) {
      return holdCall(context, posting);
    }
    return posting === undefined || context.key === undefined
      ? openRun(context)
      : holdAndStore(context, posting);
  },
};

const startSteps: readonly Step<RunStartContext>[] = [...checkSteps, takeHold];

async function holdCall(
  context: RunStartContext,
  posting: Posting<RunDraft>,
): Promise<Rejection | undefined> {
  const request = holdRequestOf(context, posting);
  let result = await requestHold(context, request);
  const settling = result.kind === 'denied' ? context.beforeDenial?.() : undefined;
  if (settling !== undefined) {
    await settling;
    result = await requestHold(context, request);
  }
  if (result.kind === 'denied') {
    const { denial } = result;
    return () => rejectionError(context, { kind: 'denied', index: 0, denial });
  }
  if (result.kind !== 'held') {
    return () => new KeyInUse();
  }
  const { hold, applicable, remaining, fullest } = result;
  const remainingNanos = smallestRemaining(applicable.counters, (_, index) => remaining[index] as bigint);
  context.started = { hold, isStored: false, remainingNanos, fullest };
  return undefined;
}

function requestHold(
  context: RunStartContext,
  request: ReturnType<typeof holdRequestOf>,
): Promise<HoldResult> {
  return reportUncertain(context, false, () => context.deps.ledger.hold(request));
}

/** Reports an uncertain start: the response to COMMIT may be lost, so the hold may exist although the call is rejected. */
async function reportUncertain<Result>(
  { onUncertain, postings }: RunStartContext,
  isStored: boolean,
  start: () => Promise<Result>,
): Promise<Result> {
  try {
    return await start();
  } catch (error) {
    const [posting] = postings;
    if (error instanceof DatabaseUnavailable && posting !== undefined) {
      onUncertain?.({ runId: posting.runId, isStored });
    }
    throw error;
  }
}

function holdRequestOf({ orgId, key, goesOn, growth }: RunStartContext, posting: Posting) {
  const { scope, amounts, fit, service, holdSeconds, priceVersion, runId, depth } = posting;
  return {
    orgId,
    surface: 'run',
    scope,
    amounts,
    holdSeconds,
    priceVersion,
    ...(fit !== undefined && { fit }),
    ...(service !== undefined && { service }),
    ...(key !== undefined && { key: { ...key, responseOf: () => keyedCallText(runId) } }),
    call: { holdId: holdIdOfCall(runId), depth, goesOn, growth },
  } satisfies HoldRequest;
}

function keyedCallText(runId: string): string {
  return JSON.stringify({ run_id: runId } satisfies KeyedCall);
}

/** Takes the hold, and then stores the run under it. The hold is first, because the ledger stores the idempotency key with it. */
async function holdAndStore(
  context: RunStartContext,
  posting: Posting<RunDraft>,
): Promise<Rejection | undefined> {
  const rejection = await holdCall(context, posting);
  if (rejection !== undefined) {
    return rejection;
  }
  const started = context.started as Started;
  let isStored = false;
  try {
    const result = await postGroup({ ...context, postings: [{ ...posting, kind: 'adopt' }] });
    isStored = result.kind === 'done';
    if (result.kind !== 'done') {
      return () => rejectionError(context, result);
    }
  } finally {
    if (!isStored) {
      // The call is not made although its hold was taken.
      context.onUncertain?.({ runId: posting.runId, isStored: true });
    }
  }
  context.started = { ...started, isStored: true };
  return undefined;
}

async function openRun(context: RunStartContext): Promise<Rejection | undefined> {
  const result = await reportUncertain(context, true, () => postGroup(context));
  if (result.kind !== 'done') {
    return () => rejectionError(context, result);
  }
  const [outcome] = result.outcomes;
  if (outcome?.kind !== 'posted' || outcome.hold === null) {
    throw new Error('a new run in progress has no hold');
  }
  const { hold, remainingNanos, fullest } = outcome;
  context.started = { hold, isStored: true, remainingNanos, fullest };
  return undefined;
}

async function fitOf(
  { prices }: RunDependencies,
  { caller, now }: RunCall,
  body: InProgress,
  {
    fitDownTo,
    toolNanos,
    calledAt,
    pricedName = body.model,
  }: Omit<StartOfCall, 'fit'> & { readonly fitDownTo: number },
): Promise<Fit | undefined> {
  const price = await prices.findForCall(caller.tenantId, pricedName, now.getTime(), calledAt ?? body);
  const inputTokens = BigInt(body.input_tokens);
  const rates = requestedRates(price, body, inputTokens);
  const others = otherChargesOf(price, body);
  return (
    rates &&
    outputFit(rates, {
      inputTokens,
      others: { ...others, unitNanos: others.unitNanos + toolNanos },
      atLeast: BigInt(fitDownTo),
      atMost: BigInt(body.max_output_tokens),
    })
  );
}
