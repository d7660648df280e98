/**
 * Decides batches of finished runs as if none of their `external_id`s existed. Most runs are new, and the lookup costs a round
 * trip. If a run exists after all, the unique index of `run_identities` rejects the transaction. If a group is denied, the
 * transaction is aborted too, because an existing run would not have been denied. In both cases the caller decides the batch again
 * with a lookup. The next batches use a lookup as well, because existing runs rarely come alone.
 */
import { isUniqueViolation } from '../../platform/db/database.ts';
import { type GroupResult, isPlainCharge, type PostingGroup } from '../posting.ts';

/** Name of the unique index of `run_identities` on the `external_id`s of an org. */
const externalIdsIndex = 'run_identities_external';
/** Number of batches with a lookup after a wrong assumption. So at most one batch in a hundred is decided twice. */
const batchesToRead = 100;

/** A group with `external_id`s was rejected without a lookup of its runs. */
class RunsMayExist extends Error {}

export class NewRunsAssumption {
  #batchesToRead = 0;

  /** Returns true if the next batch can be decided without a lookup of its runs. */
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
