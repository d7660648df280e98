/** Work that recurs: bounded batches, a jitter so that processes do not act in step, and a stop that waits. */
import type { Log } from './log.ts';

export interface Job {
  readonly name: string;
  readonly everyMs: number;
  /** One bounded batch. Returns true when there is more to do at once. */
  runOnce(): Promise<boolean>;
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

function startJob({ name, everyMs, runOnce, stop }: Job, log: Log): RunningJobs {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> = Promise.resolve();

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
  async function run(): Promise<void> {
    try {
      while (!stopped && (await runOnce())) {
        // The next batch.
      }
    } catch (error) {
      log.warn({ job: name, err: error }, 'a job failed; it will run again');
    }
    schedule();
  }

  schedule();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await current;
      try {
        await stop?.();
      } catch (error) {
        // Whatever it was, everything else still has to be closed.
        log.warn({ job: name, err: error }, 'a job could not end what it had left');
      }
    },
  };
}
