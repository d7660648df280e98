/**
 * Queue of postings. Postings that arrive while a batch is in progress share the next batch. Orgs take turns (`TurnOrder`), so that
 * an org with few postings does not wait for all postings of the others.
 */
import { FairShare } from '../../platform/fair-share.ts';
import { OverCapacity } from '../../platform/service-unavailable.ts';
import { TurnOrder } from '../../platform/turn-order.ts';
import type { GroupResult, PostingGroup } from '../posting.ts';

/** Maximum postings per transaction, because a transaction blocks all others. A larger group gets a separate transaction. */
const postingsPerBatch = 2_000;
/** Maximum orgs per transaction. Each org has its own counters and usage rows, so many orgs make a long transaction. */
const orgsPerBatch = 16;
const waitingGroupsMax = 20_000;

export interface WaitingGroup<Run> {
  readonly group: PostingGroup<Run>;
  resolve(result: GroupResult<Run>): void;
  reject(error: unknown): void;
}

interface NextBatch<Run> {
  readonly batch: WaitingGroup<Run>[];
  /** Number of groups taken from each org. */
  readonly takenOf: ReadonlyMap<string, number>;
}

export class PostingQueue<Run> {
  readonly #postBatch: (waiting: readonly WaitingGroup<Run>[]) => Promise<void>;
  readonly #places: FairShare;
  readonly #waiting = new Map<string, WaitingGroup<Run>[]>();
  readonly #order = new TurnOrder();
  #working: Promise<void> | undefined;

  /** `postBatch` must resolve or reject every group in all cases. */
  constructor(
    postBatch: (waiting: readonly WaitingGroup<Run>[]) => Promise<void>,
    groupsMax = waitingGroupsMax,
  ) {
    this.#postBatch = postBatch;
    this.#places = new FairShare({ capacity: groupsMax });
  }

  get size(): number {
    return this.#places.used;
  }

  add(group: PostingGroup<Run>): Promise<GroupResult<Run>> {
    const { orgId } = group;
    if (!this.#places.tryTake(orgId)) {
      return Promise.reject(new OverCapacity('too many postings are queued'));
    }
    return new Promise((resolve, reject) => {
      const waiting = { group, resolve, reject };
      const queue = this.#waiting.get(orgId);
      if (queue === undefined) {
        this.#waiting.set(orgId, [waiting]);
      } else {
        queue.push(waiting);
      }
      this.#working ??= this.#work();
    });
  }

  async idle(): Promise<void> {
    await this.#working;
  }

  /** Takes the next batch if all of its groups are acceptable; otherwise returns undefined. */
  takeIf(isAcceptable: (group: PostingGroup<Run>) => boolean): WaitingGroup<Run>[] | undefined {
    const next = this.#compose();
    return next.batch.length > 0 && next.batch.every(({ group }) => isAcceptable(group))
      ? this.#take(next)
      : undefined;
  }

  async #work(): Promise<void> {
    // Groups that arrive in the same turn of the event loop join the batch.
    await new Promise(setImmediate);
    while (this.#waiting.size > 0) {
      await this.#postBatch(this.#take(this.#compose()));
    }
    this.#working = undefined;
    this.#order.clear();
  }

  /** Composes the next batch from the orgs whose turn it is: one group of each org per round, and the groups of an org in their order. */
  #compose(): NextBatch<Run> {
    const batch: WaitingGroup<Run>[] = [];
    const takenOf = new Map<string, number>();
    let postings = 0;
    let orgs = this.#dueOrgs();
    for (let turn = 0; orgs.length > 0 && postings <= postingsPerBatch; turn += 1) {
      for (const [orgId, queue] of orgs) {
        const next = queue[turn] as WaitingGroup<Run>;
        postings += next.group.postings.length;
        if (batch.length > 0 && postings > postingsPerBatch) {
          break;
        }
        batch.push(next);
        takenOf.set(orgId, turn + 1);
      }
      orgs = orgs.filter(([, queue]) => queue.length > turn + 1);
    }
    return { batch, takenOf };
  }

  #take({ batch, takenOf }: NextBatch<Run>): WaitingGroup<Run>[] {
    for (const [orgId, taken] of takenOf) {
      this.#order.count(orgId);
      this.#remove(orgId, taken);
    }
    return batch;
  }

  /** Returns the orgs whose turn it is, with their waiting groups. */
  #dueOrgs(): [string, WaitingGroup<Run>[]][] {
    const orgIds = this.#waiting.size > 1 ? this.#order.sorted(this.#waiting.keys()) : this.#waiting.keys();
    return [...orgIds].slice(0, orgsPerBatch).map((orgId) => [orgId, this.#waiting.get(orgId) ?? []]);
  }

  /** Removes the first groups of an org. Its remaining groups move behind the other orgs. */
  #remove(orgId: string, groups: number): void {
    const queue = this.#waiting.get(orgId) as WaitingGroup<Run>[];
    this.#places.release(orgId, groups);
    this.#waiting.delete(orgId);
    if (groups < queue.length) {
      queue.splice(0, groups);
      this.#waiting.set(orgId, queue);
    }
  }
}
