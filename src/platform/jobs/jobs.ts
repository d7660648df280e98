/** Recurring jobs: bounded batches, jitter against processes that run them at the same time, and a stop that waits for runs. */
import { performance } from 'node:perf_hooks';
import { createFailureLog } from '../failure-log.ts';
import type { Log } from '../log.ts';

export interface Job {
  /** Stable and in kebab-case, because it is logged. */
  readonly id: string;
  readonly everyMs: number;
  /** Runs one bounded batch. Returns true if there is more to do. */
  runOnce(): Promise<boolean>;
  /** Returns the pause before the next batch of a backlog, given the duration of the last batch. Default: no pause. */
  restMs?(tookMs: number): number;
  /** Ends work that a run has left unfinished. Called once, after the last run. */
  stop?(): Promise<void>;
}

export interface RunningJobs {
  /** Can be called twice. */
  stop(): Promise<void>;
}

export function startJobs(jobs: readonly Job[], log: Log): RunningJobs {
  const running = jobs.map((job) => startJob(job, log));
  let stopping: Promise<unknown> | undefined;
  return {
    async stop() {
      stopping ??= Promise.all(running.map(({ stop }) => stop()));
      await stopping;
    },
  };
}

function startJob({ id, everyMs, runOnce, restMs, stop }: Job, log: Log): RunningJobs {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> = Promise.resolve();
  let wake = () => {};
  const failures = createFailureLog({
    log,
    fields: { job: id },
    messages: {
      failed: 'job failed; will run again',
      stillFails: 'job still fails; will run again',
      recovered: 'job succeeds again',
    },
  });

  function schedule(): void {
    if (!stopped) {
      timer = setTimeout(
        () => {
          current = run();
        },
        everyMs * (0.75 + Math.random() / 2),
      );
      timer.unref();
    }
  }
  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      wake = resolve;
      setTimeout(resolve, ms).unref();
    });
  }
  async function run(): Promise<void> {
    try {
      let startedMs = performance.now();
      while (!stopped && (await runOnce())) {
        if (restMs !== undefined && !stopped) {
          await pause(restMs(performance.now() - startedMs));
        }
        startedMs = performance.now();
      }
      failures.succeeded();
    } catch (error) {
      failures.failed(error);
    }
    schedule();
  }

  schedule();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      wake();
      await current;
      try {
        await stop?.();
      } catch (error) {
        // Only logged, because everything else must still be closed.
        log.warn({ job: id, err: error }, 'job failed to stop');
      }
    },
  };
}
