/** Logs the phases of a start with their durations. During a long phase it also logs which one is running and its progress. */
import { performance } from 'node:perf_hooks';
import type { Log } from '../platform/log.ts';

/** Stable ids, because they are logged. */
export type StartPhase = 'open-database' | 'apply-migrations' | 'load-state' | 'listen';

export interface StartPhases {
  /** Runs a phase. `progress` returns fields that are logged during the phase and at its end. */
  run<Result>(phase: StartPhase, work: () => Promise<Result>, progress?: () => object): Promise<Result>;
  /** Milliseconds since the start began. */
  elapsedMs(): number;
}

export const progressEveryMs = 5_000;

export function logStartPhases(log: Log, nowMs: () => number = () => performance.now()): StartPhases {
  const startedMs = nowMs();
  return {
    elapsedMs: () => Math.round(nowMs() - startedMs),
    async run(phase, work, progress = () => ({})) {
      const phaseStartedMs = nowMs();
      const fields = () => ({ phase, ...progress(), durationMs: Math.round(nowMs() - phaseStartedMs) });
      const timer = setInterval(
        () => log.info(fields(), `start: ${phase} is in progress`),
        progressEveryMs,
      ).unref();
      try {
        const result = await work();
        log.info(fields(), `start: ${phase} is complete`);
        return result;
      } finally {
        clearInterval(timer);
      }
    },
  };
}
