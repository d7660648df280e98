/**
 * The embedded engine: PGlite in a worker thread, one directory, one process.
 *
 * PGlite has one connection, so callers take turns: a statement or a whole transaction at a time, first come
 * first served, in a bounded queue with a bounded wait. A statement that runs far too long, or a worker that
 * dies, ends the worker; its callers get `DatabaseUnavailable` and a new worker opens the same directory, which
 * survives that as it survives `kill -9`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../log.ts';
import {
  type Database,
  DatabaseUnavailable,
  type Queryable,
  retryTransaction,
  type TransactionOptions,
} from '../database.ts';
import { LocalNotifications, runTransaction } from '../transaction.ts';
import { copiedRows } from '../wire/frontend-messages.ts';
import { FairMutex } from './fair-mutex.ts';
import { Thread } from './pglite-thread.ts';

export interface PgliteOptions {
  readonly directory: string;
  readonly log: Log;
  /** How long a caller waits for its turn before the database counts as unavailable. */
  readonly waitMsMax?: number;
}

const restartAfterMs = 200;

export async function openPglite({ directory, log, waitMsMax = 5_000 }: PgliteOptions): Promise<Database> {
  const board = new LocalNotifications();
  const turns = new FairMutex('the database', waitMsMax);
  let thread: Thread | undefined;
  let closed = false;

  async function start(): Promise<void> {
    const started = await Thread.start(directory);
    if (closed) {
      await started.end();
      return;
    }
    thread = started;
    started.onDeath((error) => {
      thread = undefined;
      if (!closed) {
        log.error({ err: error }, 'the embedded database stopped; restarting it');
        restartLater();
      }
    });
  }

  function restartLater(): void {
    setTimeout(() => {
      start().catch((error) => {
        log.error({ err: error }, 'the embedded database did not restart; trying again');
        restartLater();
      });
    }, restartAfterMs).unref();
  }

  /** Stays with one thread: the next one would run the rest of a broken transaction as if it were whole. */
  function connect({ patient = false }: TransactionOptions = {}): Required<Queryable> {
    const lent = thread;
    const running = () => {
      if (lent === undefined || lent !== thread) {
        throw new DatabaseUnavailable('the embedded database is not running');
      }
      return lent;
    };
    return {
      // Not async: what cannot be sent is thrown at once.
      query: <Row extends object>(sql: string, params?: readonly unknown[]) =>
        running().ask(sql, params, patient) as Promise<Row[]>,
      insertRows: (table, columns, rows) => running().copy(copiedRows(table, columns, rows), patient),
    };
  }

  if (!existsSync(join(directory, 'PG_VERSION'))) {
    // Making a database takes several times the memory of running it: that goes with the thread.
    await (await Thread.start(directory)).end();
  }
  await start();

  return {
    engine: 'embedded',
    query: (sql, params) => turns.take(async () => connect().query(sql, params)),
    insertRows: (table, columns, rows) => turns.take(async () => connect().insertRows(table, columns, rows)),
    transaction: (work, options) =>
      retryTransaction(() =>
        turns.take(() =>
          runTransaction(
            {
              connection: connect(options),
              sendsAtOnce: true,
              // There is no other process to tell.
              sendNotice: async () => undefined,
              deliverNotice: (notice) => board.deliver(notice),
            },
            work,
          ),
        ),
      ),
    listen: (channel, listener) => board.add(channel, listener),
    notificationsHealthy: () => true,
    stats: () => ({
      connections: thread === undefined ? 0 : 1,
      idle: thread === undefined || turns.busy ? 0 : 1,
      waiting: turns.waiting,
    }),
    async close() {
      closed = true;
      await turns.take(async () => thread?.end()).catch(() => thread?.end());
    },
  };
}
