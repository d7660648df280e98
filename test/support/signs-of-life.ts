/** On PostgreSQL a process hears of changes on one connection, which it asks for a sign of life several times a second. */
import pg from 'pg';
import { expect } from 'vitest';
import { eventually } from './eventually.ts';
import type { Place } from './test-database.ts';

/** The settings of a process whose connections can be told from those of others in `pg_stat_activity`. */
export function namedOn({ databaseUrl }: Place, applicationName: string): Record<string, string> {
  return { SVC_DATABASE_URL: `${databaseUrl}?application_name=${applicationName}` };
}

/** A sign of life that was asked for after this moment of the database; the latest, if there are several. */
const newestSince = `SELECT query_start::text AS asked_at FROM pg_stat_activity
  WHERE application_name = $1 AND query = 'SELECT 1' AND query_start > $2::timestamptz
  ORDER BY query_start DESC LIMIT 1`;

/**
 * Resolves when the process has heard of all that was committed before the call. The notifications of it come with the answer to
 * the first question asked since at the latest, and that answer was read when the second question is asked.
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
        expect(found, 'signs of life').toHaveLength(1);
        return found[0]?.asked_at;
      });
    }
  });
}

/** Ends the one backend on which the process listens, and no other of it. */
export function cutNotifications(place: Place, applicationName: string): Promise<void> {
  return withClient(place, async (client) => {
    await eventually(async () => {
      const { rows } = await client.query(
        `SELECT pg_terminate_backend(pid) AS done FROM pg_stat_activity
          WHERE application_name = $1 AND query = 'SELECT 1'`,
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
