/**
 * Named points at which a test can make a real fault happen: throw, wait, or end the process.
 * In production the hook does nothing, and no setting can change that.
 */
export type FaultPoint =
  /** The request is admitted, its key reserved; the handler has not begun. */
  | 'handler'
  /** Long work has told how far it is, and goes on next. */
  | 'progress'
  /** All statements of a write have run; its commit has not been sent. */
  | 'write.before_commit'
  /** The commit is done; the answer has not been sent. */
  | 'write.after_commit'
  /** A support session's request is written to the record, which is not committed yet; nothing is served yet. */
  | 'support.before_commit'
  /** A batch is deleted; its commit has not been sent. */
  | 'retention.before_commit'
  /** A webhook was sent and answered; what became of it is not written yet. */
  | 'webhook.after_send';

/** `about` is the id of the route, the kind of the event that was sent, or what was deleted. */
export type Faults = (point: FaultPoint, about: string) => void | Promise<void>;

export const noFaults: Faults = () => undefined;
