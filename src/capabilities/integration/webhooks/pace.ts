/** How fast a receiver is found to be, and so how many attempts it may have under way at a time. */
import type { Answer } from './sender.ts';

const attemptsPerLane = 8;
/** Per attempt that may be under way: so many quick answers, one after the other, double them. */
const quickAnswersToWiden = 4;
/** An answer that takes longer makes its receiver a slow one. */
export const slowMs = 2_000;

export class Pace {
  #isSlow: boolean | undefined;
  #quickInARow = 0;

  constructor(wasSlow: boolean) {
    this.#isSlow = wasSlow ? true : undefined;
  }

  /** Undefined: nothing is known yet. */
  get isSlow(): boolean | undefined {
    return this.#isSlow;
  }

  /** 1, 2, 4, 8: trust is gained over many answers and lost with one. */
  get width(): number {
    const doublings = Math.floor(Math.log2(this.#quickInARow / quickAnswersToWiden + 1));
    return Math.min(2 ** doublings, attemptsPerLane);
  }

  get isFull(): boolean {
    return this.width === attemptsPerLane;
  }

  note(answer: Answer): void {
    this.#isSlow = !isQuick(answer);
    this.#quickInARow = this.#isSlow ? 0 : this.#quickInARow + 1;
  }
}

/** Whoever asks for patience gets it. */
function isQuick({ status, latencyMs, retryAfter }: Answer): boolean {
  return status !== null && latencyMs < slowMs && retryAfter === undefined;
}
