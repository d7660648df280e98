/**
 * On PostgreSQL a process receives change notifications on one connection. Several times a second it sends itself a
 * ping, a notification, from a second connection.
 */
import pg from 'pg';
import { expect } from 'vitest';
import { eventually } from './eventually.ts';
import type { Place } from './test-database.ts';

/** Returns settings that give the connections of a process a name in `pg_stat_activity`. */
export function namedOn({ databaseUrl }: Place, applicationName: string): Record<string, string> {
  return { SVC_DATABASE_URL: `${databaseUrl}?application_name=${applicationName}` };
}

/** Finds the newest ping that was sent after this time of the database. */
const newestSince = `SELECT query_start::text AS asked_at FROM pg_stat_activity
  WHERE application_name = $1 AND query LIKE '%NOTIFY purser_ping%' AND query_start > $2::timestamptz
  ORDER BY query_start DESC LIMIT 1`;

/**
 * Resolves when the process has received the notifications of everything that was committed before the call. They
 * arrive before the next ping, and that ping has arrived when the one after it is sent.
 */
export function untilHeard(place: Place, applicationName: string): Promise<void> {
  return withClient(place, async (client) => {
    const { rows } = await client.query<{ now: string }>('SELECT clock_timestamp()::text AS now');
    let since = rows[0]?.now;
    for (let question = 1; question <= 2; question += 1) {
      since = await eventually(async () => {
        const { rows: found } = await client.query<{ asked_at: string }>(newestSince, [
          applicationName,
          since,
        ]);
        expect(found, 'pings').toHaveLength(1);
        return found[0]?.asked_at;
      });
    }
  });
}

/** Ends only the backend on which the process listens for notifications. */
export function cutNotifications(place: Place, applicationName: string): Promise<void> {
  return withClient(place, async (client) => {
    await eventually(async () => {
      const { rows } = await client.query(
        `SELECT pg_terminate_backend(pid) AS done FROM pg_stat_activity
          WHERE application_name = $1 AND query LIKE 'LISTEN %'`,
        [applicationName],
      );
      expect(rows).toEqual([{ done: true }]);
    });
  });
}

async function withClient(place: Place, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client(place.databaseUrl);
  await client.connect();
  try {
    await use(client);
  } finally {
    await client.end();
  }
}
