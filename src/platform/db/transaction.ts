/** The part of a transaction that is the same on both engines: begin, commit or roll back, notices after commit. */
import { isAborted, type Queryable, type Transaction } from './database.ts';

export interface PendingNotification {
  readonly channel: string;
  readonly payload: string;
}

export interface TransactionParts {
  /** One connection, used by nobody else meanwhile. */
  readonly connection: Queryable;
  /**
   * It sends what it is asked as soon as it is asked, in that order, or throws at once: then statements can be under way
   * while others are asked for, and COMMIT right behind them.
   */
  readonly sendsAtOnce: boolean;
  /** Sends a notice to other processes as part of the transaction. */
  sendNotice(connection: Queryable, notice: PendingNotification): Promise<void>;
  /** Delivers a notice in this process, at once after the commit. */
  deliverNotice(notice: PendingNotification): void;
}

export async function runTransaction<Result>(
  { connection, sendsAtOnce, sendNotice, deliverNotice }: TransactionParts,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const notices: PendingNotification[] = [];
  /** Statements may be sent together; those behind one that failed fail too, and do not say why. */
  let firstFailure: unknown;
  let isOver = false;
  function note(error: unknown): void {
    firstFailure ??= error;
  }
  /** Sends a part of it. */
  function part<Done>(send: () => Promise<Done>): Promise<Done> {
    if (isOver) {
      // Work that goes on while another part of it has failed: it must not write past the end.
      throw new Error('the transaction is over');
    }
    try {
      const sent = send();
      sent.catch(note);
      return sent;
    } catch (error) {
      note(error);
      throw error;
    }
  }
  const end = async (how: 'COMMIT' | 'ROLLBACK') => connection.query(how);
  const { insertRows } = connection;
  const tx: Transaction = {
    query: async <Row extends object>(sql: string, params?: readonly unknown[]) =>
      part(() => connection.query<Row>(sql, params)),
    ...(insertRows !== undefined && {
      insertRows: async (...rows: Parameters<typeof insertRows>) => part(() => insertRows(...rows)),
    }),
    get unanswered() {
      return sendsAtOnce ? unanswered : tx;
    },
    async notify(channel, payload) {
      const notice = { channel, payload };
      await sendNotice(connection, notice);
      notices.push(notice);
    },
  };
  /** What they failed with that nobody waits for. */
  const unheard = new Set<unknown>();
  const unanswered: Queryable = {
    async query(sql, params) {
      part(() => connection.query(sql, params)).catch((error) => unheard.add(error));
      return [];
    },
    ...(insertRows !== undefined && {
      async insertRows(...rows: Parameters<typeof insertRows>) {
        part(() => insertRows(...rows)).catch((error) => unheard.add(error));
      },
    }),
  };

  if (sendsAtOnce) {
    // Once nothing is left to do at once: the one before finishes, in memory, what follows from its commit.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    await unanswered.query('BEGIN');
  } else {
    await connection.query('BEGIN');
  }
  let result: Result;
  try {
    result = await work(tx);
    if (firstFailure !== undefined) {
      // COMMIT would answer without complaint and roll back; nobody may take that for success.
      throw unheard.has(firstFailure)
        ? firstFailure
        : new Error('a statement of the transaction failed and its error was swallowed');
    }
  } catch (error) {
    isOver = true;
    // A connection that cannot roll back is broken and will be discarded by whoever lent it.
    await end('ROLLBACK').catch(() => undefined);
    throw isAborted(error) ? firstFailure : error;
  }
  isOver = true;
  await end('COMMIT').catch(note);
  if (firstFailure !== undefined) {
    // Of a statement that was under way, and the commit behind it has rolled back; or of the commit itself.
    throw firstFailure;
  }
  for (const notice of notices) {
    deliverNotice(notice);
  }
  return result;
}

/** Who listens to what in this process. */
export class LocalNotifications {
  readonly #listeners = new Map<string, Set<(payload: string | null) => void>>();

  add(channel: string, listener: (payload: string | null) => void): void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(channel, listeners);
  }

  get channels(): string[] {
    return [...this.#listeners.keys()];
  }

  deliver({ channel, payload }: PendingNotification): void {
    for (const listener of this.#listeners.get(channel) ?? []) {
      listener(payload);
    }
  }

  /** Notices may have been missed on every channel. */
  forgetEverything(): void {
    for (const listeners of this.#listeners.values()) {
      for (const listener of listeners) {
        listener(null);
      }
    }
  }
}
