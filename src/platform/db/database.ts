/**
 * The database seam. Two implementations honour it, held to one conformance suite (`conformance.test.ts`):
 * PGlite in a worker thread (embedded) and PostgreSQL behind a pool.
 *
 * Values: int8 arrives as bigint, numeric as string, timestamptz as Date, date as string, jsonb parsed.
 * Failure: everything that means "the database cannot answer now" is a `DatabaseUnavailable`, within a
 * bounded time; the engine recovers by itself. Every queue in front of the database is bounded.
 */

import { ServiceUnavailable } from '../service-unavailable.ts';
import { type ArrayType, binaryArray } from './wire/binary-values.ts';
import { type ColumnTypes, jsonText, toText } from './wire/values.ts';

export { jsonText };

export interface Queryable {
  query<Row extends object = Record<string, unknown>>(
    sql: string,
    params?: readonly unknown[],
  ): Promise<Row[]>;
  /** For `insertMany`, where the engine has a way of its own for many rows. */
  insertRows?<Columns extends ColumnTypes>(
    table: string,
    columns: Columns,
    rows: Iterable<RowOf<Columns>>,
  ): Promise<void>;
}

export interface Transaction extends Queryable {
  /**
   * For statements whose answers nobody needs. They are sent in their order among all others, and where the engine can have
   * several under way they are not waited for. What one of them fails with, the transaction fails with.
   */
  readonly unanswered: Queryable;
  /** Tells every listener in every process, once and only if the transaction commits. */
  notify(channel: string, payload: string): Promise<void>;
}

/** `null` means that notices may have been missed: whatever was remembered has to be forgotten. */
export type NotificationListener = (payload: string | null) => void;

export interface DatabaseStats {
  readonly connections: number;
  readonly idle: number;
  readonly waiting: number;
}

export interface TransactionOptions {
  /** Its statements may take as long as they need: migrations, and waiting for another process's. */
  readonly patient?: boolean;
}

export interface Database extends Queryable {
  readonly engine: 'embedded' | 'postgres';
  /** Commits when `work` resolves and rolls back when it throws. Deadlocks are retried, so `work` may run again. */
  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  listen(channel: string, listener: NotificationListener): void;
  /** False while a notice that was sent could still be missing: what was remembered must not be trusted. */
  notificationsHealthy(): boolean;
  stats(): DatabaseStats;
  close(): Promise<void>;
}

/** The database cannot answer now. Whether the statement took effect may be unknown. */
export class DatabaseUnavailable extends ServiceUnavailable {
  override readonly name: string = 'DatabaseUnavailable';
}

/** What both drivers attach to an error that the database itself reported. */
interface ReportedError {
  readonly code: string;
  readonly constraint?: string;
}

function isReported(error: unknown): error is Error & ReportedError {
  return error instanceof Error && typeof (error as Partial<ReportedError>).code === 'string';
}

export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return isReported(error) && error.code === '23505' && error.constraint === constraint;
}

/** An earlier statement of the transaction failed, and nothing more can be done in it. */
export function isAborted(error: unknown): boolean {
  return isReported(error) && error.code === '25P02';
}

/** Serialization failures and deadlocks: the transaction was rolled back and may simply be run again. */
export function isRetryable(error: unknown): boolean {
  return isReported(error) && (error.code === '40001' || error.code === '40P01');
}

const unavailableStates = new Set([
  '25006', // read-only transaction: a replica, or a primary that was demoted
  '25P03', // idle in a transaction for too long
  '53000', // out of some resource
  '53100', // disk full
  '53200', // out of memory
  '53300', // too many connections
  '53400', // a configured limit
  '55P03', // lock not available in time
  '57014', // statement timeout
  '57P01', // shut down by an administrator
  '57P02', // crash of another backend
  '57P03', // starting up or shutting down
  '57P04', // the database was dropped
  '57P05', // idle for too long
  '58030', // I/O error
]);

/** Whether an SQLSTATE says "not now" rather than "this statement is wrong". */
export function stateMeansUnavailable(sqlState: string): boolean {
  return unavailableStates.has(sqlState) || sqlState.startsWith('08');
}

const transactionAttempts = 4;

/** Runs a whole transaction again when the database undid it for concurrency's sake, a few times at most. */
export async function retryTransaction<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let left = transactionAttempts - 1; ; left -= 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isRetryable(error)) {
        throw error;
      }
      if (left === 0) {
        throw new DatabaseUnavailable('the transaction kept losing to concurrent ones', { cause: error });
      }
    }
  }
}

export type RowOf<Columns extends ColumnTypes> = { readonly [Name in keyof Columns]: unknown };

/** These travel as text and are cast: an array of arrays would have to be rectangular. */
const castFromText = new Set<string>(['jsonb', 'text[]']);

/**
 * Inserts any number of rows in one statement. The rows travel as one array a column, so the statement's size does not
 * grow with them and neither engine's parameter limit applies.
 */
export async function insertMany<Columns extends ColumnTypes>(
  db: Queryable,
  table: string,
  columns: Columns,
  rows: readonly RowOf<Columns>[],
): Promise<void> {
  if (rows.length === 0) {
    return;
  }
  if (db.insertRows !== undefined) {
    await db.insertRows(table, columns, rows);
    return;
  }
  const named = Object.entries(columns);
  const names = named.map(([name]) => name).join(', ');
  // In the list, not in FROM: there each array would be copied once more before the first row is made.
  const values = named.map(([, type], index) => {
    const element = `unnest($${index + 1}::${arrayType(type)}[])`;
    return castFromText.has(type) ? `${element}::${type}` : element;
  });
  await db.query(
    `INSERT INTO ${table} (${names}) SELECT ${values.join(', ')}`,
    named.map(([name, type]) =>
      binaryArray(
        arrayType(type),
        rows.map((row) => arrayItem(row[name], type)),
      ),
    ),
  );
}

const itemsPerStatement = 1_000;

/**
 * Inserts a row for each item, so many at a time: what is inserted by the ten thousand must not be in memory as items,
 * as rows, as arrays and as the database's copies of these all at once.
 */
export async function insertEach<Columns extends ColumnTypes, Item>(
  db: Queryable,
  table: string,
  columns: Columns,
  items: readonly Item[],
  rowOf: (item: Item) => RowOf<Columns>,
): Promise<void> {
  for (let at = 0; at < items.length; at += itemsPerStatement) {
    await insertMany(db, table, columns, items.slice(at, at + itemsPerStatement).map(rowOf));
  }
}

/** Where to send so many of them. More than a statement takes are waited for, or all of them would be in memory after all. */
export function senderOf(tx: Transaction, items: readonly unknown[]): Queryable {
  return items.length <= itemsPerStatement ? tx.unanswered : tx;
}

function arrayType(type: ColumnTypes[string]): ArrayType {
  return type === 'jsonb' || type === 'text[]' ? 'text' : type;
}

function arrayItem(value: unknown, type: ColumnTypes[string]): unknown {
  if (value === null || value === undefined || !castFromText.has(type)) {
    return value;
  }
  return type === 'jsonb' ? jsonText(value) : toText(value);
}
