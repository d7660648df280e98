import type { Queryable } from '../../src/platform/db/database.ts';
import { isCitus } from './test-database.ts';

const onOneServer = `SELECT count(*) AS count FROM pg_stat_activity
   WHERE datname = current_database() AND wait_event_type = 'Lock'`;
/** On a cluster most statements wait on a worker, not on the coordinator. */
const onCluster = 'SELECT count(DISTINCT waiting_gpid) AS count FROM citus_lock_waits';

/** Returns how many statements on a PostgreSQL database wait for a lock of another transaction. */
export async function waitingForLocks(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: bigint }>(isCitus ? onCluster : onOneServer);
  return Number(row?.count);
}
