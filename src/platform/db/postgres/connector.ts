/** Opens connections to PostgreSQL and prepares each: checks which server it leads to, and applies the session settings. */
import pg from 'pg';
import { DatabaseUnavailable } from '../database.ts';
import type { DatabaseHost, DatabaseUrl } from './database-url.ts';
import { readIdentity, type ServerIdentity, timelineSql } from './server-identity.ts';
import type { TimelineGuard } from './timeline-guard.ts';

/**
 * `auto` detects a pooler and assumes that it pools transactions. `session` treats the pooler as a direct connection. `transaction`
 * assumes a pooler even if none is detected.
 */
export type PoolerMode = 'auto' | 'session' | 'transaction';

export interface PreparedConnection extends ServerIdentity {
  /** True if each transaction may run on another server connection, so that no state of the session persists. */
  readonly pooledTransactions: boolean;
  /** Set when a commit was acknowledged without the confirmation of a synchronous standby. */
  unreplicated: boolean;
}

export interface ConnectorOptions {
  readonly url: DatabaseUrl;
  readonly settings: pg.ClientConfig;
  readonly guard: TimelineGuard;
  readonly pooler: PoolerMode;
  /** Defaults of the session settings. */
  readonly session: Readonly<Record<string, string>>;
}

export class Connector {
  readonly #url: DatabaseUrl;
  readonly #settings: pg.ClientConfig;
  readonly #guard: TimelineGuard;
  readonly #pooler: PoolerMode;
  readonly #session: Readonly<Record<string, string>>;
  readonly #prepared = new WeakMap<pg.ClientBase, PreparedConnection>();

  constructor({ url, settings, guard, pooler, session }: ConnectorOptions) {
    this.#url = url;
    this.#settings = settings;
    this.#guard = guard;
    this.#pooler = pooler;
    this.#session = { ...session, ...url.session };
  }

  /** Checks a new connection and applies the session settings. Rejects if the server must not be used. */
  async prepare(client: pg.ClientBase): Promise<PreparedConnection> {
    const identity = await readIdentity(client);
    if (identity.isStandby) {
      throw new DatabaseUnavailable('the server is a standby');
    }
    if (this.#url.mustBeWritable && identity.isReadOnly) {
      throw new DatabaseUnavailable('the server is read-only');
    }
    const refusal = this.#guard.check(identity);
    if (refusal !== undefined) {
      throw new DatabaseUnavailable(`refusing to use the database: ${refusal}`);
    }
    const pooledTransactions =
      this.#pooler === 'transaction' || (this.#pooler === 'auto' && identity.isPooled);
    if (!pooledTransactions) {
      await client.query(this.#sessionSql('SET'));
    }
    const prepared = { ...identity, pooledTransactions, unreplicated: false };
    client.on('notice', (notice) => {
      // A cancelled wait for the standby acknowledges the commit with this warning.
      prepared.unreplicated ||= notice.routine === 'SyncRepWaitForLSN';
    });
    this.#prepared.set(client, prepared);
    return prepared;
  }

  preparedOf(client: pg.ClientBase): PreparedConnection {
    const prepared = this.#prepared.get(client);
    if (prepared === undefined) {
      throw new Error('the connection was not prepared');
    }
    return prepared;
  }

  /** Opens a connection outside the pool to the first of these hosts that is the primary. */
  async open(hosts: readonly DatabaseHost[], settings: pg.ClientConfig): Promise<pg.Client> {
    const failures: unknown[] = [];
    for (const host of hosts) {
      const client = new pg.Client({ ...this.#settings, ...settings, connectionString: host.url });
      // Ignored until the caller adds a listener, because an error without a listener would end the process.
      client.on('error', () => undefined);
      try {
        await client.connect();
        await this.prepare(client);
        return client;
      } catch (error) {
        client.end().catch(() => undefined);
        failures.push(error);
      }
    }
    throw failures.length === 1 ? failures[0] : new AggregateError(failures, failures.map(String).join('; '));
  }

  /**
   * Begins a transaction on a connection whose transactions are pooled. Settings are local to the transaction, because session
   * settings would stay with the server connection. The server may be another one than the one that was checked when the connection
   * was opened. On an older timeline or on a standby, the division fails, and with it the transaction.
   */
  beginPooled(begin: string): string {
    const newest = this.#guard.newest?.timeline;
    const check = newest === undefined ? '' : `SELECT 1 / (COALESCE(${timelineSql}, 0) >= ${newest})::int;`;
    return `${begin}; ${this.#sessionSql('SET LOCAL')} ${check}`;
  }

  #sessionSql(set: 'SET' | 'SET LOCAL'): string {
    return Object.entries(this.#session)
      .map(([name, value]) => `${set} ${name} = ${pg.escapeLiteral(value)};`)
      .join(' ');
  }
}

/** SQLSTATE of the check in `beginPooled`: division by zero. */
export const formerPrimaryState = '22012';
