/**
 * The database interface. It has two implementations, which pass one conformance suite (`conformance.test.ts`):
 * PGlite in a worker thread (embedded) and PostgreSQL behind a pool.
 *
 * Values: int8 is returned as bigint, numeric as string, timestamptz as Date, date as string, jsonb parsed.
 * Failures: a database that cannot answer now fails with `DatabaseUnavailable` within a bounded time, and the engine
 * recovers by itself. Every queue in front of the database is bounded; a full one fails with `OverCapacity`.
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
  /** Inserts rows in an engine-specific way. Missing if the engine has none. Used by `insertMany`. */
  insertRows?<Columns extends ColumnTypes>(
    table: string,
    columns: Columns,
    rows: Iterable<RowOf<Columns>>,
  ): Promise<void>;
}

export interface TransactionStatements extends Queryable {
  /** True on a Citus cluster, where one statement with several inserts would need all workers. */
  readonly isDistributed: boolean;
}

export interface Transaction extends TransactionStatements {
  /**
   * Sends statements whose results are not needed. They are sent in order with all other statements, and only awaited at the end of
   * the transaction. An error in one of them fails the transaction.
   */
  readonly pipelined: TransactionStatements;
  /** Sends all statements and resolves when the database has run them. Only on the embedded engine. */
  executed?(): Promise<void>;
  /** Notifies every listener in every process after the transaction has committed. */
  notify(channel: string, payload: string): Promise<void>;
}

/** `null` means that notifications may have been missed, so all caches must be invalidated. */
export type NotificationListener = (payload: string | null) => void;

export interface DatabaseStats {
  readonly connections: number;
  readonly idle: number;
  readonly waiting: number;
  /** Time of the last response (`performance.now()`). Undefined if statements do not share one connection. */
  readonly answeredAtMs?: number | undefined;
  /** The reason why change notifications are not healthy; undefined while they are. */
  readonly notificationProblem?: string | undefined;
  /** The reason why a reachable database is not used; undefined while it is used. */
  readonly refusal?: string | undefined;
  /** PostgreSQL's timeline, which every failover increments. */
  readonly timeline?: number | undefined;
  /** Hosts that still accept writes on an older timeline. */
  readonly formerPrimaries?: readonly string[];
}

/**
 * Groups of tenants. One statement may lock rows of one group, and one transaction may change them without a two-phase commit. On a
 * single PostgreSQL server all tenants are one group; on a Citus cluster the tenants of one shard are.
 */
export interface TenantGroups {
  /** True if all tenants are one group. */
  readonly isOne: boolean;
  /** Returns the group of a tenant. If it is not known yet, returns undefined and looks it up for the next call. */
  groupOf(tenantId: string): number | undefined;
  /** Splits the items by group. */
  split<Item>(items: readonly Item[], tenantOf: (item: Item) => string): Promise<Item[][]>;
}

export interface TransactionOptions {
  /** Disables the statement timeout. For migrations, which may also wait for those of another process. */
  readonly patient?: boolean;
  /**
   * The tenant that takes a turn with this transaction on the embedded engine. Undefined for work of the service itself, and for
   * work of several tenants.
   */
  readonly tenant?: string | undefined;
  /**
   * Called on the embedded engine once COMMIT is sent. `start` starts the next transaction before the commit is known. The database
   * runs that transaction directly after the first one, whether or not the first one commits. `start` must be called before the
   * first transaction ends.
   */
  committing?(start: StartTransaction): void;
  /**
   * True if the statements that `work` sends before it gets a first result only read. They are sent together with BEGIN, which
   * saves a round trip.
   */
  readonly readsFirst?: boolean;
  /**
   * True if `work` only reads and all its statements must see the state at its first statement. A Citus cluster does not support
   * this: its workers show each statement the state at that statement's start.
   */
  readonly snapshot?: boolean;
}

export type StartTransaction = <Result>(
  work: (tx: Transaction) => Promise<Result>,
  options?: Pick<TransactionOptions, 'committing'>,
) => Promise<Result>;

