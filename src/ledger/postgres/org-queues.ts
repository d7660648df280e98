/**
 * Queues commands by org and executes them in batches. An org is in at most one batch at any time, so its commands are executed in
 * order. A batch has the waiting commands of several orgs, because a transaction costs more than a decision. An org with many
 * commands gets a separate batch, so that the others do not wait for it.
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
  /** Returns the group of an org: orgs of different groups are not executed together. Undefined: the org is executed alone. */
  groupOf(orgId: string): number | undefined;
  /** Executes the commands of the orgs that no other transaction has locked. Returns the other orgs. */
  executeFree(batch: readonly QueuedOrg<Run>[]): Promise<readonly QueuedOrg<Run>[]>;
  /** Does the same, but waits a short time for locks. Returns the orgs that need a separate transaction. */
  executeSoon(batch: readonly QueuedOrg<Run>[]): Promise<readonly QueuedOrg<Run>[]>;
  /** Executes the commands of an org, no matter how long its lock takes. Never rejects. */
  executeAlone(org: QueuedOrg<Run>): Promise<void>;
}

const waitingMax = 20_000;
const commandsPerOrg = 500;
const orgsPerBatch = 64;
/** Maximum number of batches of a group at the same time: while the database executes one, the process prepares the next. */
const batchesPerGroup = 2;
/** Maximum number of batches at the same time. Each needs a connection. */
const batchesMax = 6;
/** Group number of orgs whose group is not known yet. Each of them has a separate batch. */
const withoutGroup = -1;
/** Maximum number of holds and runs of an org in a shared batch. A larger org gets a separate one. */
const smallSize = 50;

export class OrgQueues<Run> {
  readonly #places = new FairShare({ capacity: waitingMax });
  /** Commands that are not in a batch yet. An org has an entry while it is ready or in a batch. */
  readonly #waiting = new Map<string, QueuedCommand<Run>[]>();
  /** Orgs with waiting commands that are not in a batch, by group. */
  readonly #ready = new Map<number, Set<string>>();
  readonly #executor: BatchExecutor<Run>;
  #running = 0;
  /** Number of running batches of each group. */
  readonly #batches = new Map<number, number>();
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
        this.#makeReady(orgId);
      } else {
        waiting.push(queued);
      }
    });
  }

  #makeReady(orgId: string): void {
    const group = this.#executor.groupOf(orgId) ?? withoutGroup;
    const ready = this.#ready.get(group);
    if (ready === undefined) {
      this.#ready.set(group, new Set([orgId]));
    } else {
      ready.add(orgId);
    }
    this.#schedule();
  }

  #schedule(): void {
    if (!this.#isScheduled && this.#nextGroup() !== undefined) {
      this.#isScheduled = true;
      // Commands that arrive in the same turn of the event loop join the batch.
      setImmediate(() => {
        this.#isScheduled = false;
        this.#start();
      });
    }
  }

  /** Returns a group with waiting orgs that may have another batch. */
  #nextGroup(): number | undefined {
    if (this.#running >= batchesMax) {
      return undefined;
    }
    for (const group of this.#ready.keys()) {
      if ((this.#batches.get(group) ?? 0) < batchesPerGroup) {
        return group;
      }
    }
    return undefined;
  }

  #start(): void {
    this.#regroup();
    for (let group = this.#nextGroup(); group !== undefined; group = this.#nextGroup()) {
      const batch = this.#takeBatch(group);
      if (batch.length > 0) {
        void this.#run(group, batch);
      }
    }
  }

  /** Moves orgs whose group has become known to that group. */
  #regroup(): void {
    for (const orgId of this.#ready.get(withoutGroup) ?? []) {
      if (this.#executor.groupOf(orgId) !== undefined) {
        this.#removeReady(withoutGroup, orgId);
        this.#makeReady(orgId);
      }
    }
  }

  #takeBatch(group: number): QueuedOrg<Run>[] {
    const batch: QueuedOrg<Run>[] = [];
    for (const orgId of this.#ready.get(group) ?? []) {
      const org = this.#take(group, orgId);
      if (isSmall(org)) {
        batch.push(org);
      } else {
        // Not counted as a batch, because a large one may take seconds.
        void this.#runAlone(org);
      }
      if (batch.length === (group === withoutGroup ? 1 : orgsPerBatch)) {
        break;
      }
    }
    return batch;
  }

  #countBatch(group: number, change: 1 | -1): void {
    this.#running += change;
    const running = (this.#batches.get(group) ?? 0) + change;
    if (running === 0) {
      this.#batches.delete(group);
    } else {
      this.#batches.set(group, running);
    }
  }

  #take(group: number, orgId: string): QueuedOrg<Run> {
    const waiting = this.#waiting.get(orgId) ?? [];
    const commands = waiting.splice(0, commandsPerOrg);
    this.#places.release(orgId, commands.length);
    this.#removeReady(group, orgId);
    return { orgId, commands };
  }

  #removeReady(group: number, orgId: string): void {
    const ready = this.#ready.get(group);
    ready?.delete(orgId);
    if (ready?.size === 0) {
      this.#ready.delete(group);
    }
  }

  async #run(group: number, batch: readonly QueuedOrg<Run>[]): Promise<void> {
    const [only] = batch;
    this.#countBatch(group, 1);
    if (batch.length === 1 && only !== undefined) {
      await this.#runAlone(only);
      this.#countBatch(group, -1);
    } else {
      const locked = await this.#executor.executeFree(batch);
      this.#countBatch(group, -1);
      this.#finish(batch, locked);
      void this.#runLocked(locked);
    }
    this.#schedule();
  }

  /** Executes orgs that were locked. Not counted as a batch, because it may wait for locks. */
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
      if ((this.#waiting.get(orgId)?.length ?? 0) > 0) {
        this.#makeReady(orgId);
      } else {
        this.#waiting.delete(orgId);
      }
    }
  }
}

function isSmall<Run>({ commands }: QueuedOrg<Run>): boolean {
  return commands.reduce((sum, { command }) => sum + sizeOf(command), 0) <= smallSize;
}
