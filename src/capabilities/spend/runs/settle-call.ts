/** Creates the run of a call that `startRun` has admitted, when the call ends. */
import { type ApiError, invalidFields } from '../../../contract/api-error.ts';
import { holdIdOfCall } from '../../../ledger/holds/hold.ts';
import { postingError } from '../../../ledger/ledger-errors.ts';
import type { Posting, PostingRejection } from '../../../ledger/posting.ts';
import type { RunDependencies } from './dependencies.ts';
import type { DraftContext, EndOfCall } from './draft-context.ts';
import { draftRun, isInvalid } from './draft-run.ts';
import { findSettledPrice, withOtherPrices } from './find-price.ts';
import { postGroup } from './posting-steps.ts';
import type { TriedUsage } from './price-run.ts';
import type { RunDraft } from './queries.ts';
import type { CompleteRun, CreateRun } from './schema.ts';

export interface EndedCall extends EndOfCall {
  readonly orgId: string;
  readonly keyId: string;
  readonly runId: string;
  readonly model: string;
  /** The attribution at the admission, with the chain of the run. */
  readonly attribution: Partial<CreateRun>;
  readonly depth: number;
  readonly admittedAtMs: number;
  /** The price of its hold; null if there was none, undefined if it is unknown. */
  readonly priceVersion?: string | null | undefined;
  readonly body: CompleteRun & TriedUsage;
}

export type CallPosting = Posting<RunDraft>;

/** Drafts the run with the price at its admission. Only reads the database if the price is not cached. */
export async function draftCall(
  { ids, prices }: Pick<RunDependencies, 'ids' | 'prices'>,
  call: EndedCall,
  now: Date,
): Promise<CallPosting> {
  const { keyId, runId, model, depth, admittedAtMs, body, priceVersion } = call;
  const at = call.calledAt ?? { provider: call.attribution.provider ?? null, region: body.region ?? null };
  const own = await findSettledPrice(prices, call.orgId, call.pricedName ?? body.served_model ?? model, {
    model,
    priceVersion,
    admittedAtMs,
    at,
  });
  const price = await withOtherPrices(prices, call.orgId, body, own, { atMs: admittedAtMs, at });
  const context: DraftContext = {
    ids,
    keyId,
    now,
    record: false,
    chained: false,
    // The parent was found at the admission and may have been deleted since. The chain is stated explicitly.
    parentOf: (id) => ({ id, depth: depth - 1, chain_id: null }),
    contentDigest: () => '',
    failOpenAtMs: () => undefined,
    // The clock may have been set back since the admission.
    admitted: { runId, startedAt: new Date(Math.min(admittedAtMs, now.getTime())) },
  };
  const stated = { model, decision_id: holdIdOfCall(runId), ...body, ...call.attribution };
  const drafted = draftRun(stated, context, price, call);
  if (isInvalid(drafted)) {
    throw invalidFields(drafted.fieldErrors);
  }
  return drafted;
}

/**
 * Posts runs of one org and ends their holds. Returns in order the error of each run that can never be posted. A run that an
 * earlier attempt has posted stays unchanged.
 */
export async function settleCalls(
  deps: RunDependencies,
  orgId: string,
  postings: readonly CallPosting[],
): Promise<readonly (ApiError | undefined)[]> {
  const result = await postGroup({ deps, orgId, postings, storeResponse: undefined, bulk: false }, true);
  if (result.kind !== 'done') {
    throw new Error('a group that skips rejected postings is never rejected');
  }
  return result.outcomes.map((outcome) =>
    outcome.kind === 'rejected' ? rejectionOf(outcome.rejection) : undefined,
  );
}

function rejectionOf(rejection: PostingRejection): ApiError | undefined {
  if (rejection.kind === 'permit_spent') {
    throw new Error('the run of a call uses no permit');
  }
  return rejection.kind === 'settled_already' ? undefined : postingError(rejection, false);
}
