/** The part of a transaction that both engines share: begin, commit, roll back, and notifications after the commit. */
import { isAborted, type Queryable, type Transaction, type TransactionStatements } from './database.ts';

export interface PendingNotification {
  readonly channel: string;
  readonly payload: string;
}

export interface TransactionConnection extends Queryable {
  executed?(): Promise<void>;
}

export interface TransactionParts {
  /** A connection that only this transaction uses until it ends. */
  readonly connection: TransactionConnection;
  /**
   * True if the connection sends each statement when `query` is called, in order, or throws synchronously. Several statements can
   * then be in flight, followed directly by COMMIT.
   */
  readonly sendsAtOnce: boolean;
  readonly isDistributed?: boolean;
  readonly snapshot?: boolean | undefined;
  /** Begins the transaction if a single statement is not enough. Only used if `sendsAtOnce` is false. */
  begin?(): Promise<unknown>;
  /** True if the first statements may be sent before the response to BEGIN. Only used if `sendsAtOnce` is false. */
  readonly readsFirst?: boolean | undefined;
  /** Sends a notification to other processes as part of the transaction. */
  sendNotification(connection: Queryable, notification: PendingNotification): Promise<void>;
  /** Delivers a notification in this process, immediately after the commit. */
  deliverNotification(notification: PendingNotification): void;
  /** Called once COMMIT is sent. */
  committing?(): void;
}

export function beginStatement(snapshot = false): string {
  return snapshot ? 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' : 'BEGIN';
}

export async function runTransaction<Result>(
  parts: TransactionParts,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const {
    connection,
    sendsAtOnce,
    isDistributed = false,
    snapshot,
    begin,
    readsFirst = false,
    sendNotification,
    deliverNotification,
    committing,
  } = parts;
  const notifications: PendingNotification[] = [];
  /**
   * The error of the first statement that failed. Statements that were sent after it fail too, without the cause. Their errors may
   * be reported earlier, because several responses arrive in one message.
   */
  let firstFailure: unknown;
  let isOver = false;
  /** Pending until BEGIN is confirmed. No result is used before, because without BEGIN the next statement would be committed. */
  let beginning: Promise<unknown> | undefined;
  function recordFailure(error: unknown): void {
    if (firstFailure === undefined || (isAborted(firstFailure) && !isAborted(error))) {
      firstFailure = error;
    }
  }
  /** Sends one statement, or rows, of the transaction. */
  function sendPart<Done>(send: () => Promise<Done>): Promise<Done> {
    if (isOver) {
      // Another part of the work has failed. This part must not write any more.
      throw new Error('the transaction is over');
    }
    try {
      const sent = send();
      sent.catch(recordFailure);
      return beginning === undefined ? sent : beginning.then(() => sent);
    } catch (error) {
      recordFailure(error);
      throw error;
    }
  }
  const end = async (how: 'COMMIT' | 'ROLLBACK') => connection.query(how);
  const { insertRows, executed } = connection;
  const tx: Transaction = {
    query: async <Row extends object>(sql: string, params?: readonly unknown[]) =>
      sendPart(() => connection.query<Row>(sql, params)),
    ...(insertRows !== undefined && {
      insertRows: async (...rows: Parameters<typeof insertRows>) => sendPart(() => insertRows(...rows)),
    }),
    ...(executed !== undefined && { executed }),
    isDistributed,
    get pipelined() {
      return pipelined;
    },
    async notify(channel, payload) {
      const notification = { channel, payload };
      await sendPart(() => sendNotification(connection, notification));
      notifications.push(notification);
    },
  };
  /** Errors of statements that are not awaited. */
  const unobserved = new Set<unknown>();
  /** Statements in flight that are not awaited. */
  const inFlight: Promise<unknown>[] = [];
  function sendPipelined(send: () => Promise<unknown>): void {
    const answered = sendPart(send).catch((error) => unobserved.add(error));
    if (!sendsAtOnce) {
      inFlight.push(answered);
    }
  }
  const pipelined: TransactionStatements = {
    isDistributed,
    async query(sql, params) {
      sendPipelined(() => connection.query(sql, params));
      return [];
    },
    ...(insertRows !== undefined && {
      async insertRows(...rows: Parameters<typeof insertRows>) {
        sendPipelined(() => insertRows(...rows));
      },
    }),
  };

  if (sendsAtOnce) {
    // Waits for the microtasks of the previous transaction, which update memory after its commit.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    await pipelined.query(beginStatement(snapshot));
  } else {
    const begun = begin?.() ?? connection.query(beginStatement(snapshot));
    if (readsFirst) {
      beginning = begun.then(() => {
        beginning = undefined;
      });
      beginning.catch((error) => {
        recordFailure(error);
        isOver = true;
      });
    } else {
      await begun;
    }
  }
  let result: Result;
  try {
    result = await work(tx);
    await Promise.all(inFlight);
    if (firstFailure !== undefined) {
      // COMMIT would roll back without an error. That must not be reported as success.
      throw unobserved.has(firstFailure)
        ? firstFailure
        : new Error('a statement of the transaction failed and its error was swallowed');
    }
  } catch (error) {
    isOver = true;
    // A connection that cannot roll back is broken; its owner discards it.
    await end('ROLLBACK').catch(() => undefined);
    throw isAborted(error) ? firstFailure : error;
  }
  isOver = true;
  const committed = end('COMMIT').catch(recordFailure);
  committing?.();
  await committed;
  if (firstFailure !== undefined) {
    // COMMIT itself has failed, or a statement before it, so that COMMIT rolled back.
    throw firstFailure;
  }
  for (const notification of notifications) {
    deliverNotification(notification);
  }
  return result;
}

/** The notification listeners of this process. */
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

  /** Notifies all listeners of all channels that notifications may have been missed. */
  invalidateAll(): void {
    for (const listeners of this.#listeners.values()) {
      for (const listener of listeners) {
        listener(null);
      }
    }
  }
}
