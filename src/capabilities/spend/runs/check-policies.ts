/** Runs before the org's policies: those that are to be admitted, and what lets them pass where a rule asks for approval. */
import { ApiError } from '../../../contract/api-error.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import type { Posting } from '../../../ledger/posting.ts';
import { findExistingRuns } from '../../../ledger/postings/ledger-writes.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { type Attempt, attemptFrom, type PolicyGate } from '../../governance/policies/index.ts';
import { needsAdmission } from './drafts.ts';
import type { RunDraft } from './queries.ts';

export interface PolicyGateDependencies {
  readonly db: Database;
  readonly policies: PolicyGate;
}

export interface PolicyCheckResult {
  readonly postings: readonly Posting<RunDraft>[];
  /** What to answer where the permit of one of them was gone when it came to it. */
  refuseSpent(index: number): Promise<ApiError>;
}

/** The postings with their permits. Throws what refuses the first that may not pass. */
export async function checkPolicies(
  { db, policies }: PolicyGateDependencies,
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
      return externalId !== null && (await findExistingRuns(db, [{ orgId, externalId }])).length > 0;
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
      refuseSpent: async (index) => counted(await policies.refuseSpent(request, index)),
    };
  } catch (error) {
    throw error instanceof ApiError ? counted(error) : error;
  }
}

function counted(error: ApiError): ApiError {
  decisionCounts.count('run', 'deny', error.code);
  return error;
}

function attemptOf({ scope, amounts, usage, run }: Posting<RunDraft>, caller: Caller, now: Date): Attempt {
  return attemptFrom(scope, {
    model: run.model,
    key_id: caller.keyId,
    role: caller.role,
    costNanos: amounts.usd,
    inputTokens: usage.inputTokens,
    // Of a run that goes on: at most.
    outputTokens: amounts.tokens - usage.inputTokens,
    tags: usage.tags,
    metadata: run.metadata,
    atMs: now.getTime(),
  });
}
