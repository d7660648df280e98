/** The checks of a group of runs, in the order of the contract. The ledger is last: it checks the limits and posts. */
import { type ApiError, invalidField } from '../../../contract/api-error.ts';
import type { OrgLimits } from '../../../kernel/limits.ts';
import { postingError } from '../../../ledger/ledger-errors.ts';
import type { FittedRates } from '../../../ledger/limits/admission-rates.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import type {
  GroupResult,
  Outcome,
  Posting,
  PostingGroup,
  PostingRejection,
} from '../../../ledger/posting.ts';
import { isOutOfRange } from '../../../platform/db/database.ts';
import type { RateDebit } from '../../../platform/rates/rate-limiter.ts';
import { checkPolicies, type PolicyCheckResult } from './check-policies.ts';
import { takeRates, takeRatesUpTo } from './check-rates.ts';
import { checkSafety } from './check-safety.ts';
import { attachContents, hasContent, type PostingContents } from './content-storage.ts';
import type { RunCall, RunDependencies } from './dependencies.ts';
import type { RunDraft } from './queries.ts';
import type { Step } from './step-runner.ts';

export interface PostingContext {
  readonly deps: RunDependencies;
  readonly call: RunCall;
  readonly orgId: string;
  readonly limits: OrgLimits;
  readonly bulk: boolean;
  /** Number of postings that need admission. All others use an existing hold, record a past run or correct one. */
  readonly admissions: number;
  readonly contents: PostingContents | undefined;
  /** False if the content must be checked but not stored. */
  readonly keepsContent: boolean;
  /** Stores the response of an idempotent request in the same transaction as the runs. */
  readonly storeResponse: PostingGroup<RunDraft>['storeResponse'];
  /** The postings. Steps replace them to add the fitting amount, permits, flags and content. */
  postings: readonly Posting<RunDraft>[];
  /** Set by `rateLimits`. */
  takenRates: readonly RateDebit[];
  /** Set by `rateLimits` if the posting takes as much as fits. */
  fittedRates: FittedRates | undefined;
  /** Set by `policies` if the org has policies. */
  policyCheck: PolicyCheckResult | undefined;
  /** Set by `ledger`. */
  outcomes: readonly Outcome<RunDraft>[];
}

type PostingStep = Step<PostingContext>;

const rateLimits: PostingStep = {
  name: 'rate-limits',
  check(context) {
    return context.limits.hasRates ? takeRatesOf(context) : undefined;
  },
  undo({ deps, call, takenRates }) {
    deps.rates.giveBack(takenRates, call.now.getTime());
  },
};

async function takeRatesOf(context: PostingContext): Promise<undefined> {
  const { deps, call, limits, postings, bulk } = context;
  const [posting] = postings;
  if (posting?.fit === undefined) {
    context.takenRates = await takeRates(deps, limits, postings, { now: call.now, bulk });
    return;
  }
  const fitted = await takeRatesUpTo(deps, limits, posting, posting.fit, call.now);
  context.fittedRates = fitted;
  context.takenRates = fitted.reservation?.debits ?? [];
  context.postings = [{ ...posting, fit: { ...posting.fit, atMost: fitted.units } }];
}

const policies: PostingStep = {
  name: 'policies',
  check(context) {
    // Most orgs have no policies. Their cached result is returned synchronously.
    const isGoverned = context.admissions > 0 && context.deps.policies.isGoverned(context.orgId);
    return isGoverned === false ? undefined : checkPoliciesOf(context, isGoverned);
  },
};

async function checkPoliciesOf(
  context: PostingContext,
  isGoverned: boolean | Promise<boolean>,
): Promise<undefined> {
  if (await isGoverned) {
    const { deps, call, postings, bulk } = context;
    context.policyCheck = await checkPolicies(deps, call, postings, bulk);
    context.postings = context.policyCheck.postings;
  }
}

const safety: PostingStep = {
  name: 'safety',
  check(context) {
    return hasContent(context.contents) ? checkSafetyOf(context, context.contents) : undefined;
  },
};

async function checkSafetyOf(context: PostingContext, contents: PostingContents): Promise<undefined> {
  const { deps, orgId, postings, bulk } = context;
  context.postings = await checkSafety(deps.safety, orgId, postings, { bulk, contents });
}

const content: PostingStep = {
  name: 'content',
  check(context) {
    return context.keepsContent && hasContent(context.contents)
      ? attachContentsOf(context, context.contents)
      : undefined;
  },
};

async function attachContentsOf(context: PostingContext, contents: PostingContents): Promise<undefined> {
  const { deps, orgId, postings } = context;
  context.postings = await attachContents(deps.contents, orgId, postings, contents);
}

const ledger: PostingStep = {
  name: 'ledger',
  async check(context) {
    const result = await postGroup(context);
    if (result.kind !== 'done') {
      return () => rejectionError(context, result);
    }
    context.outcomes = result.outcomes;
    return undefined;
  },
};

export async function postGroup(
  {
    deps,
    orgId,
    postings,
    storeResponse,
    bulk,
  }: Pick<PostingContext, 'deps' | 'orgId' | 'postings' | 'storeResponse' | 'bulk'>,
  skipRejected = false,
): Promise<GroupResult<RunDraft>> {
  try {
    const group = { orgId, postings, skipRejected };
    return await deps.ledger.post(storeResponse === undefined ? group : { ...group, storeResponse });
  } catch (error) {
    // Each amount fits its column, but a sum over the org's day does not.
    throw isOutOfRange(error)
      ? invalidField(
          bulk ? 'runs' : postings[0]?.kind === 'adjust' ? 'amount_usd' : 'cost_usd',
          'out_of_range',
          'The total of the org for this day would exceed the largest amount that can be stored.',
        )
      : error;
  }
}

/** Counts a rejected posting and returns its error. */
export async function rejectionError(
  context: PostingContext,
  rejection: PostingRejection,
): Promise<ApiError> {
  const error = await errorOfRejection(context, rejection);
  countRejection(context, rejection, error);
  return error;
}

/** Returns the error of a rejection. Does not count or emit anything, because it may run in a transaction that is retried. */
export async function errorOfRejection(
  { policyCheck, bulk }: PostingContext,
  rejection: PostingRejection,
): Promise<ApiError> {
  return rejection.kind === 'permit_spent'
    ? // Only a policy check returns permits, so its result exists here.
      (policyCheck as PolicyCheckResult).permitSpentError(rejection.index)
    : postingError(rejection, bulk);
}

export function countRejection(
  { deps, orgId, postings }: PostingContext,
  rejection: PostingRejection,
  { code }: ApiError,
): void {
  if (rejection.kind === 'permit_spent' || rejection.kind === 'denied') {
    decisionCounts.count('run', 'deny', code);
  }
  const scope = postings[rejection.index]?.scope;
  if (rejection.kind === 'denied' && scope !== undefined) {
    deps.limitEvents.limitDenied(orgId, scope, rejection.denial);
  }
}

/** The checks before the ledger. */
export const checkSteps: readonly PostingStep[] = [rateLimits, policies, safety, content];
export const postingSteps: readonly PostingStep[] = [...checkSteps, ledger];
