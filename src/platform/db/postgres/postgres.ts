/** Assembles the database interface on PostgreSQL 15 or newer, direct or through a pooler. */
import pg from 'pg';
import type { Log } from '../../log.ts';
import { openTenantGroups } from '../citus/tenant-groups.ts';
import { type Database, DatabaseUnavailable, type Queryable, retryTransaction } from '../database.ts';
import { beginStatement, LocalNotifications, runTransaction } from '../transaction.ts';
import { types } from '../wire/values.ts';
import { ChangeListener, type NotificationConnections } from './change-listener.ts';
import { createPool } from './connection-pool.ts';
import { Connector, formerPrimaryState, type PoolerMode } from './connector.ts';
import { parseDatabaseUrl } from './database-url.ts';
import { PrimaryFinder } from './primary-finder.ts';
import { TimelineGuard } from './timeline-guard.ts';

export interface PostgresOptions {
  readonly url: string;
  /** Direct connection for notifications. Needed if `url` leads to a pooler that pools transactions. */
  readonly listenUrl?: string | undefined;
  readonly pooler?: PoolerMode;
  readonly connections: number;
  readonly log: Log;
  /** File with the newest timeline of the database. Undefined: a restart forgets the timeline. */
  readonly timelineFile?: string;
  /** Maximum time that a caller waits for a connection. */
  readonly waitMsMax?: number;
  /**
   * Maximum time without a response. It is longer than the server's own timeout, so it only ends statements of a silent server or
   * network.
   */
  readonly silenceMsMax?: number;
}

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
  const { pool, withConnection } = createPool({ settings, connections, connector, finder, guard, log });
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

  const beginPooled = (connection: Queryable, snapshot?: boolean) =>
    connection.query(connector.beginPooled(beginStatement(snapshot))).catch(explainFormerPrimary);

  /** Runs a statement in a separate transaction, sent in one round trip, so that the settings and the timeline check apply to it too. */
  async function queryPooled<Row extends object>(
    connection: Queryable,
    sql: string,
    params?: readonly unknown[],
  ): Promise<Row[]> {
    const [begun, answered, ended] = await Promise.allSettled([
      beginPooled(connection),
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
                // A value that cannot be encoded rejects later instead of throwing. The server would see no failed statement, and a
                // COMMIT that is already sent would commit the rest.
                sendsAtOnce: false,
                snapshot: options?.snapshot,
                isDistributed: !tenantGroups.isOne,
                // Not for patient transactions: these turn off the statement timeout first, which must take effect before the first
                // read.
                readsFirst: options?.readsFirst === true && options.patient !== true,
                ...(pooledTransactions && {
                  begin: () => beginPooled(connection, options?.snapshot),
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

function explainFormerPrimary(error: unknown): never {
  if (error instanceof pg.DatabaseError && error.code === formerPrimaryState) {
    throw new DatabaseUnavailable('the pooler leads to a former primary or a standby', { cause: error });
  }
  throw error;
}
