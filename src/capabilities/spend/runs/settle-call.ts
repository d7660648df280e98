/** Creates the run of a call that `startRun` has admitted, at its end. */
import { type ApiError, invalidFields } from '../../../contract/api-error.ts';
import { holdIdOfCall } from '../../../ledger/holds/hold.ts';
import { postingError } from '../../../ledger/ledger-errors.ts';
import type { Mark, Posting, PostingRejection } from '../../../ledger/posting.ts';
import type { PriceInForce } from '../models/index.ts';
import type { RunDependencies } from './dependencies.ts';
import type { TriedUsage } from './drafted-cost.ts';
import { type DraftContext, draftRun, isInvalid } from './drafts.ts';
import { withTools } from './end-of-call.ts';
import { postGroup } from './posting-steps.ts';
import type { RunDraft } from './queries.ts';
import { findSettledPrice } from './run-price.ts';
import type { CompleteRun, CreateRun } from './schema.ts';

export interface EndedCall {
  readonly orgId: string;
  readonly keyId: string;
  readonly runId: string;
  readonly model: string;
  /** Who pays, as admitted, with the chain of the run. */
  readonly attribution: Partial<CreateRun>;
  readonly depth: number;
  readonly admittedAt: Date;
  /** The price of its hold; null: none, undefined: not known. */
  readonly priceVersion?: string | null | undefined;
  readonly body: CompleteRun & TriedUsage;
  /** Set in addition to those of the ledger. */
  readonly marks: readonly Mark[];
  /** The provider's id of the response, if it sent one. */
  readonly responseId?: string | undefined;
  /** Set if the call cost nothing and may be repeated with its idempotency key. */
  readonly releasesKey?: true | undefined;
  /** The cost of tools that the price does not have. */
  readonly toolNanos: bigint;
}

export type CallPosting = Posting<RunDraft>;

/** Drafts the run at the price of its admission. Reads the database only if the price is not cached. */
export async function draftCall(
  deps: Pick<RunDependencies, 'ids' | 'prices'>,
  call: EndedCall,
  now: Date,
): Promise<CallPosting> {
  const { orgId, keyId, runId, model, attribution, depth, admittedAt, body, marks } = call;
  const { served_model: served = model } = body;
  const price =
    served === model
      ? await findHeldPrice(deps, call)
      : await findSettledPrice(deps.prices, orgId, served, {
          model,
          priceVersion: call.priceVersion,
          admittedAtMs: admittedAt.getTime(),
        });
  // The clock may have been set back since the admission.
  const startedAt = admittedAt < now ? admittedAt : now;
  const context: DraftContext = {
    ids: deps.ids,
    keyId,
    now,
    record: false,
    chained: false,
    // The parent was found at the admission, and may have been deleted since. The chain is stated.
    parentOf: (id) => ({ id, depth: depth - 1, chain_id: null }),
    contentDigest: () => '',
    failOpenAtMs: () => undefined,
    runId,
    startedAt,
    marks: marks.length === 0 ? undefined : marks,
    responseId: call.responseId,
  };
  const stated = { model, decision_id: holdIdOfCall(runId), ...body, ...attribution };
  const drafted = draftRun(stated, context, price);
  if (isInvalid(drafted)) {
    throw invalidFields(drafted);
  }
  const charged = withTools(drafted, call.toolNanos);
  return call.releasesKey === undefined ? charged : { ...charged, releasesKey: true };
}

/** Returns the price of the hold, even if another one is in force now. */
async function findHeldPrice(
  { prices }: Pick<RunDependencies, 'prices'>,
  { orgId, model, admittedAt, priceVersion }: EndedCall,
): Promise<PriceInForce | undefined> {
  const found = prices.findForCall(orgId, model, admittedAt.getTime());
  const inForce = found instanceof Promise ? await found : found;
  return priceVersion == null || priceVersion === inForce?.versionId
    ? inForce
    : ((await prices.version(orgId, model, priceVersion)) ?? inForce);
}

/**
 * Posts runs of one org and ends their holds. Returns the error of each run that can never be posted, in their order. A run that an earlier
 * attempt has posted stays as it is.
 */
export async function settleCalls(
  deps: RunDependencies,
  orgId: string,
  postings: readonly CallPosting[],
): Promise<readonly (ApiError | undefined)[]> {
  const result = await postGroup(
    { deps, orgId, postings, storeResponse: undefined, bulk: false, amountField: 'cost_usd' },
    true,
  );
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
