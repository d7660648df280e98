/** The latest posting that a wrong clock has dated ahead of now. */
import type { Queryable } from '../../platform/db/database.ts';

/** Returns the time of the latest posting after `now`, in milliseconds; 0 if there is none. */
export async function findLatestPosting(db: Queryable, now: Date): Promise<number> {
  const [row] = await db.query<{ latest: Date | null }>(
    'SELECT max(charged_at) AS latest FROM ledger_entries WHERE charged_at > $1',
    [now],
  );
  return row?.latest?.getTime() ?? 0;
}
