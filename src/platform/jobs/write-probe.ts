/**
 * Tests whether writes succeed by making a small one every two seconds. A database may answer queries while it is read-only, its
 * disk is full or its synchronous standby does not respond.
 *
 * A single failed probe does not change the result. Writes count as failing after two failures in a row, or if none has succeeded
 * for ten seconds (a probe that hangs). They count as succeeding again after two successes in a row. A probe that waits for other
 * work does not count as hanging while that work makes progress. If a real write fails for a reason that affects all writes, such
 * as a full disk, writes count as failing immediately, because the small write of a probe may still find space.
 */
import { performance } from 'node:perf_hooks';
import type { Log } from '../log.ts';
import { OverCapacity } from '../service-unavailable.ts';

export interface WriteProbeOptions {
  /** Name of the storage, in kebab-case, for the log. */
  readonly target: string;
  /** Makes a small durable write. Rejects within a bounded time if it fails. */
  write(): Promise<unknown>;
  /** Time of the last progress of other work that `write` may wait for. Undefined: `write` waits for no other work. */
  progressAtMs?(): number | undefined;
  /** Called when the result changes, and after the first probe. */
  onChange(succeeds: boolean): void;
  readonly log: Log;
  nowMs?(): number;
}

export interface WriteProbe {
  /** Probes once. Never rejects. */
  probe(): Promise<void>;
  /** Reports that a real write failed. Writes count as failing immediately, until probes succeed. */
  reportFailure(error: unknown): void;
  start(): void;
  /** Stops the probes. Does not wait for one that hangs. */
  stop(): void;
}

export const probeEveryMs = 2_000;
/** Time without a success after which writes count as failing. */
export const staleAfterMs = 10_000;
const failuresInRow = 2;
const successesInRow = 2;

export function createWriteProbe(options: WriteProbeOptions): WriteProbe {
  const { target, write, onChange, log, nowMs = () => performance.now() } = options;
  /** Undefined until the first probe has finished. */
  let succeeds: boolean | undefined;
  let failures = 0;
  let successes = 0;
  let succeededAtMs = nowMs();
  let timers: NodeJS.Timeout[] = [];
  let isStopped = false;

  function change(to: boolean, error?: unknown): void {
    if (succeeds === to) {
      return;
    }
    if (!to) {
      log.error({ target, err: error }, 'writes fail: not ready');
    } else if (succeeds === false) {
      log.info({ target }, 'writes succeed again');
    }
    succeeds = to;
    onChange(to);
  }

  function succeeded(): void {
    succeededAtMs = nowMs();
    failures = 0;
    successes += 1;
    if (succeeds === undefined || successes >= successesInRow) {
      change(true);
    }
  }

  function failed(error: unknown): void {
    // A full queue says nothing about writes. If it stays full, the age of the last success decides.
    if (error instanceof OverCapacity) {
      return;
    }
    successes = 0;
    failures += 1;
    if (succeeds === undefined || failures >= failuresInRow) {
      change(false, error);
    }
  }

  async function probe(): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!isStopped) {
        failed(error);
      }
      return;
    }
    succeeded();
  }

  /** Checks the age of the last success. Runs independently of the probe, which may hang. */
  function checkAge(): void {
    if (nowMs() - Math.max(succeededAtMs, options.progressAtMs?.() ?? 0) >= staleAfterMs) {
      successes = 0;
      change(false, new Error('no write has succeeded for ten seconds'));
    }
  }

  function schedule(work: () => Promise<void> | void): void {
    const timer = setTimeout(async () => {
      timers = timers.filter((one) => one !== timer);
      await work();
      if (!isStopped) {
        schedule(work);
      }
    }, probeEveryMs);
    timer.unref();
    timers.push(timer);
  }

  return {
    probe,
    reportFailure(error) {
      if (!isStopped) {
        successes = 0;
        change(false, error);
      }
    },
    start() {
      schedule(probe);
      schedule(checkAge);
    },
    stop() {
      isStopped = true;
      timers.forEach(clearTimeout);
    },
  };
}
