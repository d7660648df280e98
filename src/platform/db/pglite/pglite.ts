/**
 * The embedded engine: PGlite in a worker thread, with one directory and one process. PGlite has a single connection, so callers
 * take turns, with one statement or one whole transaction at a time. They wait in a bounded queue, fairly by tenant and for a
 * bounded time. A statement that exceeds its timeout terminates the worker. When the worker ends, its callers get
 * `DatabaseUnavailable`, and a new worker opens the same directory, which is recovered as after a `kill -9`.
 */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { createFailureLog } from '../../failure-log.ts';
import { FairQueue } from '../../fair-queue.ts';
import { type Durability, makeDirectory, syncDirectory, syncTree } from '../../files/durable-files.ts';
import type { Log } from '../../log.ts';
import { oneGroup } from '../citus/tenant-groups.ts';
import {
  type Database,
  DatabaseUnavailable,
  retryTransaction,
  type StartTransaction,
  type Transaction,
  type TransactionOptions,
} from '../database.ts';
import { tenantOf } from '../tenant-of-statement.ts';
import { LocalNotifications, runTransaction, type TransactionConnection } from '../transaction.ts';
import { copiedRows } from '../wire/frontend-messages.ts';
import { guardDiskSpace } from './disk-space-guard.ts';
import { Thread } from './pglite-thread.ts';
import { describeDamage, EmbeddedDatabaseNotOpened } from './start-failure.ts';

export interface PgliteOptions {
  readonly directory: string;
  readonly durability: Durability;
  readonly log: Log;
  /** Maximum time that a caller waits for the connection. */
  readonly waitMsMax?: number;
}

const waitingCallersMax = 1_000;
const restartAfterMs = 200;

export async function openPglite({
  directory,
  durability,
  log,
  waitMsMax = 5_000,
}: PgliteOptions): Promise<Database> {
  const listeners = new LocalNotifications();
  const turns = new FairQueue({
    resource: 'the database',
    concurrency: 1,
    waitingMax: waitingCallersMax,
    waitMsMax,
  });
  let thread: Thread | undefined;
  let closed = false;
  const restarts = createFailureLog({
    log,
    fields: {},
    messages: {
      failed: 'embedded database restart failed; retrying',
      stillFails: 'embedded database still does not restart; retrying',
      recovered: 'embedded database runs again',
    },
  });

  async function start(): Promise<void> {
    const started = await Thread.start({ directory, durability });
    if (closed) {
      await started.end();
      return;
    }
    thread = started;
    guard.restarted();
    started.onExit((error) => {
      thread = undefined;
      if (!closed) {
        log.error({ err: error }, 'embedded database stopped; restarting');
        restartLater();
      }
    });
  }

  function restartLater(): void {
    setTimeout(() => {
      start().then(
        () => restarts.succeeded(),
        (error) => {
          restarts.failed(error);
          restartLater();
        },
      );
    }, restartAfterMs).unref();
  }

  /**
   * Returns a connection that is bound to the current thread, because a replacement thread would run the rest of a broken
   * transaction as if it were complete.
   */
  function connect({ patient = false }: TransactionOptions = {}): Required<TransactionConnection> {
    const bound = thread;
    const running = () => {
      if (bound === undefined || bound !== thread) {
        throw new DatabaseUnavailable('the embedded database is not running');
      }
      return bound;
    };
    return {
      // Not async, so that it throws synchronously if the statement cannot be sent.
      query: <Row extends object>(sql: string, params?: readonly unknown[]) =>
        running().query(sql, params, patient) as Promise<Row[]>,
      insertRows: (table, columns, rows) => running().copy(copiedRows(table, columns, rows), patient),
      executed: async () => running().executed(),
    };
  }

  function runOne<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options?: TransactionOptions,
    committing?: () => void,
  ): Promise<Result> {
    return runTransaction(
      {
        connection: connect(options),
        sendsAtOnce: true,
        snapshot: options?.snapshot,
        // The engine has no other processes to notify.
        sendNotification: async () => undefined,
        deliverNotification: (notification) => listeners.deliver(notification),
        ...(committing !== undefined && { committing }),
      },
      work,
    );
  }

  /** Runs a transaction, and those that follow it before its commit is known. The caller's turn lasts until all of them have ended. */
  function runFollowed<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options: TransactionOptions,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const turn = () =>
        new Promise<void>((endTurn) => {
          let running = 0;
          const start: StartTransaction = async (oneWork, { committing } = {}) => {
            running += 1;
            try {
              return await runOne(oneWork, options, () => committing?.(start));
            } finally {
              running -= 1;
              if (running === 0) {
                endTurn();
              }
            }
          };
          start(work, options).then(resolve, reject);
        });
      turns.run(options.tenant, turn).catch(reject);
    });
  }

  const guard = guardDiskSpace({
    directory,
    log,
    setReadOnly: (readOnly) =>
      turns.run(undefined, async () =>
        connect().query(`SET default_transaction_read_only = ${readOnly ? 'on' : 'off'}`),
      ),
  });
  if (!databaseExists(directory)) {
    await createDatabase(directory);
  }
  await start();
  await guard.look();

  return {
    engine: 'embedded',
    tenantGroups: oneGroup,
    query: (sql, params) => turns.run(tenantOf(params), async () => connect().query(sql, params)),
    insertRows: (table, columns, rows) =>
      turns.run(undefined, async () => connect().insertRows(table, columns, rows)),
    transaction: (work, options) =>
      retryTransaction(() =>
        options?.committing === undefined
          ? turns.run(options?.tenant, () => runOne(work, options))
          : runFollowed(work, options),
      ),
    listen: (channel, listener) => listeners.add(channel, listener),
    notificationsHealthy: () => true,
    stats: () => ({
      connections: thread === undefined ? 0 : 1,
      idle: thread === undefined || turns.running > 0 ? 0 : 1,
      waiting: turns.waiting,
      answeredAtMs: thread?.answeredAtMs,
    }),
    async close() {
      closed = true;
      guard.stop();
      await turns.run(undefined, async () => thread?.end()).catch(() => thread?.end());
    },
  };
}

/** Returns true if the directory has a database. Throws if it has only other files. */
export function databaseExists(directory: string): boolean {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  if (names.length > 0 && !names.includes('PG_VERSION')) {
    throw new EmbeddedDatabaseNotOpened(describeDamage(directory, 'the file PG_VERSION is missing'));
  }
  return names.length > 0;
}

/**
 * Creates the database in another directory. It is renamed when it is complete and synced, so that a crash cannot leave an
 * incomplete database.
 */
async function createDatabase(directory: string): Promise<void> {
  const draft = `${directory}.new`;
  makeDirectory(dirname(directory));
  rmSync(draft, { recursive: true, force: true });
  // Uses a separate thread, because creating a database needs several times the memory of running it. That memory is freed with the
  // thread.
  await (await Thread.start({ directory: draft, durability: 'os' })).end();
  await syncTree(draft);
  renameSync(draft, directory);
  syncDirectory(dirname(directory));
}
