/** Measures the speed of a receiver, which determines its number of concurrent attempts. */
import type { Answer } from './answer.ts';

const attemptsPerQueue = 8;
/** Consecutive quick responses per concurrent attempt after which the number of attempts is doubled. */
const quickResponsesToWiden = 4;
/** A response that takes longer marks the receiver as slow. */
export const slowMs = 2_000;

export class DeliveryPace {
  #isSlow: boolean | undefined;
  #quickInARow = 0;

  constructor(wasSlow: boolean) {
    this.#isSlow = wasSlow ? true : undefined;
  }

  /** Undefined if the speed is not known yet. */
  get isSlow(): boolean | undefined {
    return this.#isSlow;
  }

  /** Number of concurrent attempts, 1, 2, 4 or 8: increased after many quick responses, and reset by a slow one. */
  get width(): number {
    const doublings = Math.floor(Math.log2(this.#quickInARow / quickResponsesToWiden + 1));
    return Math.min(2 ** doublings, attemptsPerQueue);
  }

  get isFull(): boolean {
    return this.width === attemptsPerQueue;
  }

  note(answer: Answer): void {
    this.#isSlow = !isQuick(answer);
    this.#quickInARow = this.#isSlow ? 0 : this.#quickInARow + 1;
  }
}

/** A response with `Retry-After` does not count as quick. */
function isQuick({ status, latencyMs, retryAfter }: Answer): boolean {
  return status !== null && latencyMs < slowMs && retryAfter === undefined;
}
