/** Reads the identity of the server behind a connection: primary or standby, its timeline, and whether a pooler is in between. */
import pg from 'pg';

export interface ServerIdentity {
  readonly isStandby: boolean;
  /** True on a standby, and on a primary whose transactions are read-only by default. */
  readonly isReadOnly: boolean;
  /** Identifier that a primary shares with its standbys. Undefined if the role may not read it. */
  readonly systemId: string | undefined;
  /** Incremented by every promotion. Undefined on a standby, or if the role may not read it. */
  readonly timeline: number | undefined;
  /** Start time of the server, which distinguishes two servers of the same system. */
  readonly startedAt: string;
  /** True if a pooler answered the connection, so that statements may run on different server connections. */
  readonly isPooled: boolean;
}

interface IdentityRow {
  readonly is_standby: boolean;
  readonly is_read_only: boolean;
  readonly backend_pid: number;
  readonly started_at: string;
  readonly system_id?: string;
  readonly timeline?: number | null;
}

/**
 * SQL for the timeline at which WAL is written now: the first eight hexadecimal digits of the WAL file's name. The control file
 * would have the previous timeline until the first checkpoint after a promotion. NULL on a standby.
 */
export const timelineSql = `CASE WHEN pg_is_in_recovery() THEN NULL
  ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END`;

const basicColumns = `pg_is_in_recovery() AS is_standby,
  current_setting('transaction_read_only') = 'on' AS is_read_only,
  pg_backend_pid() AS backend_pid, pg_postmaster_start_time()::text AS started_at`;

const identitySql = `SELECT ${basicColumns},
  (SELECT system_identifier::text FROM pg_control_system()) AS system_id, ${timelineSql} AS timeline`;

export async function readIdentity(client: pg.ClientBase): Promise<ServerIdentity> {
  const row = await readRow(client);
  return {
    isStandby: row.is_standby,
    isReadOnly: row.is_read_only,
    systemId: row.system_id,
    timeline: row.timeline ?? undefined,
    startedAt: row.started_at,
    // The server sends its process id when the connection opens. A pooler sends a number of its own.
    isPooled: (client as pg.ClientBase & { processID: number }).processID !== row.backend_pid,
  };
}

/** Managed services may forbid the functions for WAL and the control file, or not have them. */
const notAllowed = new Set(['42501', '42883', '0A000']);

async function readRow(client: pg.ClientBase): Promise<IdentityRow> {
  const read = async (sql: string) => {
    const { rows } = await client.query<IdentityRow>(sql);
    const [row] = rows;
    if (row === undefined) {
      throw new Error('the server did not describe itself');
    }
    return row;
  };
  try {
    return await read(identitySql);
  } catch (error) {
    if (error instanceof pg.DatabaseError && notAllowed.has(error.code ?? '')) {
      return read(`SELECT ${basicColumns}`);
    }
    throw error;
  }
}
