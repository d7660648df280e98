/** PostgreSQL 15+ behind a pool: bounded in connections, in callers that wait for one, and in time. */
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
import { types } from '../wire/values.ts';
import { ChangeListener } from './change-listener.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly connections: number;
  readonly log: Log;
  /** How long a caller waits for a connection before the database counts as unavailable. */
  readonly waitMsMax?: number;
}

const waitingCallersMax = 1_000;
const statementTimeoutMs = 5_000;
/** Above the server's own timeout: it only fires when the server or the network says nothing at all. */
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
    // Statements that are asked for together are sent together, without waiting for each answer.
    pipeline: true,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    application_name: 'purser',
  };
  const pool = new pg.Pool({ ...settings, max: connections, idleTimeoutMillis: 30_000 });
  // An idle connection that dies is replaced on the next use; without a listener it would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'));

  const board = new LocalNotifications();
  const notices = new ChangeListener(settings, board, log);

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
    // A connection may die between two statements; without a listener that would end the process.
    const lost = (error: Error) => {
      broken = true;
      log.warn({ err: error }, 'a database connection was lost while in use');
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
          if (isConnectionFault(error)) {
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
  await notices.start();
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
                // Its client encodes a statement when the one before is answered, and may fail then.
                sendsAtOnce: false,
                sendNotice: async (on, { channel, payload }) => {
                  await on.query('SELECT pg_notify($1, $2)', [channel, payload]);
                },
                deliverNotice: (notice) => board.deliver(notice),
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
      board.add(channel, listener);
      notices.channelAdded();
    },
    notificationsHealthy: () => notices.areCurrent(),
    stats: () => ({ connections: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close() {
      closing ??= notices.stop().then(() => pool.end());
      return closing;
    },
  };
}

/**
 * Statements get a name, so that a connection parses and plans each of them once. The texts are ours and few; those of
 * lists vary with their filters, so that beyond some number the rest goes without.
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

/** Without parameters a text may hold several statements. */
function queryConfig(sql: string, params: readonly unknown[] | undefined, patient: boolean): pg.QueryConfig {
  const name = params === undefined ? undefined : statementName(sql);
  return {
    text: sql,
    ...(name !== undefined && { name }),
    ...(params !== undefined && { values: [...params] }),
    // The longest that a timer can wait; zero would mean the connection's own limit.
    ...(patient && { query_timeout: 2_147_483_647 }),
  };
}

/** A migration changed what a prepared statement answers; a new connection prepares it anew. */
const stalePlan = '0A000';

/** Errors that do not come from the server as an SQLSTATE come from the connection, unless they are our own bug. */
function isConnectionFault(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    return stateMeansUnavailable(error.code ?? '') || error.code === stalePlan;
  }
  return error instanceof Error && !(error instanceof TypeError) && !(error instanceof RangeError);
}

function asUnavailable(error: unknown): DatabaseUnavailable {
  return new DatabaseUnavailable(error instanceof Error ? error.message : String(error), { cause: error });
}
