/** The last run of each job in this process, for operators. */
import type { Clock } from '../time/clock.ts';
import type { Job } from './jobs.ts';

export interface JobStatus {
  readonly id: string;
  readonly everyMs: number;
  /** Start of the last run; null if the job has not run yet. */
  readonly startedAt: Date | null;
  /** End of the last run that has ended; null if none has. */
  readonly endedAt: Date | null;
  readonly isRunning: boolean;
  /** Runs that failed since the last success. */
  readonly failures: number;
  /** The error of the last failure, kept after a success. */
  readonly lastError: string | null;
  readonly failedAt: Date | null;
}

export interface JobHistory {
  /** Returns the job with a wrapper that records its runs. */
  observe(job: Job): Job;
  statuses(): readonly JobStatus[];
}

/** Maximum length of an error, because errors may quote long values. */
const errorLengthMax = 300;

export function createJobHistory(clock: Clock): JobHistory {
  const statuses = new Map<string, JobStatus>();

  function change(id: string, part: Partial<JobStatus>): void {
    const before = statuses.get(id);
    if (before !== undefined) {
      statuses.set(id, { ...before, ...part });
    }
  }

  return {
    statuses: () => [...statuses.values()],
    observe(job) {
      const { id, everyMs } = job;
      statuses.set(id, {
        id,
        everyMs,
        startedAt: null,
        endedAt: null,
        isRunning: false,
        failures: 0,
        lastError: null,
        failedAt: null,
      });
      return {
        ...job,
        async runOnce() {
          change(id, { startedAt: clock.now(), isRunning: true });
          try {
            const more = await job.runOnce();
            change(id, { isRunning: false, endedAt: clock.now(), failures: 0 });
            return more;
          } catch (error) {
            const now = clock.now();
            change(id, {
              isRunning: false,
              endedAt: now,
              failedAt: now,
              failures: (statuses.get(id)?.failures ?? 0) + 1,
              lastError: String((error as Error).message).slice(0, errorLengthMax),
            });
            throw error;
          }
        },
      };
    },
  };
}
