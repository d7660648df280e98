/**
 * Writes down what became of attempts. Those that end about the same time share a transaction, so that many deliveries
 * cost few commits. While the database is away it waits: what was sent and not written down is sent again.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Database, DatabaseUnavailable } from '../../platform/db/database.ts';
import { type Outcome, recordOutcomes } from './delivery-queries.ts';
import { type Lane, noteOutcomes } from './lanes.ts';

const gatherMs = 20;
const outcomesPerBatch = 500;
const retryMs = 250;

export interface Recorder {
  /** Resolves once it is written. */
  add(outcome: Outcome): Promise<void>;
  /** What waits for the database is given up. */
  stop(): void;
}

/** Subscriptions that nothing reaches, and since when. */
export type OnFailing = (failing: readonly (Lane & { readonly failing_since: Date })[]) => Promise<void>;

interface Waiting {
  readonly outcome: Outcome;
  resolve(): void;
  reject(error: unknown): void;
}

export function createRecorder(db: Database, onFailing: OnFailing): Recorder {
  let waiting: Waiting[] = [];
  let isWriting = false;
  let stopped = false;

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      if (waiting.length < outcomesPerBatch) {
        await pause(gatherMs);
      }
      const batch = waiting.slice(0, outcomesPerBatch);
      waiting = waiting.slice(outcomesPerBatch);
      try {
        await patiently(() => write(batch.map(({ outcome }) => outcome)));
        for (const { resolve } of batch) {
          resolve();
        }
      } catch (error) {
        for (const { reject } of batch) {
          reject(error);
        }
      }
    }
    isWriting = false;
  }

  async function patiently(work: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (stopped || !(error instanceof DatabaseUnavailable)) {
          throw error;
        }
        await pause(retryMs);
      }
    }
  }

  async function write(outcomes: readonly Outcome[]): Promise<void> {
    const failing = await db.transaction(async (tx) => {
      await recordOutcomes(tx, outcomes);
      const attempted = outcomes.filter(({ attempt }) => attempt !== null);
      const [latest] = attempted.map(({ at }) => at).sort((a, b) => b.getTime() - a.getTime());
      if (latest === undefined) {
        return [];
      }
      const arrived = distinctLanes(attempted.filter(({ state }) => state === 'delivered'));
      const failed = distinctLanes(attempted.filter(({ state }) => state !== 'delivered'));
      const onlyFailed = [...failed].filter(([name]) => !arrived.has(name)).map(([, lane]) => lane);
      return noteOutcomes(tx, latest, [...arrived.values()], onlyFailed);
    });
    await onFailing(failing);
  }

  return {
    add(outcome) {
      return new Promise((resolve, reject) => {
        waiting.push({ outcome, resolve, reject });
        if (!isWriting) {
          isWriting = true;
          void writeAll();
        }
      });
    },
    stop() {
      stopped = true;
    },
  };
}

function distinctLanes(lanes: readonly Lane[]): Map<string, Lane> {
  return new Map(lanes.map((lane) => [`${lane.org_id} ${lane.subscription_id}`, lane]));
}
