/** Runs before the org's policies: those that are to be admitted, and what lets them pass where a rule asks for approval. */
import { Refusal } from '../../../contract/refusal.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import type { Booking } from '../../../ledger/posting.ts';
import { findKnown } from '../../../ledger/postings/ledger-writes.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { type Attempt, attemptFrom, type PolicyGate } from '../../governance/policies/index.ts';
import { isDecided } from './drafts.ts';
import type { RunDraft } from './queries.ts';

export interface PolicyGateDependencies {
  readonly db: Database;
  readonly policies: PolicyGate;
}

export interface Governed {
  readonly bookings: readonly Booking<RunDraft>[];
  /** What to answer where the permit of one of them was gone when it came to it. */
  refuseSpent(index: number): Promise<Refusal>;
}

/** The bookings with their permits. Throws what refuses the first that may not pass. */
export async function passPolicies(
  { db, policies }: PolicyGateDependencies,
  { caller, now }: { readonly caller: Caller; readonly now: Date },
  bookings: readonly Booking<RunDraft>[],
  bulk: boolean,
): Promise<Governed> {
  const orgId = caller.tenantId;
  const request = {
    orgId,
    now,
    bulk,
    attempts: bookings.map((booking) => (isDecided(booking) ? attemptOf(booking, caller, now) : undefined)),
    async isKnown(index: number) {
      const externalId = bookings[index]?.externalId ?? null;
      return externalId !== null && (await findKnown(db, [{ orgId, externalId }])).length > 0;
    },
  };
  try {
    const permits = await policies.check(request);
    return {
      bookings:
        permits.size === 0
          ? bookings
          : bookings.map((booking, index) => {
              const permit = permits.get(index);
              return permit === undefined ? booking : { ...booking, permit };
            }),
      refuseSpent: async (index) => counted(await policies.refuseSpent(request, index)),
    };
  } catch (error) {
    throw error instanceof Refusal ? counted(error) : error;
  }
}

function counted(refusal: Refusal): Refusal {
  decisionCounts.count('run', 'deny', refusal.code);
  return refusal;
}

function attemptOf({ scope, amounts, usage, run }: Booking<RunDraft>, caller: Caller, now: Date): Attempt {
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
