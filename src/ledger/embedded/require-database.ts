import { type Database, DatabaseUnavailable } from '../../platform/db/database.ts';

/**
 * Throws while the database is unavailable. The state in memory would suffice for a decision, but the hold could not be settled,
 * and limits could not be changed.
 */
export function requireDatabase(db: Database): void {
  if (db.stats().connections === 0) {
    throw new DatabaseUnavailable('the database is unavailable');
  }
}
