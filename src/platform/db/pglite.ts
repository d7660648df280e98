/**
 * The embedded engine: PGlite in a worker thread, one directory, one process.
 *
 * PGlite has one connection, so callers take turns: a statement or a whole transaction at a time, first come
 * first served, in a bounded queue with a bounded wait. A statement that runs far too long, or a worker that
 * dies, ends the worker; its callers get `DatabaseUnavailable` and a new worker opens the same directory, which
 * survives that as it survives `kill -9`.
 */
import { Worker } from 'node:worker_threads';
import type { Log } from '../log.ts';
import {
  type Database,
  DatabaseUnavailable,
  type Queryable,
  retryTransaction,
  stateMeansUnavailable,
} from './database.ts';
import { NoticeBoard, runTransaction } from './transaction.ts';

export interface PgliteOptions {
  readonly directory: string;
  readonly log: Log;
}

const waitingCallersMax = 1_000;
const turnTimeoutMs = 5_000;
const statementTimeoutMs = 30_000;
const restartAfterMs = 200;
const closeTimeoutMs = 5_000;

interface Answer {
  readonly id: number;
  readonly rows?: object[];
  readonly error?: { message: string; code?: string; constraint?: string };
}

interface Asked {
  resolve(rows: object[]): void;
  reject(error: Error): void;
}

export async function openPglite({ directory, log }: PgliteOptions): Promise<Database> {
  const board = new NoticeBoard();
  const turns = new Turns();
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
  function connect(): Queryable {
    const lent = thread;
    return {
      async query<Row extends object>(sql: string, params?: readonly unknown[]) {
        if (lent === undefined || lent !== thread) {
          throw new DatabaseUnavailable('the embedded database is not running');
        }
        return lent.ask(sql, params) as Promise<Row[]>;
      },
    };
  }

  await start();

  return {
    engine: 'embedded',
    query: (sql, params) => turns.take(() => connect().query(sql, params)),
    transaction: (work) =>
      retryTransaction(() =>
        turns.take(() =>
          runTransaction(
            {
              connection: connect(),
              // There is no other process to tell.
              sendNotice: async () => undefined,
              deliverNotice: (notice) => board.deliver(notice),
            },
            work,
          ),
        ),
      ),
    listen: (channel, listener) => board.add(channel, listener),
    noticesAreCurrent: () => true,
    stats: () => ({
      connections: thread === undefined ? 0 : 1,
      idle: turns.busy ? 0 : 1,
      waiting: turns.waiting,
    }),
    async close() {
      closed = true;
      await turns.take(async () => thread?.end()).catch(() => thread?.end());
    },
  };
}

/** The worker thread as a function from statements to rows. */
class Thread {
  readonly #worker: Worker;
  readonly #asked = new Map<number, Asked>();
  #lastId = 0;

  static start(directory: string): Promise<Thread> {
    const worker = new Worker(new URL('./pglite-worker.js', import.meta.url), { workerData: { directory } });
    return new Promise((resolve, reject) => {
      const endedEarly = () => reject(new Error('the embedded database ended while starting'));
      worker.once('error', reject);
      worker.once('exit', endedEarly);
      worker.once('message', () => {
        worker.off('error', reject);
        worker.off('exit', endedEarly);
        resolve(new Thread(worker));
      });
    });
  }

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', (answer: Answer) => this.#answered(answer));
  }

  onDeath(died: (error: Error) => void): void {
    let reason = new Error('the embedded database ended');
    this.#worker.on('error', (error) => {
      reason = error;
    });
    this.#worker.on('exit', () => {
      for (const { reject } of this.#asked.values()) {
        reject(new DatabaseUnavailable(reason.message, { cause: reason }));
      }
      this.#asked.clear();
      died(reason);
    });
  }

  ask(sql: string, params?: readonly unknown[]): Promise<object[]> {
    this.#lastId += 1;
    const id = this.#lastId;
    const tooLong = setTimeout(() => void this.#worker.terminate(), statementTimeoutMs);
    return new Promise<object[]>((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#worker.postMessage(params === undefined ? { id, sql } : { id, sql, params });
    }).finally(() => clearTimeout(tooLong));
  }

  /** Closes the database in order, so that the next start has nothing to recover. */
  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve));
    const tooLong = setTimeout(() => void this.#worker.terminate(), closeTimeoutMs);
    this.#worker.postMessage('close');
    await ended;
    clearTimeout(tooLong);
  }

  #answered({ id, rows, error }: Answer): void {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (error === undefined) {
      asked?.resolve(rows ?? []);
    } else if (error.code !== undefined && stateMeansUnavailable(error.code)) {
      asked?.reject(new DatabaseUnavailable(error.message, { cause: error }));
    } else {
      asked?.reject(
        Object.assign(new Error(error.message), { code: error.code, constraint: error.constraint }),
      );
    }
  }
}

/** A fair lock with a bounded queue and a bounded wait. */
class Turns {
  readonly #queue: { start(): void; readonly expired: boolean }[] = [];
  busy = false;

  get waiting(): number {
    return this.#queue.length;
  }

  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#wait();
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #wait(): Promise<void> {
    if (!this.busy) {
      this.busy = true;
      return Promise.resolve();
    }
    if (this.#queue.length >= waitingCallersMax) {
      return Promise.reject(new DatabaseUnavailable('too many callers are waiting for the database'));
    }
    return new Promise((resolve, reject) => {
      const place = {
        expired: false,
        start() {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        place.expired = true;
        reject(new DatabaseUnavailable('the database was busy for too long'));
      }, turnTimeoutMs);
      this.#queue.push(place);
    });
  }

  #next(): void {
    let place = this.#queue.shift();
    while (place?.expired === true) {
      place = this.#queue.shift();
    }
    if (place === undefined) {
      this.busy = false;
    } else {
      place.start();
    }
  }
}
