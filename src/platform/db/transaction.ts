/** The part of a transaction that is the same on both engines: begin, commit or roll back, notices after commit. */
import { isAborted, type Queryable, type Transaction } from './database.ts';

export interface Notice {
  readonly channel: string;
  readonly payload: string;
}

export interface TransactionParts {
  /** One connection, used by nobody else meanwhile. */
  readonly connection: Queryable;
  /** Sends a notice to other processes as part of the transaction. */
  sendNotice(connection: Queryable, notice: Notice): Promise<void>;
  /** Delivers a notice in this process, at once after the commit. */
  deliverNotice(notice: Notice): void;
}

export async function runTransaction<Result>(
  { connection, sendNotice, deliverNotice }: TransactionParts,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const notices: Notice[] = [];
  /** Statements may be sent together; those behind one that failed fail too, and do not say why. */
  let firstFailure: unknown;
  let isOver = false;
  async function part<Done>(work: () => Promise<Done>): Promise<Done> {
    if (isOver) {
      // Work that goes on while another part of it has failed: it must not write past the end.
      throw new Error('the transaction is over');
    }
    try {
      return await work();
    } catch (error) {
      firstFailure ??= error;
      throw error;
    }
  }
  const { insertRows } = connection;
  const tx: Transaction = {
    query: <Row extends object>(sql: string, params?: readonly unknown[]) =>
      part(() => connection.query<Row>(sql, params)),
    ...(insertRows !== undefined && {
      insertRows: (...rows: Parameters<typeof insertRows>) => part(() => insertRows(...rows)),
    }),
    async notify(channel, payload) {
      const notice = { channel, payload };
      await sendNotice(connection, notice);
      notices.push(notice);
    },
  };

  // Its round trip also lets the one before finish, in memory, what follows from its commit.
  await connection.query('BEGIN');
  let result: Result;
  try {
    result = await work(tx);
    if (firstFailure !== undefined) {
      // COMMIT would answer without complaint and roll back; nobody may take that for success.
      throw new Error('a statement of the transaction failed and its error was swallowed');
    }
  } catch (error) {
    isOver = true;
    // A connection that cannot roll back is broken and will be discarded by whoever lent it.
    await connection.query('ROLLBACK').catch(() => undefined);
    throw isAborted(error) ? firstFailure : error;
  }
  isOver = true;
  await connection.query('COMMIT');
  for (const notice of notices) {
    deliverNotice(notice);
  }
  return result;
}

/** Who listens to what in this process. */
export class NoticeBoard {
  readonly #listeners = new Map<string, Set<(payload: string | null) => void>>();

  add(channel: string, listener: (payload: string | null) => void): void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(channel, listeners);
  }

  get channels(): string[] {
    return [...this.#listeners.keys()];
  }

  deliver({ channel, payload }: Notice): void {
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
