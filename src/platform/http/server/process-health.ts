/** The health of this process: collects the reasons not to be ready, and publishes them to the health listener. */
import {
  answerHealth,
  createHealthState,
  monotonicMs,
  publishHealth,
  type UnreadyReason,
} from './health-state.js';

/** Interval at which the event loop proves that it is running. */
const beatEveryMs = 500;

export class ProcessHealth {
  /** Memory shared with the thread of the health listener. */
  readonly state = createHealthState();
  readonly #reasons = new Set<UnreadyReason>(['starting']);
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#publish();
    this.#timer = setInterval(() => this.#publish(), beatEveryMs);
    this.#timer.unref();
  }

  /** Adds or removes a reason not to be ready. */
  set(reason: UnreadyReason, applies: boolean): void {
    if (applies) {
      this.#reasons.add(reason);
    } else {
      this.#reasons.delete(reason);
    }
    this.#publish();
  }

  /** Answers on the main port. Any answer proves that the event loop is running. */
  answer(path: '/healthz' | '/readyz'): { readonly status: number; readonly body: string } {
    this.#publish();
    return answerHealth(path, this.state, monotonicMs()) as { status: number; body: string };
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #publish(): void {
    publishHealth(this.state, [...this.#reasons], monotonicMs());
  }
}

/** Returns the reasons of `/readyz`; empty if the process is ready. */
export function unreadyReasonsOf(health: Pick<ProcessHealth, 'answer'>): readonly string[] {
  const { reasons = [] } = JSON.parse(health.answer('/readyz').body) as { reasons?: readonly string[] };
  return reasons;
}
