/** Reports statements that fail because the database cannot write at all, such as on a full disk, or cannot be reached. */
import { type Database, DatabaseUnavailable, sqlStateOf } from './database.ts';

/** SQLSTATEs: a read-only transaction, a full disk, an I/O error. */
const unwritableStates = new Set(['25006', '53100', '58030']);

/** Returns true if no statement can write. A lost connection or a timeout does not count, because it may affect only one statement. */
export function meansUnwritable(error: unknown): boolean {
  const { code } = (error instanceof DatabaseUnavailable ? (error.cause ?? {}) : {}) as { code?: unknown };
  return unwritableStates.has(sqlStateOf(error) ?? '') || code === 'ECONNREFUSED';
}

export function watchWrites(db: Database, onUnwritable: (error: unknown) => void): Database {
  async function watched<Result>(use: () => Promise<Result>): Promise<Result> {
    try {
      return await use();
    } catch (error) {
      if (meansUnwritable(error)) {
        onUnwritable(error);
      }
      throw error;
    }
  }
  const { insertRows } = db;
  return {
    ...db,
    query: (sql, params) => watched(() => db.query(sql, params)),
    ...(insertRows !== undefined && {
      insertRows: (table, columns, rows) => watched(() => insertRows(table, columns, rows)),
    }),
    transaction: (work, options) => watched(() => db.transaction(work, options)),
  };
}
