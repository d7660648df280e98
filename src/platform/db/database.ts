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
  /** Inserts rows in a way that is specific to the engine, if it has one. Used by `insertMany`. */
  insertRows?<Columns extends ColumnTypes>(
    table: string,
    columns: Columns,
    rows: Iterable<RowOf<Columns>>,
  ): Promise<void>;
}

export interface TransactionStatements extends Queryable {
  /** True on a Citus cluster: a statement with several inserts would need all of its workers. */
  readonly isDistributed: boolean;
}

export interface Transaction extends TransactionStatements {
  /**
   * For statements whose results are not needed. They are sent in order with all others, and not awaited before the end of the
   * transaction. An error of one of them fails the transaction.
   */
  readonly unanswered: TransactionStatements;
  /** Sends everything at once and resolves when the database has run it. Only on the embedded engine. */
  executed?(): Promise<void>;
  /** Notifies every listener in every process, once the transaction has committed and only if it does. */
  notify(channel: string, payload: string): Promise<void>;
}

/** `null` means that notifications may have been missed: all caches must be invalidated. */
export type NotificationListener = (payload: string | null) => void;

export interface DatabaseStats {
  readonly connections: number;
  readonly idle: number;
  readonly waiting: number;
  /** Time of the last response (`performance.now()`), if all statements wait for one connection. */
  readonly answeredAtMs?: number | undefined;
  /** Why change notifications are not healthy; undefined while they are. */
  readonly notificationProblem?: string | undefined;
  /** Why the database is not used although it can be reached; undefined while it is used. */
  readonly refusal?: string | undefined;
  /** Timeline of PostgreSQL: raised by every failover. */
  readonly timeline?: number | undefined;
  /** Hosts that still accept writes on an older timeline. */
  readonly formerPrimaries?: readonly string[];
}

/**
 * Groups of tenants whose rows one statement may lock, and one transaction may change without a two-phase commit. On one PostgreSQL
 * all tenants are one group; on a Citus cluster those of a shard are.
 */
export interface TenantGroups {
  /** True if all tenants are one group. */
  readonly isOne: boolean;
  /** Returns the group of a tenant; undefined if it is not known yet, and then looks it up for the next call. */
  groupOf(tenantId: string): number | undefined;
  /** Splits the items into those of each group. */
  split<Item>(items: readonly Item[], tenantOf: (item: Item) => string): Promise<Item[][]>;
}

export interface TransactionOptions {
  /** Disables the statement timeout: for migrations, which may also wait for those of another process. */
  readonly patient?: boolean;
  /**
   * The tenant whose turn the transaction takes on the embedded engine. Undefined: it is work of the service itself, or of several
   * tenants.
   */
  readonly tenant?: string | undefined;
  /**
   * Called on the embedded engine once COMMIT is sent. `start` starts the next transaction before the commit is known: the
   * database runs it afterwards, whether or not the first one commits, and nothing in between. It must be called before the
   * first transaction ends.
   */
  committing?(start: StartTransaction): void;
  /**
   * True if the statements that `work` sends before it has a result change nothing. They are sent together with BEGIN, which saves
   * a round trip.
   */
  readonly readsFirst?: boolean;
  /**
   * True if `work` only reads, and all its statements must see the state at the first of them. A Citus cluster does not support
   * this: its workers always show a statement the state at the start of that statement.
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
  /** Commits when `work` resolves and rolls back when it throws. Deadlocks are retried, so `work` may run several times. */
  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  listen(channel: string, listener: NotificationListener): void;
  /** False while a notification may have been missed: caches must be bypassed. */
  notificationsHealthy(): boolean;
  stats(): DatabaseStats;
  close(): Promise<void>;
}

/** The database cannot answer now. It may be unknown whether the statement took effect. */
export class DatabaseUnavailable extends ServiceUnavailable {
  override readonly name: string = 'DatabaseUnavailable';
}

/** The fields that both drivers add to an error that the database itself reported. */
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

/**
 * An error of a shard of a distributed table names the constraint in its message alone, with the number of the shard behind the
 * name.
 */
function violatedConstraint({ constraint, message }: Error & ReportedError): string | undefined {
  return constraint ?? /"([^"]+)_\d+"$/.exec(message)?.[1];
}

/** A number does not fit into its column, such as a sum of amounts beyond 64 bits. */
export function isOutOfRange(error: unknown): boolean {
  return isReported(error) && error.code === '22003';
}

/** An earlier statement of the transaction failed, so all later ones fail too. */
export function isAborted(error: unknown): boolean {
  return isReported(error) && error.code === '25P02';
}

/** Serialization failures and deadlocks: the transaction was rolled back and can be retried. */
export function isRetryable(error: unknown): boolean {
  return isReported(error) && (error.code === '40001' || error.code === '40P01');
}

/** Returns the SQLSTATE with which the database rejected a statement; undefined for any other error. */
export function sqlStateOf(error: unknown): string | undefined {
  const reported = error instanceof DatabaseUnavailable ? error.cause : error;
  const { code } = (reported ?? {}) as Partial<ReportedError>;
  // Codes of Node, such as `EPERM`, have no digit.
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** A statement gave up waiting for a lock (`lock_timeout`). */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === '55P03';
}

/**
 * True if the cause may be a schema that the statement was not written for: names and types that do not exist, or values that
 * are not allowed. Unique violations are expected results.
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

/** True if an SQLSTATE means "not now" rather than "the statement is wrong". */
export function stateMeansUnavailable(sqlState: string): boolean {
  return unavailableStates.has(sqlState) || sqlState.startsWith('08');
}

const transactionAttempts = 4;

/** Retries a transaction, a few times at most, if the database rolled it back because of concurrent transactions. */
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
 * Types whose values are sent as text and cast in the statement: `binaryArray` has no arrays of them. Also,
 * PostgreSQL's arrays of arrays must be rectangular.
 */
const castFromText = new Set<string>(['jsonb', 'text[]']);

/**
 * Inserts any number of rows in one statement: with `insertRows` if the engine has it, else with one array per column,
 * so that the text does not grow with the number of rows and the limit of parameters does not apply.
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
  // `unnest` is in the select list: in FROM, each array would be copied once more before the first row is produced.
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
 * Inserts a row for each item, in batches: tens of thousands of items must not be in memory as items, as rows, as
 * arrays and as the database's copies of the arrays, all at the same time.
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

/**
 * Returns the connection for inserting the items. If there are several batches, each is awaited, so that not all of
 * them are in memory at once.
 */
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
