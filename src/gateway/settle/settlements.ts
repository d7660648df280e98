/**
 * Settles calls. A settlement is on disk before the response ends, and is posted a moment later, together with others: one transaction
 * for many calls. Until then its hold is open, so no limit is exceeded. A settlement that fails because the ledger is away is retried until
 * the ledger has it, also by the next process. If even the disk fails, the hold expires, and its whole amount is posted.
 */
import {
  type CallPosting,
  type CompleteRun,
  completeRun,
  createRun,
  draftCall,
  type RunDependencies,
  settleCalls,
  type TriedUsage,
} from '../../capabilities/spend/runs/index.ts';
import { ApiError } from '../../contract/api-error.ts';
import { formatUsd, parseUsd } from '../../kernel/money.ts';
import type { Mark } from '../../ledger/posting.ts';
import { DurableSpool, type Segment } from '../../platform/durable-spool.ts';
import type { Job } from '../../platform/jobs/jobs.ts';
import { ServiceUnavailable } from '../../platform/service-unavailable.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { CallAttribution } from '../attribution-headers.ts';
import { callerOf } from './caller-of.ts';
import { type QueuedSettlement, SettlementQueue } from './settlement-queue.ts';

export interface Settlement {
  readonly orgId: string;
  readonly keyId: string;
  /** Null for a call that was allowed while the ledger was away: its run gets an id when it is created. */
  readonly runId: string | null;
  /** True if the run is stored already, and is completed. */
  readonly isStored: boolean;
  readonly decisionId: string;
  readonly model: string;
  readonly attribution: CallAttribution;
  readonly depth: number;
  readonly admittedAtMs: number;
  /** The price of the hold; null: none. Absent in files of earlier releases. */
  readonly priceVersion?: string | null;
  readonly body: CompleteRun & TriedUsage;
  readonly marks: readonly Mark[];
  /** The provider's id of the response; absent if it sent none. */
  readonly responseId?: string;
  /** Set for a failed call that cost nothing: its idempotency key can be used again. */
  readonly releasesKey?: true;
  /** The cost of tools that the price does not have; absent if there is none. */
  readonly toolUsd?: string;
}

export interface SettledCall {
  /** Undefined if it is not known yet. */
  readonly costUsd: string | undefined;
}

export interface Settlements {
  /** Resolves once the settlement is on disk, or is posted. Never rejects. `heldNanos` is the cost if the actual one is unknown. */
  settle(settlement: Settlement, heldNanos: bigint): Promise<SettledCall>;
  /** Posts the settlements of an org that wait. Returns undefined if there are none, or if the ledger of the org is away. */
  post(orgId: string): Promise<void> | undefined;
  readonly pending: number;
  readonly job: Job;
  close(): Promise<void>;
}

export interface SettlementDependencies {
  readonly runs: RunDependencies;
  readonly clock: Clock;
  readonly directory: string;
  /** Time in which settlements are collected for one transaction. */
  readonly collectMs: number;
}

interface PendingSettlement extends QueuedSettlement {
  readonly settlement: Settlement;
  /** Undefined if it must be drafted first. */
  readonly posting: CallPosting | undefined;
  /** Undefined if it could not be written to disk. */
  readonly segment: Segment | undefined;
  /** Attempts that have failed although the ledger is available. */
  faults: number;
}

type DraftedSettlement = PendingSettlement & { readonly posting: CallPosting };

const postedTogetherMax = 500;
/** A settlement that has failed this often, about once a second, cannot be posted. */
const faultsMax = 60;
const takeOverEveryMs = 10_000;
const takeOverBytesMax = 67_108_864;

