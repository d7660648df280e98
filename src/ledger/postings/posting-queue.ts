/** Queue of postings. Postings that arrive while a batch is in progress share the next batch. */
import { OverCapacity } from '../../platform/service-unavailable.ts';
import type { GroupResult, PostingGroup } from '../posting.ts';

/**
 * Maximum postings per transaction, because a transaction blocks all others. A larger group gets a transaction of
 * its own.
 */
const postingsPerBatch = 2_000;
const waitingGroupsMax = 20_000;

export interface WaitingGroup<Run> {
  readonly group: PostingGroup<Run>;
  resolve(result: GroupResult<Run>): void;
  reject(error: unknown): void;
}

export class PostingQueue<Run> {
  readonly #postBatch: (waiting: readonly WaitingGroup<Run>[]) => Promise<void>;
  #waiting: WaitingGroup<Run>[] = [];
  #working: Promise<void> | undefined;

  /** `postBatch` must resolve or reject every group, whatever happens. */
  constructor(postBatch: (waiting: readonly WaitingGroup<Run>[]) => Promise<void>) {
    this.#postBatch = postBatch;
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(group: PostingGroup<Run>): Promise<GroupResult<Run>> {
    if (this.#waiting.length >= waitingGroupsMax) {
      return Promise.reject(new OverCapacity('too many postings are queued'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ group, resolve, reject });
      this.#working ??= this.#work();
    });
  }

  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    // Groups that arrive in the same turn of the event loop join the batch.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      await this.#postBatch(this.#nextBatch());
    }
    this.#working = undefined;
  }

  #nextBatch(): WaitingGroup<Run>[] {
    let postings = 0;
    let groups = 0;
    for (const { group } of this.#waiting) {
      postings += group.postings.length;
      if (groups > 0 && postings > postingsPerBatch) {
        break;
      }
      groups += 1;
    }
    return this.#waiting.splice(0, groups);
  }
}
