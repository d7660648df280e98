/**
 * A connection for moving whole tables, by `COPY`. One session on both engines: its statements and transactions are those of
 * the caller, without timeouts. Rows are in the text format of `COPY`, which PostgreSQL keeps stable between versions.
 */
import pg from 'pg';
import { Thread } from '../pglite/pglite-thread.ts';
import { copiedText } from '../wire/frontend-messages.ts';
import { types } from '../wire/values.ts';
import { CopyIn, CopyOut } from './postgres-copy.ts';

export interface BulkConnection {
  /** A text may contain several statements; the rows of the last one are returned. */
  query<Row extends object = Record<string, unknown>>(sql: string): Promise<Row[]>;
  /** Runs a `COPY … TO STDOUT`. */
  copyOut(sql: string): Promise<Uint8Array>;
  /** Runs a `COPY … FROM STDIN`. */
  copyIn(sql: string, rows: Uint8Array): Promise<void>;
  /** Can be called twice. */
  close(): Promise<void>;
}

/** Session settings that give values the same text in every session, whatever the settings of the server are. */
const sessionSettings = `SET TimeZone = 'UTC'; SET DateStyle = 'ISO, MDY'; SET IntervalStyle = 'postgres';
  SET bytea_output = 'hex'; SET extra_float_digits = 1; SET statement_timeout = 0;
  SET idle_in_transaction_session_timeout = 0`;

/** Opens an embedded database. The caller must have locked `directory`, because only one process may open it. */
export async function openPgliteBulk(directory: string): Promise<BulkConnection> {
  const thread = await Thread.start({ directory, durability: 'sync' });
  thread.onExit(() => undefined);
  await thread.query(sessionSettings, undefined, true);
  return {
    query: <Row extends object>(sql: string) => thread.query(sql, undefined, true) as Promise<Row[]>,
    copyOut: (sql) => thread.copyOut(sql),
    copyIn: (sql, rows) => thread.copy(copiedText(sql, rows), true),
    close: once(() => thread.end()),
  };
}

export async function openPostgresBulk(url: string): Promise<BulkConnection> {
  const client = new pg.Client({
    connectionString: url,
    types,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    application_name: 'purser transfer',
  });
  // Needed, because a lost connection without a listener would end the process. The statement in progress fails anyway.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw new Error(`cannot reach PostgreSQL: ${(error as Error).message}`, { cause: error });
  }
  await client.query(sessionSettings);
  return {
    async query<Row extends object>(sql: string) {
      const result = await client.query(sql);
      // Several statements return a list of results.
      const [last] = ([] as pg.QueryResult[]).concat(result).slice(-1);
      return (last?.rows ?? []) as Row[];
    },
    copyOut: (sql) => client.query(new CopyOut(sql)).result,
    copyIn: (sql, rows) => client.query(new CopyIn(sql, rows)).result,
    close: once(() => client.end()),
  };
}

function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= close();
    return closing;
  };
}
