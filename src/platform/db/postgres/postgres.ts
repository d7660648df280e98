/** PostgreSQL 15+ behind a pool with bounded connections, bounded waiting callers and bounded time. */
import pg from 'pg';
import type { Log } from '../../log.ts';
import { OverCapacity } from '../../service-unavailable.ts';
import { openTenantGroups } from '../citus/tenant-groups.ts';
import {
  type Database,
  DatabaseUnavailable,
  type Queryable,
  retryTransaction,
  type TransactionOptions,
} from '../database.ts';
import { beginStatement, LocalNotifications, runTransaction } from '../transaction.ts';
import { types } from '../wire/values.ts';
import { ChangeListener, type NotificationConnections } from './change-listener.ts';
import { asUnavailable, isConnectionError, isErrorOfOtherServer } from './connection-errors.ts';
import { Connector, formerPrimaryState, type PoolerMode } from './connector.ts';
import { parseDatabaseUrl } from './database-url.ts';
import { PrimaryFinder } from './primary-finder.ts';
import { queryConfig } from './statements.ts';
import { TimelineGuard } from './timeline-guard.ts';

export interface PostgresOptions {
  readonly url: string;
  /** Direct connection for notifications, if `url` leads to a pooler that pools transactions. */
  readonly listenUrl?: string | undefined;
  readonly pooler?: PoolerMode;
  readonly connections: number;
  readonly log: Log;
  /** Stores the newest timeline of the database. Undefined: a restart forgets it. */
  readonly timelineFile?: string;
  /** Maximum time that a caller waits for a connection. */
  readonly waitMsMax?: number;
  /** Maximum time without a response. Longer than the server's own timeout: fires if the server or the network is silent. */
  readonly silenceMsMax?: number;
}

const waitingCallersMax = 1_000;
const notificationTimeoutMs = 2_000;
const sessionDefaults = { statement_timeout: '5000', idle_in_transaction_session_timeout: '30000' };

