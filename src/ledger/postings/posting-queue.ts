/** Posting that wait for each other: those that come while a batch is under way share the next one. */
import { DatabaseUnavailable } from '../../platform/db/database.ts';
import type { GroupResult, PostingGroup } from '../posting.ts';

/** A transaction holds up everyone else, so it takes no more than this; a larger group has one of its own. */
const postingsPerBatch = 2_000;
const waitingGroupsMax = 20_000;

export interface WaitingGroup<Run> {
  readonly group: PostingGroup<Run>;
  resolve(result: GroupResult<Run>): void;
  reject(error: unknown): void;
}

export class PostingQueue<Run> {
  readonly #bookBatch: (waiting: readonly WaitingGroup<Run>[]) => Promise<void>;
  #waiting: WaitingGroup<Run>[] = [];
  #working: Promise<void> | undefined;

  /** What books a batch settles every group in it, whatever happens. */
  constructor(bookBatch: (waiting: readonly WaitingGroup<Run>[]) => Promise<void>) {
    this.#bookBatch = bookBatch;
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(group: PostingGroup<Run>): Promise<GroupResult<Run>> {
    if (this.#waiting.length >= waitingGroupsMax) {
      return Promise.reject(new DatabaseUnavailable('too many postings are waiting'));
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
    // What arrives in the same turn of the event loop goes along.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      await this.#bookBatch(this.#nextBatch());
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
