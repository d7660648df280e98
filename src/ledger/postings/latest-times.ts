/** The latest times in a ledger, from which its clock continues. */
import type { Queryable } from '../../platform/db/database.ts';

/** Returns the time of the latest posting after `now`, in milliseconds; 0 if there is none. */
export async function findLatestPosting(db: Queryable, now: Date): Promise<number> {
  const [row] = await db.query<{ latest: Date | null }>(
    'SELECT max(charged_at) AS latest FROM ledger_entries WHERE charged_at > $1',
    [now],
  );
  return row?.latest?.getTime() ?? 0;
}

/** Returns the last persisted time of the org that is furthest ahead, in milliseconds; 0 if there is none. */
export async function readLastTime(db: Queryable): Promise<number> {
  const [row] = await db.query<{ last: Date | null }>('SELECT max(last_at) AS last FROM ledger_orgs', []);
  return row?.last?.getTime() ?? 0;
}
