/**
 * Limits concurrent requests by how busy the event loop is. While the loop has idle time, more concurrent requests finish more
 * work. On a busy loop they only lengthen each turn, and with it every statement of every request.
 */
import { performance } from 'node:perf_hooks';

/** The lower bound is high enough to keep a busy event loop busy. */
const limitMin = 4;
const checkEveryMs = 20;
const busyFrom = 0.9;
/** Factor by which a check lowers the limit when the event loop is busy. */
const remainingPart = 0.75;

export class BusyLoopLimit {
  readonly #max: number;
  readonly #nowMs: () => number;
  readonly #utilization: () => number;
  #checkedAtMs: number;
  #limit: number;

  /** `utilization` returns the utilization of the event loop since its previous call. */
  constructor(max: number, nowMs = () => performance.now(), utilization = eventLoopUtilization()) {
    this.#max = max;
    this.#nowMs = nowMs;
    this.#utilization = utilization;
    this.#checkedAtMs = nowMs();
    this.#limit = max;
  }

  current(): number {
    const nowMs = this.#nowMs();
    if (nowMs - this.#checkedAtMs >= checkEveryMs) {
      this.#checkedAtMs = nowMs;
      this.#limit =
        this.#utilization() >= busyFrom
          ? Math.max(limitMin, Math.floor(this.#limit * remainingPart))
          : Math.min(this.#max, this.#limit + 1);
    }
    return this.#limit;
  }
}

function eventLoopUtilization(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