export function createSettlements({
  runs,
  clock,
  directory,
  collectMs,
}: SettlementDependencies): Settlements {
  const { log } = runs;
  // A power cut may lose the last lines. Their holds are posted at the held amount then, which is never too little.
  const spool = new DurableSpool(directory, { durability: 'os' });
  const queue = new SettlementQueue<PendingSettlement>();
  /** Number of settlements of each org that wait or are being posted. */
  const waitingOf = new Map<string, number>();
  let postingNow: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let takenOverAtMs = Number.NEGATIVE_INFINITY;

  /** Returns undefined if the run has no id yet, or is stored already. */
  function draft(settlement: Settlement): Promise<CallPosting> | undefined {
    const { runId, isStored } = settlement;
    if (runId === null || isStored) {
      return undefined;
    }
    return draftCall(runs, { toolNanos: toolNanosOf(settlement), ...settlement, runId }, clock.now());
  }

  async function post({ settlement, posting }: PendingSettlement): Promise<void> {
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
      // An earlier attempt was posted although its answer was lost.
      if (!(error instanceof ApiError && error.code === 'conflict')) {
        throw error;
      }
    }
  }

  /** Returns true if the settlement needs no further attempt. */
  async function isPosted(pending: PendingSettlement): Promise<boolean> {
    try {
      await post(pending);
      return true;
    } catch (error) {
      return isRejected(error, pending);
    }
  }

  /** Returns the settlements that need another attempt. */
  async function postEach(batch: readonly PendingSettlement[]): Promise<PendingSettlement[]> {
    const posted = await Promise.all(batch.map(isPosted));
    return batch.filter((_, index) => posted[index] !== true);
  }

  /** Like `postEach`, for drafted settlements of one org: as one group, which takes much less time than a group for each. */
  async function postGroup(
    orgId: string,
    drafted: readonly DraftedSettlement[],
  ): Promise<PendingSettlement[]> {
    try {
      const postings = drafted.map(({ posting }) => posting);
      const errors = await settleCalls(runs, orgId, postings);
      return drafted.filter(
        (pending, index) => errors[index] !== undefined && !isRejected(errors[index], pending),
      );
    } catch {
      // One of them may have failed the others.
      return postEach(drafted);
    }
  }

  /** Returns the settlements that need another attempt. */
  async function postTogether(batch: readonly PendingSettlement[]): Promise<PendingSettlement[]> {
    const others: PendingSettlement[] = [];
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

  /** A settlement that can never be posted is left to the expiry of its hold, which posts the held amount. */
  function isRejected(error: unknown, pending: PendingSettlement): boolean {
    const isInvalid = error instanceof ApiError && error.status < 500;
    pending.isLedgerAway = !isInvalid && isOutage(error);
    if (pending.isLedgerAway || (!isInvalid && !isFaulty(pending))) {
      return false;
    }
    const { orgId, runId, decisionId } = pending.settlement;
    log.error(
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

  function add(unposted: Pick<PendingSettlement, 'settlement' | 'posting' | 'segment'>): void {
    const { orgId } = unposted.settlement;
    queue.add({ ...unposted, faults: 0, isLedgerAway: false });
    waitingOf.set(orgId, (waitingOf.get(orgId) ?? 0) + 1);
  }

  async function remove(done: readonly PendingSettlement[]): Promise<void> {
    const linesOf = new Map<Segment, number>();
    for (const { settlement, segment } of done) {
      const left = (waitingOf.get(settlement.orgId) ?? 0) - 1;
      if (left > 0) {
        waitingOf.set(settlement.orgId, left);
      } else {
        waitingOf.delete(settlement.orgId);
      }
      if (segment !== undefined) {
        linesOf.set(segment, (linesOf.get(segment) ?? 0) + 1);
      }
    }
    for (const [segment, lines] of linesOf) {
      await spool.release(segment, lines);
    }
  }

  /** Posts all that are ready now. Stops at a batch for which the ledger is away. */
  async function postReady(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    let isLedgerAway = false;
    for (let left = queue.ready; left > 0 && !isLedgerAway; left -= postedTogetherMax) {
      const batch = queue.take(Math.min(left, postedTogetherMax));
      const failed = new Set(await postTogether(batch));
      isLedgerAway = !queue.takeBack(batch, failed);
      await remove(batch.filter((pending) => !failed.has(pending)));
    }
  }

  function postNow(): Promise<void> {
    postingNow ??= postReady().finally(() => {
      postingNow = undefined;
      postSoon();
    });
    return postingNow;
  }

  function isPostable(orgId: string): boolean {
    return waitingOf.has(orgId) && !queue.isAway(orgId);
  }

  async function postOrg(orgId: string): Promise<void> {
    await postNow();
    // The batch may have been taken before the settlements of the org arrived.
    if (isPostable(orgId)) {
      await postNow();
    }
  }

  /** Collects for a moment. */
  function postSoon(): void {
    if (queue.ready > 0 && postingNow === undefined) {
      timer ??= setTimeout(postNow, collectMs);
    }
  }

  async function retryFailed(): Promise<void> {
    queue.retry(postedTogetherMax);
    await postNow();
    // Those of orgs whose ledger is available again.
    if (queue.ready > 0) {
      await postNow();
    }
  }

  async function takeOver(): Promise<void> {
    takenOverAtMs = performance.now();
    for (const { text, segment } of await spool.takeOver(takeOverBytesMax)) {
      const settlement = parse(text);
      if (settlement === undefined) {
        await spool.setAside(text, 'the line is damaged');
        await spool.release(segment);
      } else {
        add({ settlement, posting: undefined, segment });
      }
    }
  }

  return {
    async settle(settlement, heldNanos) {
      // A price that cannot be read now is read when the settlement is posted.
      const posting = await draft(settlement)?.catch(() => undefined);
      const segment = await spool.append(JSON.stringify(settlement)).catch((err) => {
        log.error({ err }, 'cannot write a settlement of a gateway call to disk');
        return undefined;
      });
      add({ settlement, posting, segment });
      if (segment === undefined) {
        await postNow();
      } else {
        postSoon();
      }
      return { costUsd: posting && formatUsd(costOf(posting, heldNanos)) };
    },
    post: (orgId) => (isPostable(orgId) ? postOrg(orgId) : undefined),
    get pending() {
      return queue.size;
    },
    job: {
      id: 'retry-gateway-settlements',
      everyMs: 1_000,
      async runOnce() {
        if (performance.now() - takenOverAtMs >= takeOverEveryMs) {
          await takeOver();
        }
        await retryFailed();
        return false;
      },
    },
    async close() {
      await postingNow;
      await retryFailed();
      clearTimeout(timer);
      await spool.close();
    },
  };
}

function endOf(settlement: Settlement) {
  const { marks, responseId, releasesKey } = settlement;
  return { marks, responseId, releasesKey, toolNanos: toolNanosOf(settlement) };
}

function toolNanosOf({ toolUsd }: Settlement): bigint {
  return toolUsd === undefined ? 0n : (parseUsd(toolUsd) ?? 0n);
}

function isFaulty(pending: PendingSettlement): boolean {
  pending.faults += 1;
  return pending.faults >= faultsMax;
}

function isOutage(error: unknown): boolean {
  return error instanceof ServiceUnavailable || error instanceof ApiError;
}

function isDrafted(pending: PendingSettlement): pending is DraftedSettlement {
  return pending.posting !== undefined;
}

function costOf({ amounts, costAsHeld }: CallPosting, heldNanos: bigint): bigint {
  return costAsHeld === undefined || amounts.usd > heldNanos ? amounts.usd : heldNanos;
}

function parse(line: string): Settlement | undefined {
  try {
    const settlement = JSON.parse(line) as Partial<Settlement>;
    const isWhole =
      typeof settlement.orgId === 'string' &&
      typeof settlement.keyId === 'string' &&
      typeof settlement.decisionId === 'string' &&
      typeof settlement.model === 'string' &&
      typeof settlement.admittedAtMs === 'number' &&
      typeof settlement.body === 'object' &&
      Array.isArray(settlement.marks);
    return isWhole ? (settlement as Settlement) : undefined;
  } catch {
    return undefined;
  }
}