export interface Database extends Queryable {
  readonly engine: 'embedded' | 'postgres';
  readonly tenantGroups: TenantGroups;
  /** Commits when `work` resolves and rolls back when it throws. `work` may run several times, because it is retried after deadlocks. */
  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  listen(channel: string, listener: NotificationListener): void;
  /** Returns false while a notification may have been missed: caches must be bypassed then. */
  notificationsHealthy(): boolean;
  stats(): DatabaseStats;
  close(): Promise<void>;
}

/** The database is unavailable. It may be unknown whether the statement took effect. */
export class DatabaseUnavailable extends ServiceUnavailable {
  override readonly name: string = 'DatabaseUnavailable';
}

/** Fields that both drivers add to an error that the database reported. */
interface ReportedError {
  readonly code: string;
  readonly constraint?: string;
}

function isReported(error: unknown): error is Error & ReportedError {
  return error instanceof Error && typeof (error as Partial<ReportedError>).code === 'string';
}

export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return isReported(error) && error.code === '23505' && violatedConstraint(error) === constraint;
}

/** Returns the violated constraint. The error of a shard has it only in the message, with the number of the shard after the name. */
function violatedConstraint({ constraint, message }: Error & ReportedError): string | undefined {
  return constraint ?? /"([^"]+)_\d+"$/.exec(message)?.[1];
}

/** Returns true if a number does not fit into its column, such as a sum of amounts beyond 64 bits. */
export function isOutOfRange(error: unknown): boolean {
  return isReported(error) && error.code === '22003';
}

/** Returns true if a statement only failed because an earlier one of its transaction had failed. */
export function isAborted(error: unknown): boolean {
  return isReported(error) && error.code === '25P02';
}

/** Returns true for serialization failures and deadlocks, after which the transaction can be retried. */
export function isRetryable(error: unknown): boolean {
  return isReported(error) && (error.code === '40001' || error.code === '40P01');
}

/** Returns the SQLSTATE with which the database rejected a statement; undefined for any other error. */
export function sqlStateOf(error: unknown): string | undefined {
  const reported = error instanceof DatabaseUnavailable ? error.cause : error;
  const { code } = (reported ?? {}) as Partial<ReportedError>;
  // Error codes of Node, such as `EPERM`, contain no digit.
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Returns true if a statement waited too long for a lock (`lock_timeout`). */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === '55P03';
}

/**
 * Returns true if the cause may be a schema that the statement was not written for: unknown names and types, or rejected values.
 * Unique violations do not count, because they are expected.
 */
export function meansOtherSchema(error: unknown): boolean {
  return isReported(error) && /^(22|23|42)/.test(error.code) && error.code !== '23505';
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

/** Returns true if an SQLSTATE means that the database is unavailable, not that the statement is wrong. */
export function stateMeansUnavailable(sqlState: string): boolean {
  return unavailableStates.has(sqlState) || sqlState.startsWith('08');
}

const transactionAttempts = 4;

/** Retries a transaction a few times if concurrent transactions made the database roll it back. */
export async function retryTransaction<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let left = transactionAttempts - 1; ; left -= 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isRetryable(error)) {
        throw error;
      }
      if (left === 0) {
        throw new DatabaseUnavailable('the transaction kept conflicting with concurrent ones', {
          cause: error,
        });
      }
    }
  }
}

export type RowOf<Columns extends ColumnTypes> = { readonly [Name in keyof Columns]: unknown };

/**
 * Types whose values are sent as text and cast in the statement, because `binaryArray` does not support them. An array of arrays
 * would also have to be rectangular.
 */
const castFromText = new Set<string>(['jsonb', 'text[]']);

/**
 * Inserts any number of rows in one statement. Uses `insertRows` if the engine has it. Otherwise it sends one array per column, so
 * that the text does not grow with the number of rows and the maximum number of parameters does not apply.
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
  // `unnest` is in the select list, because in FROM each array would be copied once more before the first row.
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
 * Inserts a row for each item, in batches. Otherwise tens of thousands of items would be in memory four times: as items, as rows,
 * as arrays, and as the database's copies of the arrays.
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

/** Returns the connection for inserting the items. Several batches are awaited one by one, so that they are not all in memory at once. */
export function senderOf(tx: Transaction, items: readonly unknown[]): Queryable {
  return items.length <= itemsPerStatement ? tx.pipelined : tx;
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
