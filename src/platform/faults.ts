/**
 * Fault points: named points at which a test can throw, wait or end the process. In production the hook does nothing, and no
 * setting can change that.
 */
export type FaultPoint =
  /** The request is admitted, and the idempotency key of a write reserved; the handler has not started. */
  | 'handler'
  /** Long work has reported its progress and continues next. */
  | 'progress'
  /** The commit of a write is done; the response has not been sent. */
  | 'write.after_commit'
  /** All statements of a transaction have run; its commit has not been sent. Named after its owner: `write.before_commit`. */
  | `${string}.before_commit`
  /** A message was sent and answered; the outcome has not been written. Named after its sender. */
  | `${string}.after_send`;

/** `about` is the id of the route, the type of the event that was sent, or the kind of rows that were deleted. */
export type Faults = (point: FaultPoint, about: string) => void | Promise<void>;

export const noFaults: Faults = () => undefined;
