/**
 * Writes the outcomes of attempts. Outcomes that arrive about the same time share a transaction, so that many
 * deliveries need few commits. While the database is unavailable the recorder waits, for each group of tenants separately; after a
 * restart, unrecorded deliveries are sent again.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../../platform/db/database.ts';
import type { Log } from '../../../platform/log.ts';
import { ServiceUnavailable } from '../../../platform/service-unavailable.ts';
import { type DeliveryOutcome, recordOutcomes } from './delivery-queries.ts';
import { noteOutcomes, type SubscriptionQueue } from './subscription-queues.ts';

const gatherMs = 20;
const outcomesPerBatch = 500;
const retryMs = 250;

export interface Recorder {
  /** Resolves once the outcome is written. */
  add(outcome: DeliveryOutcome): Promise<void>;
  /** Drops outcomes that wait for the database. */
  stop(): void;
}

interface FailingQueue extends SubscriptionQueue {
  readonly failing_since: Date;
}

/** Called with each subscription whose attempts all fail, and since when. */
export type OnFailing = (failing: FailingQueue, at: Date) => Promise<void>;

interface WaitingOutcome {
  readonly outcome: DeliveryOutcome;
  resolve(): void;
  reject(error: unknown): void;
}

export function createRecorder(db: Database, log: Log, onFailing: OnFailing): Recorder {
  /** Waiting outcomes by group of tenants; a group with an entry is being written. */
  const waiting = new Map<number | string, WaitingOutcome[]>();
  let stopped = false;

  async function writeAll(group: number | string, outcomes: WaitingOutcome[]): Promise<void> {
    while (outcomes.length > 0) {
      if (outcomes.length < outcomesPerBatch) {
        await pause(gatherMs);
      }
      await writeBatch(outcomes.splice(0, outcomesPerBatch));
    }
    waiting.delete(group);
  }

  async function writeBatch(batch: readonly WaitingOutcome[]): Promise<void> {
    try {
      const { failing, at } = await patiently(() => write(batch.map(({ outcome }) => outcome)));
      await reportFailing(failing, at);
      for (const { resolve } of batch) {
        resolve();
      }
    } catch (error) {
      if (batch.length > 1 && !(error instanceof ServiceUnavailable)) {
        // One outcome that cannot be stored must not reject the others, which may belong to other orgs.
        for (const one of batch) {
          await writeBatch([one]);
        }
        return;
      }
      for (const { reject } of batch) {
        reject(error);
      }
    }
  }

  /**
   * Runs after the transaction of the outcomes: if it must be repeated, the write is not repeated. Never throws, because the outcomes
   * are written; the next failed attempt of the subscription reports it again.
   */
  async function reportFailing(failing: readonly FailingQueue[], at: Date): Promise<void> {
    for (const queue of failing) {
      try {
        await patiently(() => onFailing(queue, at));
      } catch (err) {
        const { org_id, subscription_id } = queue;
        log.warn(
          { org_id, subscription_id, err },
          'webhook subscription that keeps failing not disabled yet',
        );
      }
    }
  }

  async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (stopped || !(error instanceof ServiceUnavailable)) {
          throw error;
        }
        await pause(retryMs);
      }
    }
  }

  function write(
    outcomes: readonly DeliveryOutcome[],
  ): Promise<{ failing: readonly FailingQueue[]; at: Date }> {
    const at = new Date(Math.max(...outcomes.map((outcome) => outcome.at.getTime())));
    return db.transaction(async (tx) => {
      await recordOutcomes(tx, outcomes);
      const attempted = outcomes.filter(({ attempt }) => attempt !== null);
      const arrived = distinctQueues(attempted.filter(({ state }) => state === 'delivered'));
      const failed = distinctQueues(attempted.filter(({ state }) => state !== 'delivered'));
      const onlyFailed = [...failed].filter(([name]) => !arrived.has(name)).map(([, queue]) => queue);
      return { failing: await noteOutcomes(tx, at, [...arrived.values()], onlyFailed), at };
    });
  }

  return {
    add(outcome) {
      const added = new Promise<void>((resolve, reject) => {
        // A tenant whose group is not known yet is a group of its own.
        const group = db.tenantGroups.groupOf(outcome.org_id) ?? outcome.org_id;
        const others = waiting.get(group);
        if (others !== undefined) {
          others.push({ outcome, resolve, reject });
          return;
        }
        const outcomes = [{ outcome, resolve, reject }];
        waiting.set(group, outcomes);
        void writeAll(group, outcomes);
      });
      // The dispatcher awaits it later, or never if another delivery fails before. A rejection without a handler would end the process.
      added.catch(() => undefined);
      return added;
    },
    stop() {
      stopped = true;
    },
  };
}

function distinctQueues(queues: readonly SubscriptionQueue[]): Map<string, SubscriptionQueue> {
  return new Map(queues.map((queue) => [`${queue.org_id} ${queue.subscription_id}`, queue]));
}
