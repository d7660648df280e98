/**
 * Queues commands by org and executes them in batches. At any time an org is in one batch at most, so its commands are executed
 * in order. A batch has the waiting commands of several orgs, because a transaction costs more than a decision. An org with much
 * to do gets a batch of its own, so that the others do not wait for it.
 */
import { FairShare } from '../../platform/fair-share.ts';
import { OverCapacity } from '../../platform/service-unavailable.ts';
import { type LedgerCommand, type LedgerResult, sizeOf } from './ledger-command.ts';

export interface QueuedCommand<Run> {
  readonly command: LedgerCommand<Run>;
  resolve(result: LedgerResult<Run>): void;
  reject(error: unknown): void;
}

/** Commands of one org that are executed together. */
export interface QueuedOrg<Run> {
  readonly orgId: string;
  readonly commands: readonly QueuedCommand<Run>[];
}

export interface BatchExecutor<Run> {
  /** Executes the commands of those orgs that no other transaction has locked. Returns the other orgs. */
  executeFree(batch: readonly QueuedOrg<Run>[]): Promise<readonly QueuedOrg<Run>[]>;
  /** The same, but waits a short time for locks. Returns the orgs that need a transaction of their own. */
  executeSoon(batch: readonly QueuedOrg<Run>[]): Promise<readonly QueuedOrg<Run>[]>;
  /** Executes the commands of an org, however long its lock takes. Never fails. */
  executeAlone(org: QueuedOrg<Run>): Promise<void>;
}

const waitingMax = 20_000;
const commandsPerOrg = 500;
const orgsPerBatch = 64;
/** Batches of several orgs at the same time: while the database executes one, the process prepares the next. */
const batchesMax = 2;
/** More holds and runs than this make a batch of its own. */
const smallSize = 50;

export class OrgQueues<Run> {
  readonly #places = new FairShare({ capacity: waitingMax });
  readonly #waiting = new Map<string, QueuedCommand<Run>[]>();
  readonly #busy = new Set<string>();
  /** Orgs with waiting commands that are in no batch. */
  readonly #ready = new Set<string>();
  readonly #executor: BatchExecutor<Run>;
  #batches = 0;
  #isScheduled = false;

  constructor(executor: BatchExecutor<Run>) {
    this.#executor = executor;
  }

  get waiting(): number {
    return this.#places.used;
  }

  enqueue(orgId: string, command: LedgerCommand<Run>): Promise<LedgerResult<Run>> {
    if (!this.#places.tryTake(orgId)) {
      return Promise.reject(new OverCapacity('too many ledger commands are queued'));
    }
    return new Promise((resolve, reject) => {
      const queued = { command, resolve, reject };
      const waiting = this.#waiting.get(orgId);
      if (waiting === undefined) {
        this.#waiting.set(orgId, [queued]);
      } else {
        waiting.push(queued);
      }
      if (!this.#busy.has(orgId)) {
        this.#ready.add(orgId);
        this.#schedule();
      }
    });
  }

  #schedule(): void {
    if (!this.#isScheduled && this.#ready.size > 0 && this.#batches < batchesMax) {
      this.#isScheduled = true;
      // Commands that arrive in the same turn of the event loop join the batch.
      setImmediate(() => {
        this.#isScheduled = false;
        this.#start();
      });
    }
  }

  #start(): void {
    while (this.#ready.size > 0 && this.#batches < batchesMax) {
      const batch: QueuedOrg<Run>[] = [];
      for (const orgId of this.#ready) {
        const org = this.#take(orgId);
        if (isSmall(org)) {
          batch.push(org);
        } else {
          // Not counted among the batches: a large one may take seconds.
          void this.#runAlone(org);
        }
        if (batch.length === orgsPerBatch) {
          break;
        }
      }
      if (batch.length > 0) {
        void this.#run(batch);
      }
    }
  }

  #take(orgId: string): QueuedOrg<Run> {
    const waiting = this.#waiting.get(orgId) ?? [];
    const commands = waiting.splice(0, commandsPerOrg);
    this.#places.release(orgId, commands.length);
    this.#ready.delete(orgId);
    this.#busy.add(orgId);
    return { orgId, commands };
  }

  async #run(batch: readonly QueuedOrg<Run>[]): Promise<void> {
    const [only] = batch;
    this.#batches += 1;
    if (batch.length === 1 && only !== undefined) {
      await this.#runAlone(only);
      this.#batches -= 1;
    } else {
      const locked = await this.#executor.executeFree(batch);
      this.#batches -= 1;
      this.#finish(batch, locked);
      void this.#runLocked(locked);
    }
    this.#schedule();
  }

  /** Not counted among the batches, since it may wait for locks. */
  async #runLocked(locked: readonly QueuedOrg<Run>[]): Promise<void> {
    const stillLocked = locked.length > 1 ? await this.#executor.executeSoon(locked) : locked;
    this.#finish(locked, stillLocked);
    await Promise.all(stillLocked.map((org) => this.#runAlone(org)));
  }

  async #runAlone(org: QueuedOrg<Run>): Promise<void> {
    await this.#executor.executeAlone(org);
    this.#finish([org]);
    this.#schedule();
  }

  /** `unfinished`: the orgs of the batch whose commands are still being executed. */
  #finish(batch: readonly QueuedOrg<Run>[], unfinished: readonly QueuedOrg<Run>[] = []): void {
    for (const org of batch) {
      if (unfinished.includes(org)) {
        continue;
      }
      const { orgId } = org;
      this.#busy.delete(orgId);
      if ((this.#waiting.get(orgId)?.length ?? 0) > 0) {
        this.#ready.add(orgId);
      } else {
        this.#waiting.delete(orgId);
      }
    }
  }
}

function isSmall<Run>({ commands }: QueuedOrg<Run>): boolean {
  return commands.reduce((sum, { command }) => sum + sizeOf(command), 0) <= smallSize;
}
