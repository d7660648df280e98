/**
 * Settles the runs of calls. A settlement that fails because the ledger is away is written to disk and retried until the ledger
 * has it, also by the next process. If even the disk fails, the hold of the run expires, and its whole amount is posted.
 */
import {
  type CompleteRun,
  completeRun,
  createRun,
  type RunDependencies,
} from '../../capabilities/spend/runs/index.ts';
import { ApiError } from '../../contract/api-error.ts';
import type { Mark } from '../../ledger/posting.ts';
import { DurableSpool, type Segment } from '../../platform/durable-spool.ts';
import type { Caller } from '../../platform/http/routes/access.ts';
import type { Job } from '../../platform/jobs/jobs.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { CallAttribution } from '../attribution-headers.ts';

export interface Settlement {
  readonly orgId: string;
  readonly keyId: string;
  /** Null for a call that was allowed while the ledger was away: its run is created now. */
  readonly runId: string | null;
  readonly decisionId: string;
  readonly model: string;
  /** For a call without a run: who pays for it. */
  readonly attribution: CallAttribution;
  readonly body: CompleteRun;
  readonly marks: readonly Mark[];
}

export interface SettledCall {
  /** Undefined if the settlement was postponed. */
  readonly costUsd: string | undefined;
}

export interface Settlements {
  /** Resolves once the settlement is posted, or is on disk. Never rejects. */
  settle(settlement: Settlement): Promise<SettledCall>;
  readonly pending: number;
  readonly job: Job;
  close(): Promise<void>;
}

export interface SettlementDependencies {
  readonly runs: RunDependencies;
  readonly clock: Clock;
  readonly directory: string;
}

interface PendingSettlement {
  readonly settlement: Settlement;
  /** Undefined if it could not be written to disk. */
  readonly segment: Segment | undefined;
}

const retriesPerBatch = 100;
const takeOverEveryMs = 10_000;
const takeOverBytesMax = 67_108_864;

export function createSettlements({ runs, clock, directory }: SettlementDependencies): Settlements {
  const { log } = runs;
  const spool = new DurableSpool(directory);
  const pending: PendingSettlement[] = [];
  let takenOverAtMs = Number.NEGATIVE_INFINITY;

  async function post(settlement: Settlement): Promise<SettledCall> {
    const { orgId, keyId, runId, decisionId, model, attribution, body, marks } = settlement;
    const call = { caller: callerOf(orgId, keyId), now: clock.now(), storeResponse: undefined };
    try {
      const view =
        runId === null
          ? await createRun(runs, call, { ...attribution, ...body, model, decision_id: decisionId }, marks)
          : await completeRun(runs, call, runId, body, marks);
      return { costUsd: view.cost_usd ?? undefined };
    } catch (error) {
      if (error instanceof ApiError && error.code === 'conflict') {
        // An earlier attempt was posted although its answer was lost.
        return { costUsd: undefined };
      }
      throw error;
    }
  }

  /** Returns true if the settlement needs no further attempt. */
  async function retry(settlement: Settlement): Promise<boolean> {
    try {
      await post(settlement);
      return true;
    } catch (error) {
      return isRejected(error, settlement);
    }
  }

  /** A settlement that can never be posted is left to the expiry of its hold, which posts the held amount. */
  function isRejected(error: unknown, { orgId, runId, decisionId }: Settlement): boolean {
    if (!(error instanceof ApiError) || error.status >= 500) {
      return false;
    }
    log.error(
      { tenant: orgId, run: runId, decision: decisionId, code: error.code },
      'the ledger rejected the settlement of a gateway call; its held amount will be posted',
    );
    return true;
  }

  async function takeOver(): Promise<void> {
    takenOverAtMs = performance.now();
    for (const { text, segment } of await spool.takeOver(takeOverBytesMax)) {
      const settlement = parse(text);
      if (settlement === undefined) {
        await spool.setAside(text, 'the line is damaged');
        await spool.release(segment);
      } else {
        pending.push({ settlement, segment });
      }
    }
  }

  return {
    async settle(settlement) {
      try {
        return await post(settlement);
      } catch (error) {
        if (isRejected(error, settlement)) {
          return { costUsd: undefined };
        }
        log.warn(
          { tenant: settlement.orgId, run: settlement.runId },
          'settlement of a gateway call postponed',
        );
        const segment = await spool.append(JSON.stringify(settlement)).catch((err) => {
          log.error({ err }, 'cannot write a settlement of a gateway call to disk');
          return undefined;
        });
        pending.push({ settlement, segment });
        return { costUsd: undefined };
      }
    },
    get pending() {
      return pending.length;
    },
    job: {
      id: 'retry-gateway-settlements',
      everyMs: 1_000,
      async runOnce() {
        if (performance.now() - takenOverAtMs >= takeOverEveryMs) {
          await takeOver();
        }
        const batch = pending.splice(0, retriesPerBatch);
        for (const [index, one] of batch.entries()) {
          if (!(await retry(one.settlement))) {
            pending.unshift(...batch.slice(index));
            return false;
          }
          if (one.segment !== undefined) {
            await spool.release(one.segment);
          }
        }
        return pending.length > 0;
      },
    },
    close: () => spool.close(),
  };
}

/** The caller was admitted when the call was made; its settlement does not depend on what happened to its key since. */
function callerOf(orgId: string, keyId: string): Caller {
  return { tenantId: orgId, keyId, role: 'member', scopes: new Set() };
}

function parse(line: string): Settlement | undefined {
  try {
    const settlement = JSON.parse(line) as Partial<Settlement>;
    const isWhole =
      typeof settlement.orgId === 'string' &&
      typeof settlement.keyId === 'string' &&
      typeof settlement.decisionId === 'string' &&
      typeof settlement.model === 'string' &&
      typeof settlement.body === 'object' &&
      Array.isArray(settlement.marks);
    return isWhole ? (settlement as Settlement) : undefined;
  } catch {
    return undefined;
  }
}
