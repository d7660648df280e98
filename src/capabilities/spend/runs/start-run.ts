/** Starts a run in progress for a caller in this process, which can reduce its output to what the limits allow. */
import { apiError } from '../../../contract/api-error.ts';
import { outputFit } from '../../../kernel/output-fit.ts';
import type { Outcome, Posting } from '../../../ledger/posting.ts';
import { otherChargesOf, requestedRates } from '../../../ledger/service-fields.ts';
import { draftRuns } from './create-runs.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import { postRuns } from './post-runs.ts';
import type { RunDraft } from './queries.ts';
import type { CreateRun } from './schema.ts';

export interface StartOptions {
  /** The least output that is useful, if less than `max_output_tokens` is acceptable; undefined: all of it or nothing. */
  readonly fitDownTo?: number | undefined;
  /** Text for the safety detectors. It is never stored. */
  readonly content?: string | undefined;
}

export interface StartedRun {
  readonly runId: string;
  readonly decisionId: string;
  readonly heldNanos: bigint;
  /** The output that the hold covers. */
  readonly maxOutputTokens: number;
  /** The smallest amount that a limit of cost still allows; undefined if none applies. */
  readonly remainingNanos: bigint | undefined;
}

export type InProgress = Omit<CreateRun, 'status' | 'content' | 'decision_id' | 'estimated_cost_usd'> & {
  readonly input_tokens: number;
  readonly max_output_tokens: number;
};

/**
 * Admits the run through all checks and takes its hold, which is durable when this resolves. If the run is never completed,
 * the held amount is posted when the hold expires, whatever the setting of the org is: the call was made.
 */
export async function startRun(
  deps: RunDependencies,
  call: RunCall,
  body: InProgress,
  { fitDownTo, content }: StartOptions,
): Promise<StartedRun> {
  const drafts = await draftRuns(deps, call, [{ ...body, status: 'running' }], {
    record: false,
    bulk: false,
  });
  const postings: Posting<RunDraft>[] = [];
  for (const draft of drafts) {
    postings.push({ ...draft, postIfUnsettled: true, fit: await fitOf(deps, call, body, fitDownTo) });
  }
  return postRuns(deps, call, postings, {
    bulk: false,
    amountField: 'cost_usd',
    contents: [content],
    keepsContent: false,
    respond: async (_, [outcome]) => startedRun(outcome, body.input_tokens),
  });
}

async function fitOf(
  { prices }: RunDependencies,
  { caller, now }: RunCall,
  body: InProgress,
  fitDownTo: number | undefined,
): Promise<Posting['fit']> {
  if (fitDownTo === undefined) {
    return undefined;
  }
  const price = await prices.findForCall(caller.tenantId, body.model, now.getTime());
  const inputTokens = BigInt(body.input_tokens);
  const rates = requestedRates(price, body, inputTokens);
  return (
    rates &&
    outputFit(rates, {
      inputTokens,
      others: otherChargesOf(price, body),
      atLeast: BigInt(fitDownTo),
      atMost: BigInt(body.max_output_tokens),
    })
  );
}

function startedRun(outcome: Outcome<RunDraft> | undefined, inputTokens: number): StartedRun {
  if (outcome?.kind !== 'posted' || outcome.hold === null) {
    throw apiError('conflict', 'A run with this `external_id` exists already.');
  }
  const { hold, posting, remainingNanos } = outcome;
  return {
    runId: posting.runId,
    decisionId: hold.id,
    heldNanos: hold.amounts.usd,
    maxOutputTokens: Number(hold.amounts.tokens) - inputTokens,
    remainingNanos,
  };
}
