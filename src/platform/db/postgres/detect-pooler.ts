/**
 * Detects a pooler such as PgBouncer between this process and PostgreSQL. A pooler accepts a connection with a process id of its
 * own. In transaction mode it hands the server connection, including its session settings, to the next client.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';

export type Pooler = 'none' | 'session' | 'transaction';

const connectWithinMs = 5_000;
/** A session setting that only this module uses. */
const marker = 'purser.doctor';

export async function detectPooler(url: string): Promise<Pooler> {
  const settings: pg.ClientConfig = {
    connectionString: url,
    connectionTimeoutMillis: connectWithinMs,
    query_timeout: connectWithinMs,
  };
  const one = new pg.Client(settings);
  const other = new pg.Client(settings);
  try {
    await Promise.all([one.connect(), other.connect()]);
    if ((await backendPid(one)) === reportedPid(one)) {
      return 'none';
    }
    const token = randomUUID();
    await one.query('SELECT set_config($1, $2, false)', [marker, token]);
    const { rows } = await other.query('SELECT current_setting($1, true) AS seen', [marker]);
    await one.query(`SELECT set_config($1, '', false)`, [marker]);
    return rows[0]?.seen === token ? 'transaction' : 'session';
  } finally {
    await Promise.allSettled([one.end(), other.end()]);
  }
}

async function backendPid(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}

/** Returns the process id that the server or the pooler reported for this connection. The type declaration lacks it. */
function reportedPid(client: pg.Client): number {
  return (client as pg.Client & { readonly processID: number }).processID;
}
