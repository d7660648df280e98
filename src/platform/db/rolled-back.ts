/** Dry runs: work in a transaction that is never committed. */
import type { Database, Transaction } from './database.ts';

/** Carries the result of a transaction out of its rollback. */
class RolledBack<Result> extends Error {
  readonly result: Result;

  constructor(result: Result) {
    super('rolled back');
    this.result = result;
  }
}

/** Returns what `work` returns, and undoes its changes. */
export async function rolledBack<Result>(
  db: Database,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  try {
    return await db.transaction(async (tx) => {
      throw new RolledBack(await work(tx));
    });
  } catch (error) {
    if (error instanceof RolledBack) {
      return error.result;
    }
    throw error;
  }
}
