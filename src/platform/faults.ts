/**
 * Fault points: named points at which a test can throw, wait or end the process. In production the hook is a no-op, and no setting
 * can change that.
 */
export type FaultPoint =
  /** The request is admitted, and a write has reserved its idempotency key; the handler has not started. */
  | 'handler'
  /** Long work has reported its progress and is about to continue. */
  | 'progress'
  /** The commit of a write is done; the response has not been sent. */
  | 'write.after_commit'
  /** All statements of a transaction have run; its commit has not been sent. The prefix is its owner: `write.before_commit`. */
  | `${string}.before_commit`
  /** A message was sent and answered; its result has not been stored. The prefix is the sender. */
  | `${string}.after_send`;

/**
 * Called at each fault point. `about` is the id of the route, the type of the event that was sent, or the kind of rows that were
 * deleted.
 */
export type Faults = (point: FaultPoint, about: string) => void | Promise<void>;

export const noFaults: Faults = () => undefined;
