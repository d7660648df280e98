/** PostgreSQL 15+ behind a pool with bounded connections, bounded waiting callers and bounded time. */
import pg from 'pg';
import type { Log } from '../../log.ts';
import { OverCapacity } from '../../service-unavailable.ts';
import {
  type Database,
  DatabaseUnavailable,
  type Queryable,
  retryTransaction,
  stateMeansUnavailable,
  type TransactionOptions,
} from '../database.ts';
import { LocalNotifications, runTransaction } from '../transaction.ts';
import { toText, types } from '../wire/values.ts';
import { ChangeListener } from './change-listener.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly connections: number;
  readonly log: Log;
  /** Maximum time that a caller waits for a connection. */
  readonly waitMsMax?: number;
}

const waitingCallersMax = 1_000;
const statementTimeoutMs = 5_000;
/** Longer than the server's own timeout: only fires if the server or the network does not respond at all. */
const silenceTimeoutMs = 7_000;

export async function openPostgres({
  url,
  connections,
  log,
  waitMsMax = 3_000,
}: PostgresOptions): Promise<Database> {
  const settings: pg.ClientConfig = {
    connectionString: url,
    types,
    connectionTimeoutMillis: waitMsMax,
    statement_timeout: statementTimeoutMs,
    query_timeout: silenceTimeoutMs,
    // Statements are sent without waiting for the results of earlier ones.
    pipeline: true,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    application_name: 'purser',
  };
  const pool = new pg.Pool({ ...settings, max: connections, idleTimeoutMillis: 30_000 });
  // The pool replaces a lost idle connection on the next use; without a listener the error would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'idle database connection lost'));

  const listeners = new LocalNotifications();
  const changeListener = new ChangeListener(settings, listeners, log);

  async function withConnection<Result>(
    use: (connection: Queryable) => Promise<Result>,
    { patient = false }: TransactionOptions = {},
  ): Promise<Result> {
    if (pool.waitingCount >= waitingCallersMax) {
      throw new OverCapacity('too many callers are waiting for a database connection');
    }
    let client: pg.PoolClient;
    try {
      client = await pool.connect();
    } catch (error) {
      throw asUnavailable(error);
    }
    let broken = false;
    // A connection may be lost between two statements; without a listener the error would end the process.
    const lost = (error: Error) => {
      broken = true;
      log.warn({ err: error }, 'database connection lost while in use');
    };
    client.on('error', lost);
    const connection: Queryable = {
      async query<Row extends object>(sql: string, params?: readonly unknown[]) {
        if (broken) {
          throw new DatabaseUnavailable('the connection was lost');
        }
        try {
          const result = await client.query(queryConfig(sql, params, patient));
          return result.rows as Row[];
        } catch (error) {
          if (isConnectionError(error)) {
            broken = true;
            throw asUnavailable(error);
          }
          throw error;
        }
      },
    };
    try {
      return await use(connection);
    } finally {
      client.off('error', lost);
      client.release(broken);
    }
  }

  await withConnection((connection) => connection.query('SELECT 1'));
  await changeListener.start();
  let closing: Promise<void> | undefined;

  return {
    engine: 'postgres',
    query: (sql, params) => withConnection((connection) => connection.query(sql, params)),
    transaction: (work, options) =>
      retryTransaction(() =>
        withConnection(
          (connection) =>
            runTransaction(
              {
                connection,
                // If `pg` cannot encode a value, it does not throw but rejects later, and the server sees no failed
                // statement: a COMMIT that is already sent would commit the rest.
                sendsAtOnce: false,
                sendNotification: async (on, { channel, payload }) => {
                  await on.query('SELECT pg_notify($1, $2)', [channel, payload]);
                },
                deliverNotification: (notification) => listeners.deliver(notification),
              },
              async (tx) => {
                if (options?.patient === true) {
                  await tx.query('SET LOCAL statement_timeout = 0');
                }
                return work(tx);
              },
            ),
          options,
        ),
      ),
    listen(channel, listener) {
      listeners.add(channel, listener);
      changeListener.channelAdded();
    },
    notificationsHealthy: () => changeListener.isHealthy(),
    stats: () => ({ connections: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close() {
      closing ??= changeListener.stop().then(() => pool.end());
      return closing;
    },
  };
}

/**
 * Names of prepared statements, so that a connection parses each statement once. Most texts are fixed; those of
 * lists vary with their filters, so beyond `namesMax` statements are not prepared.
 */
const names = new Map<string, string>();
const namesMax = 400;

function statementName(sql: string): string | undefined {
  const known = names.get(sql);
  if (known !== undefined || names.size >= namesMax) {
    return known;
  }
  const name = `purser_${names.size}`;
  names.set(sql, name);
  return name;
}

/** A text without parameters may contain several statements. */
function queryConfig(sql: string, params: readonly unknown[] | undefined, patient: boolean): pg.QueryConfig {
  const name = params === undefined ? undefined : statementName(sql);
  return {
    text: sql,
    ...(name !== undefined && { name }),
    ...(params !== undefined && { values: params.map(encoded) }),
    // The longest possible timer; zero would mean the connection's own timeout.
    ...(patient && { query_timeout: 2_147_483_647 }),
  };
}

/**
 * Throws before anything is sent if a value cannot be encoded. `pg` would encode it after the statement, close the statement on the
 * server, and still use it later.
 */
function encoded(value: unknown): Uint8Array | string | null {
  return value instanceof Uint8Array ? value : toText(value);
}

/** SQLSTATE: a migration changed the columns of a prepared statement. A new connection prepares it again. */
const stalePlan = '0A000';

/** Errors without an SQLSTATE of the server come from the connection, unless they are bugs of ours. */
function isConnectionError(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    return stateMeansUnavailable(error.code ?? '') || error.code === stalePlan;
  }
  return error instanceof Error && !(error instanceof TypeError) && !(error instanceof RangeError);
}

function asUnavailable(error: unknown): DatabaseUnavailable {
  return new DatabaseUnavailable(error instanceof Error ? error.message : String(error), { cause: error });
}
