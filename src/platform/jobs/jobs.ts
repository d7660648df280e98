/** Work that recurs: bounded batches, a jitter so that processes do not act in step, and a stop that waits. */
import { performance } from 'node:perf_hooks';
import type { Log } from '../log.ts';

export interface Job {
  /** Stable, in kebab-case: it is in logs. */
  readonly id: string;
  readonly everyMs: number;
  /** One bounded batch. Returns true when there is more to do at once. */
  runOnce(): Promise<boolean>;
  /** How long to rest before the batch that follows at once, of how long the last one took. Without it: not at all. */
  restMs?(tookMs: number): number;
  /** Ends what a run has left going on. Called once, after the last run. */
  stop?(): Promise<void>;
}

export interface RunningJobs {
  stop(): Promise<void>;
}

export function startJobs(jobs: readonly Job[], log: Log): RunningJobs {
  const running = jobs.map((job) => startJob(job, log));
  return {
    async stop() {
      await Promise.all(running.map(({ stop }) => stop()));
    },
  };
}

function startJob({ id, everyMs, runOnce, restMs, stop }: Job, log: Log): RunningJobs {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> = Promise.resolve();
  let wake = () => {};

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
  function rest(ms: number): Promise<void> {
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
          await rest(restMs(performance.now() - startedMs));
        }
        startedMs = performance.now();
      }
    } catch (error) {
      log.warn({ job: id, err: error }, 'a job failed; it will run again');
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
        // Whatever it was, everything else still has to be closed.
        log.warn({ job: id, err: error }, 'a job could not end what it had left');
      }
    },
  };
}
