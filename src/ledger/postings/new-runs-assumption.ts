/**
 * Batches of finished runs are decided as if none of their `external_id`s existed, since most runs are new and reading costs a
 * round trip in which the database does nothing else. If a run exists, the unique index of `run_identities` refuses the
 * transaction. If a group is rejected, the transaction is given up too, since a run that exists is not rejected. Either way the
 * caller decides the batch again, after reading, and the next batches are read as well: known runs rarely come alone.
 */
import { isUniqueViolation } from '../../platform/db/database.ts';
import { type GroupResult, isPlainCharge, type PostingGroup } from '../posting.ts';

/** The unique index of `run_identities` on the `external_id`s of an org. */
const externalIdsIndex = 'run_identities_external';
/** Batches that are read after one that was decided wrongly: what is decided twice is at most a hundredth. */
const batchesToRead = 100;

/** A group with `external_id`s was rejected without looking for its runs. */
class RunsMayExist extends Error {}

export class NewRunsAssumption {
  #batchesToRead = 0;

  /** Returns true if the next batch is to be decided without reading its runs. */
  appliesTo(groups: readonly PostingGroup[]): boolean {
    if (this.#batchesToRead > 0) {
      this.#batchesToRead -= 1;
      return false;
    }
    return groups.every(isPlainCharge);
  }

  /** Returns true if a batch failed because of the assumption. */
  hasFailed(error: unknown): boolean {
    const isWrong = error instanceof RunsMayExist || isUniqueViolation(error, externalIdsIndex);
    if (isWrong) {
      this.#batchesToRead = batchesToRead;
    }
    return isWrong;
  }
}

/** Throws if a result depends on the assumption. */
export function requireAccepted<Run>(results: ReadonlyMap<PostingGroup<Run>, GroupResult<Run>>): void {
  for (const [{ postings }, { kind }] of results) {
    if (kind !== 'done' && postings.some(({ externalId }) => externalId !== null)) {
      throw new RunsMayExist('runs of a rejected group may exist');
    }
  }
}
