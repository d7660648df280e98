/** A pool of connections to the primary. It bounds connections, waiting callers and waiting times. */
import pg from 'pg';
import type { Log } from '../../log.ts';
import { OverCapacity } from '../../service-unavailable.ts';
import { DatabaseUnavailable, type Queryable, type TransactionOptions } from '../database.ts';
import { asUnavailable, isConnectionError, isErrorOfOtherServer } from './connection-errors.ts';
import type { Connector } from './connector.ts';
import type { PrimaryFinder } from './primary-finder.ts';
import { queryConfig } from './statements.ts';
import type { TimelineGuard } from './timeline-guard.ts';

interface PoolOptions {
  readonly settings: pg.ClientConfig;
  readonly connections: number;
  readonly connector: Connector;
  readonly finder: PrimaryFinder;
  readonly guard: TimelineGuard;
  readonly log: Log;
}

const waitingCallersMax = 1_000;

export function createPool({ settings, connections, connector, finder, guard, log }: PoolOptions) {
  const pool = new pg.Pool({
    ...settings,
    max: connections,
    idleTimeoutMillis: 30_000,
    // The pool creates a connection when one is needed. The connection goes to the primary at that time.
    Client: class extends pg.Client {
      constructor(config?: pg.ClientConfig) {
        super({ ...config, connectionString: finder.current.url });
      }
    },
    onConnect: (client) => connector.prepare(client),
  });
  // The pool replaces a lost idle connection at its next use. Without a listener the error would end the process. Only the message
  // is logged, because the pool adds the whole connection to the error.
  pool.on('error', ({ message }) => log.warn({ reason: message }, 'idle database connection lost'));

  // The pool removes its own listener when it hands out a connection. An error may arrive in the same packet as the end of the
  // handshake, such as the termination of the backend. It comes before `withConnection` adds a listener and would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));

  /** Returns a connection to the current primary. Searches for the primary once if the host in use cannot be reached. */
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
        // Checked before every statement, including COMMIT, because another connection may have found a newer timeline in the
        // meantime.
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

  return { pool, withConnection };
}

/** Returns true if all connections of the pool are in use. Another host would not help then. */
function isPoolBusy(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect';
}
