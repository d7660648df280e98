/** Posts settlements, grouped by org, and returns those that need another attempt. */
import {
  type CallPosting,
  completeRun,
  createRun,
  draftCall,
  type RunDependencies,
  settleCalls,
} from '../../capabilities/spend/runs/index.ts';
import { ApiError } from '../../contract/api-error.ts';
import { parseUsd } from '../../kernel/money.ts';
import type { Segment } from '../../platform/durable-spool.ts';
import { ServiceUnavailable } from '../../platform/service-unavailable.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { callerOf } from './caller-of.ts';
import type { Settlement } from './settlement.ts';
import type { QueuedSettlement } from './settlement-queue.ts';

export interface UnpostedSettlement extends QueuedSettlement {
  readonly settlement: Settlement;
  /** The drafted posting; undefined if it must be drafted first. */
  readonly posting: CallPosting | undefined;
  /** Location on disk; undefined if the settlement could not be written. */
  readonly segment: Segment | undefined;
  /** Number of failed attempts while the ledger was available. */
  faults: number;
}

type DraftedSettlement = UnpostedSettlement & { readonly posting: CallPosting };

/** Number of failures, about one per second, after which a settlement counts as impossible to post. */
const faultsMax = 60;

export function createSettlementPoster(runs: RunDependencies, clock: Clock) {
  /** Drafts a settlement. Returns undefined if the run has no id yet, or is stored already. */
  function draft(settlement: Settlement): Promise<CallPosting> | undefined {
    const { runId, isStored } = settlement;
    if (runId === null || isStored) {
      return undefined;
    }
    return draftCall(runs, { toolNanos: toolNanosOf(settlement), ...settlement, runId }, clock.now());
  }

  async function post({ settlement, posting }: UnpostedSettlement): Promise<void> {
    const { orgId, keyId, runId, isStored, decisionId, model, attribution, body } = settlement;
    const drafted = posting ?? (await draft(settlement));
    if (drafted !== undefined) {
      const [error] = await settleCalls(runs, orgId, [drafted]);
      if (error !== undefined) {
        throw error;
      }
      return;
    }
    const call = { caller: callerOf(orgId, keyId), now: clock.now(), storeResponse: undefined };
    try {
      await (runId !== null && isStored
        ? completeRun(runs, call, runId, body, endOf(settlement))
        : createRun(
            runs,
            call,
            { ...attribution, ...body, model, decision_id: decisionId },
            endOf(settlement),
          ));
    } catch (error) {
      // A conflict means that an earlier attempt was posted although its response was lost.
      if (!(error instanceof ApiError && error.code === 'conflict')) {
        throw error;
      }
    }
  }

  /** Returns true if the settlement needs no further attempt. */
  async function isPosted(pending: UnpostedSettlement): Promise<boolean> {
    try {
      await post(pending);
      return true;
    } catch (error) {
      return isRejected(error, pending);
    }
  }

  /** Posts each settlement separately. Returns those that need another attempt. */
  async function postEach(batch: readonly UnpostedSettlement[]): Promise<UnpostedSettlement[]> {
    const posted = await Promise.all(batch.map(isPosted));
    return batch.filter((_, index) => posted[index] !== true);
  }

  /**
   * Posts drafted settlements of one org as one group, which takes much less time than one group each. Returns those that need
   * another attempt.
   */
  async function postGroup(
    orgId: string,
    drafted: readonly DraftedSettlement[],
  ): Promise<UnpostedSettlement[]> {
    try {
      const postings = drafted.map(({ posting }) => posting);
      const errors = await settleCalls(runs, orgId, postings);
      return drafted.filter(
        (pending, index) => errors[index] !== undefined && !isRejected(errors[index], pending),
      );
    } catch {
      // One settlement may have failed the whole group.
      return postEach(drafted);
    }
  }

  /** Posts settlements by org. Returns those that need another attempt. */
  async function postTogether(batch: readonly UnpostedSettlement[]): Promise<UnpostedSettlement[]> {
    const others: UnpostedSettlement[] = [];
    const draftedOf = new Map<string, DraftedSettlement[]>();
    for (const pending of batch) {
      const { orgId } = pending.settlement;
      if (!isDrafted(pending)) {
        others.push(pending);
      } else if (draftedOf.get(orgId)?.push(pending) === undefined) {
        draftedOf.set(orgId, [pending]);
      }
    }
    const groups = [...draftedOf].map(([orgId, drafted]) => postGroup(orgId, drafted));
    return (await Promise.all([postEach(others), ...groups])).flat();
  }

  /** Returns true if a settlement can never be posted. It is then left to the expiry of its hold, which posts the held amount. */
  function isRejected(error: unknown, pending: UnpostedSettlement): boolean {
    const isInvalid = error instanceof ApiError && error.status < 500;
    pending.isLedgerAway = !isInvalid && isOutage(error);
    if (pending.isLedgerAway || (!isInvalid && !isFaulty(pending))) {
      return false;
    }
    const { orgId, runId, decisionId } = pending.settlement;
    runs.log.error(
      {
        tenant: orgId,
        run: runId,
        decision: decisionId,
        ...(isInvalid ? { code: error.code } : { err: error }),
      },
      'the ledger rejected the settlement of a gateway call; its held amount will be posted',
    );
    return true;
  }

  return { draft, postTogether };
}

function endOf(settlement: Settlement) {
  const { marks, responseId, releasesKey, servedBy, calledAt, pricedName } = settlement;
  return {
    marks,
    responseId,
    releasesKey,
    servedBy,
    calledAt,
    pricedName,
    toolNanos: toolNanosOf(settlement),
  };
}

function toolNanosOf({ toolUsd }: Settlement): bigint {
  return toolUsd === undefined ? 0n : (parseUsd(toolUsd) ?? 0n);
}

function isFaulty(pending: UnpostedSettlement): boolean {
  pending.faults += 1;
  return pending.faults >= faultsMax;
}

function isOutage(error: unknown): boolean {
  return error instanceof ServiceUnavailable || error instanceof ApiError;
}

function isDrafted(pending: UnpostedSettlement): pending is DraftedSettlement {
  return pending.posting !== undefined;
}
