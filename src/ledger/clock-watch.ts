/** Watches whether the time of the ledger is ahead of the clock, because the clock was wrong before. */
import type { Job } from '../platform/jobs/jobs.ts';
import type { Log } from '../platform/log.ts';
import type { LedgerMaintenance } from './ledger.ts';

/**
 * A ledger that is further ahead counts decisions in windows that have not begun. Smaller differences disappear as the clock
 * catches up.
 */
export const clockAheadMsMax = 60_000;

export interface ClockWatchDependencies {
  readonly ledger: Pick<LedgerMaintenance, 'clockAheadMs'>;
  readonly log: Log;
  /** Called when the ledger becomes ahead by more than `clockAheadMsMax`, and when it no longer is. */
  onChange(isAhead: boolean): void;
}

export function clockWatch({ ledger, log, onChange }: ClockWatchDependencies): Job {
  let wasAhead = false;
  return {
    id: 'watch-ledger-clock',
    everyMs: 5_000,
    async runOnce() {
      const aheadMs = await ledger.clockAheadMs();
      const isAhead = aheadMs > clockAheadMsMax;
      if (isAhead !== wasAhead) {
        wasAhead = isAhead;
        if (isAhead) {
          log.error(
            { aheadSeconds: Math.round(aheadMs / 1_000) },
            'the ledger is ahead of the clock: correct the clock, or run `purser ledger reset-clock`',
          );
        } else {
          log.info('the ledger is no longer ahead of the clock');
        }
        onChange(isAhead);
      }
      return false;
    },
  };
}
