/**
 * Settles calls. A settlement is on disk before the response ends, and is posted shortly after, in one transaction with others.
 * Until then its hold is open, so no limit is exceeded. A settlement that fails because the ledger is unavailable is retried until
 * the ledger has it, also by the next process. If even the disk fails, the hold expires and its whole amount is posted.
 */
import type { CallPosting, RunDependencies } from '../../capabilities/spend/runs/index.ts';
import { formatUsd } from '../../kernel/money.ts';
import { DurableSpool, type Segment } from '../../platform/durable-spool.ts';
import type { Job } from '../../platform/jobs/jobs.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { createSettlementPoster, type UnpostedSettlement } from './post-settlements.ts';
import { parseSettlement, type Settlement } from './settlement.ts';
import { SettlementQueue } from './settlement-queue.ts';

export interface SettledCall {
  /** Cost of the call; undefined if it is not known yet. */
  readonly costUsd: string | undefined;
}

export interface Settlements {
  /** Resolves once the settlement is on disk or posted. Never rejects. `heldNanos` is the cost if the actual one is unknown. */
  settle(settlement: Settlement, heldNanos: bigint): Promise<SettledCall>;
  /** Posts the waiting settlements of an org. Returns undefined if there are none, or if the ledger of the org is unavailable. */
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

const postedTogetherMax = 500;
const takeOverEveryMs = 10_000;
const takeOverBytesMax = 67_108_864;

export function createSettlements({
  runs,
  clock,
  directory,
  collectMs,
}: SettlementDependencies): Settlements {
  const { log } = runs;
  const { draft, postTogether } = createSettlementPoster(runs, clock);
  // Not synced: a power cut may lose the last lines. Their holds are then posted at the held amount, which is never too little.
  const spool = new DurableSpool(directory, { durability: 'os' });
  const queue = new SettlementQueue<UnpostedSettlement>();
  /** Number of settlements per org that are waiting or being posted. */
  const waitingOf = new Map<string, number>();
  let postingNow: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let takenOverAtMs = Number.NEGATIVE_INFINITY;

  function add(unposted: Pick<UnpostedSettlement, 'settlement' | 'posting' | 'segment'>): void {
    const { orgId } = unposted.settlement;
    queue.add({ ...unposted, faults: 0, isLedgerAway: false });
    waitingOf.set(orgId, (waitingOf.get(orgId) ?? 0) + 1);
  }

  async function remove(done: readonly UnpostedSettlement[]): Promise<void> {
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

  /** Posts all ready settlements. Stops at a batch for which the ledger is unavailable. */
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
    // Posts once more, because the running batch may have started before the settlements of the org arrived.
    if (isPostable(orgId)) {
      await postNow();
    }
  }

  /** Posts the ready settlements after a short delay, so that one transaction posts many of them. */
  function postSoon(): void {
    if (queue.ready > 0 && postingNow === undefined) {
      timer ??= setTimeout(postNow, collectMs);
    }
  }

  async function retryFailed(): Promise<void> {
    queue.retry(postedTogetherMax);
    await postNow();
    // Posts the settlements of orgs whose ledger is available again.
    if (queue.ready > 0) {
      await postNow();
    }
  }

  async function takeOver(): Promise<void> {
    takenOverAtMs = performance.now();
    for (const { text, segment } of await spool.takeOver(takeOverBytesMax)) {
      const settlement = parseSettlement(text);
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
      // If the price cannot be read now, it is read when the settlement is posted.
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

function costOf({ amounts, costAsHeld }: CallPosting, heldNanos: bigint): bigint {
  return costAsHeld === undefined || amounts.usd > heldNanos ? amounts.usd : heldNanos;
}
