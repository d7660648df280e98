/** Checks the runs that need admission against the org's policies. */
import { ApiError } from '../../../contract/api-error.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import { needsAdmission, type Posting } from '../../../ledger/posting.ts';
import { hasRun } from '../../../ledger/postings/ledger-writes.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { attemptFrom, type PolicyInput } from '../../governance/policies/index.ts';
import type { RunDependencies } from './dependencies.ts';
import type { RunDraft } from './queries.ts';

export interface PolicyCheckResult {
  /** The postings. Those with a usable approval have its permit. */
  readonly postings: readonly Posting<RunDraft>[];
  /** Returns the error of a posting whose permit was used up or withdrawn before the ledger could use it. */
  permitSpentError(index: number): Promise<ApiError>;
}

/** Throws the error of the first posting that a policy denies. */
export async function checkPolicies(
  { db, policies }: Pick<RunDependencies, 'db' | 'policies'>,
  { caller, now }: { readonly caller: Caller; readonly now: Date },
  postings: readonly Posting<RunDraft>[],
  bulk: boolean,
): Promise<PolicyCheckResult> {
  const orgId = caller.tenantId;
  const request = {
    orgId,
    now,
    bulk,
    attempts: postings.map((posting) =>
      needsAdmission(posting) ? attemptOf(posting, caller, now) : undefined,
    ),
    async isKnown(index: number) {
      const externalId = postings[index]?.externalId ?? null;
      return externalId !== null && (await hasRun(db, orgId, externalId));
    },
  };
  try {
    const permits = await policies.check(request);
    return {
      postings:
        permits.size === 0
          ? postings
          : postings.map((posting, index) => {
              const permit = permits.get(index);
              return permit === undefined ? posting : { ...posting, permit };
            }),
      permitSpentError: (index) => policies.permitSpentError(request, index),
    };
  } catch (error) {
    throw error instanceof ApiError ? counted(error) : error;
  }
}

function counted(error: ApiError): ApiError {
  decisionCounts.count('run', 'deny', error.code);
  return error;
}

function attemptOf(
  { scope, amounts, usage, run }: Posting<RunDraft>,
  caller: Caller,
  now: Date,
): PolicyInput {
  return attemptFrom(scope, {
    model: run.model,
    key_id: caller.keyId,
    role: caller.role,
    costNanos: amounts.usd,
    inputTokens: usage.inputTokens,
    // For a running run, this is its maximum.
    outputTokens: amounts.tokens - usage.inputTokens,
    tags: scope.tags,
    metadata: run.metadata,
    atMs: now.getTime(),
  });
}