export async function openPostgres({
  url: urlText,
  listenUrl,
  pooler = 'auto',
  connections,
  log,
  timelineFile,
  waitMsMax = 3_000,
  silenceMsMax = 7_000,
}: PostgresOptions): Promise<Database> {
  const settings: pg.ClientConfig = {
    types,
    connectionTimeoutMillis: waitMsMax,
    query_timeout: silenceMsMax,
    // Statements are sent without waiting for the results of earlier ones.
    pipeline: true,
    keepAlive: true,
    application_name: 'purser',
  };
  const url = parseDatabaseUrl(urlText);
  const guard = new TimelineGuard({ file: timelineFile, log });
  const finder = new PrimaryFinder({ url, settings, guard, log });
  const shared = { settings, guard, session: sessionDefaults };
  const connector = new Connector({ ...shared, url, pooler });
  const pool = new pg.Pool({
    ...settings,
    max: connections,
    idleTimeoutMillis: 30_000,
    // The pool creates each connection when it is needed, to the host that is the primary then.
    Client: class extends pg.Client {
      constructor(config?: pg.ClientConfig) {
        super({ ...config, connectionString: finder.current.url });
      }
    },
    onConnect: (client) => connector.prepare(client),
  });
  // The pool replaces a lost idle connection on the next use; without a listener the error would end the process.
  // Only the message: the pool adds the whole connection to the error.
  pool.on('error', ({ message }) => log.warn({ reason: message }, 'idle database connection lost'));

  // The pool removes its own listener when it hands out a connection. An error that arrives in the same packet as the end of
  // the handshake, such as the termination of the backend, comes before that of `withConnection` and would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));

  const listeners = new LocalNotifications();
  const changeListener = new ChangeListener(notificationConnections(), listeners, log);

  function notificationConnections(): NotificationConnections {
    const short = { connectionTimeoutMillis: notificationTimeoutMs, query_timeout: notificationTimeoutMs };
    const direct = listenUrl === undefined ? undefined : parseDatabaseUrl(listenUrl);
    const listenConnector =
      direct === undefined ? connector : new Connector({ ...shared, url: direct, pooler: 'auto' });
    return {
      openListener: () => listenConnector.open(direct?.hosts ?? [finder.current], short),
      openSender: () => connector.open([finder.current], short),
      explainMissing(listener) {
        if (listenConnector.preparedOf(listener).isPooled) {
          return direct === undefined
            ? 'SVC_DATABASE_URL leads to a pooler that does not deliver notifications; set SVC_DATABASE_LISTEN_URL to a direct connection'
            : 'SVC_DATABASE_LISTEN_URL leads to a pooler that does not deliver notifications; set it to a direct connection';
        }
        return direct === undefined
          ? 'a notification did not arrive in time'
          : 'a notification did not arrive in time; SVC_DATABASE_LISTEN_URL must lead to the same database as SVC_DATABASE_URL';
      },
    };
  }

  /** Returns a connection to the present primary; searches it once if the host in use cannot be reached. */
  async function acquire(): Promise<pg.PoolClient> {
    for (let hasSearched = false; ; ) {
      if (finder.rivalry !== undefined) {
        throw new DatabaseUnavailable(finder.rivalry);
      }
      let client: pg.PoolClient;
      try {
        client = await pool.connect();
      } catch (error) {
        if (hasSearched || !finder.hasSeveralHosts || isPoolBusy(error)) {
          throw asUnavailable(error);
        }
        hasSearched = true;
        await finder.find();
        continue;
      }
      if (guard.isCurrent(connector.preparedOf(client).timeline)) {
        return client;
      }
      client.release(true);
    }
  }

  async function withConnection<Result>(
    use: (connection: Queryable, pooledTransactions: boolean) => Promise<Result>,
    { patient = false }: TransactionOptions = {},
  ): Promise<Result> {
    if (pool.waitingCount >= waitingCallersMax) {
      throw new OverCapacity('too many callers are waiting for a database connection');
    }
    const client = await acquire();
    const prepared = connector.preparedOf(client);
    const options = { patient, prepared: !prepared.pooledTransactions };
    let broken = false;
    // A connection may be lost between two statements; without a listener the error would end the process.
    const lost = (error: Error) => {
      broken = true;
      log.warn({ reason: error.message }, 'database connection lost while in use');
    };
    client.on('error', lost);
    const connection: Queryable = {
      async query<Row extends object>(sql: string, params?: readonly unknown[]) {
        // Also before COMMIT: another connection may have met a newer timeline meanwhile.
        if (!guard.isCurrent(prepared.timeline) || finder.rivalry !== undefined) {
          broken = true;
          throw new DatabaseUnavailable(finder.rivalry ?? 'the server is no longer the primary');
        }
        if (broken) {
          throw new DatabaseUnavailable('the connection was lost');
        }
        const config = queryConfig(sql, params, options);
        try {
          const result = await client.query(config);
          if (prepared.unreplicated) {
            throw new DatabaseUnavailable('a synchronous standby did not confirm the commit');
          }
          return result.rows as Row[];
        } catch (error) {
          if (isConnectionError(error)) {
            broken ||= !isErrorOfOtherServer(error);
            throw asUnavailable(error);
          }
          throw error;
        }
      },
    };
    try {
      return await use(connection, prepared.pooledTransactions);
    } finally {
      client.off('error', lost);
      client.release(broken);
    }
  }

  /** Runs a statement in its own transaction, sent at once: the settings and the check of the timeline apply to it too. */
  async function queryPooled<Row extends object>(
    connection: Queryable,
    sql: string,
    params?: readonly unknown[],
  ): Promise<Row[]> {
    const [begun, answered, ended] = await Promise.allSettled([
      connection.query(connector.beginPooled(beginStatement())).catch(explainFormerPrimary),
      connection.query<Row>(sql, params),
      connection.query('COMMIT'),
    ]);
    for (const outcome of [begun, answered, ended]) {
      if (outcome.status === 'rejected') {
        throw outcome.reason;
      }
    }
    return (answered as PromiseFulfilledResult<Row[]>).value;
  }

  const query: Queryable['query'] = (sql, params) =>
    withConnection((connection, pooledTransactions) =>
      pooledTransactions ? queryPooled(connection, sql, params) : connection.query(sql, params),
    );

  await finder.find();
  const tenantGroups = await openTenantGroups({ query });
  await changeListener.start();
  finder.watch();
  let closing: Promise<void> | undefined;

  return {
    engine: 'postgres',
    tenantGroups,
    query,
    transaction: (work, options) =>
      retryTransaction(() =>
        withConnection(
          (connection, pooledTransactions) =>
            runTransaction(
              {
                connection,
                // A value that cannot be encoded does not throw but rejects later, and the server sees no failed statement:
                // a COMMIT that is already sent would commit the rest.
                sendsAtOnce: false,
                snapshot: options?.snapshot,
                isDistributed: !tenantGroups.isOne,
                // Without the statement timeout there is a statement that must take effect before the first read.
                readsFirst: options?.readsFirst === true && options.patient !== true,
                ...(pooledTransactions && {
                  begin: () =>
                    connection
                      .query(connector.beginPooled(beginStatement(options?.snapshot)))
                      .catch(explainFormerPrimary),
                }),
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
    stats: () => ({
      connections: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      notificationProblem: changeListener.problem(),
      refusal: finder.refusal,
      timeline: guard.newest?.timeline,
      formerPrimaries: finder.formerPrimaries,
    }),
    close() {
      finder.stop();
      closing ??= changeListener.stop().then(() => pool.end());
      return closing;
    },
  };
}

/** The error of the pool if all its connections stay in use: another host would not help. */
function isPoolBusy(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect';
}

function explainFormerPrimary(error: unknown): never {
  if (error instanceof pg.DatabaseError && error.code === formerPrimaryState) {
    throw new DatabaseUnavailable('the pooler leads to a former primary or a standby', { cause: error });
  }
  throw error;
}
