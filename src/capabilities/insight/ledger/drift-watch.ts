/**
 * Reconciles ledgers in the background, so that a drift is reported without a request. Each run checks a few orgs with
 * new postings, the least recently checked first. A wrong growth of counters is repaired. The longer a check takes, the longer the org is skipped, so that
 * the checks of an org take at most about a hundredth of the time.
 */
import type { LedgerMaintenance, LedgerReads } from '../../../ledger/ledger.ts';
import type { DriftGauge } from '../../../ledger/metrics.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { runForEach } from '../../../platform/jobs/run-for-each.ts';
import type { Log } from '../../../platform/log.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { findRecentlyBooked } from './ledger-bounds.ts';
import { reconcile } from './reconciliation.ts';

export interface DriftWatchDependencies {
  readonly db: Database;
  readonly ledger: Pick<LedgerReads, 'inspect'>;
  readonly maintenance: Pick<LedgerMaintenance, 'recountGrowth'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly drift: DriftGauge;
}

const everyMs = 3 * 60_000;
const orgsPerRun = 10;
const candidatesMax = 1_000;
const restPerMs = 100;

interface LastCheck {
  readonly atMs: number;
  /** Earliest time of the next check. */
  readonly restUntilMs: number;
  /** True if the check threw an error: it is then repeated even if there are no new postings. */
  readonly failed: boolean;
}

export function driftWatch({ db, ledger, maintenance, clock, log, drift }: DriftWatchDependencies): Job {
  const checks = new Map<string, LastCheck>();

  async function due(): Promise<string[]> {
    const nowMs = clock.now().getTime();
    const candidates = await findRecentlyBooked(db, candidatesMax);
    // The last check of an org that is no longer a candidate is dropped, which bounds the map.
    const known = new Set(candidates.map(({ org_id }) => org_id));
    for (const orgId of checks.keys()) {
      if (!known.has(orgId)) {
        checks.delete(orgId);
      }
    }
    return candidates
      .map(({ org_id, last_at }) => ({
        orgId: org_id,
        lastAtMs: last_at.getTime(),
        check: checks.get(org_id),
      }))
      .filter(
        ({ lastAtMs, check }) =>
          check === undefined || ((check.failed || check.atMs <= lastAtMs) && check.restUntilMs <= nowMs),
      )
      .sort((a, b) => (a.check?.atMs ?? 0) - (b.check?.atMs ?? 0))
      .slice(0, orgsPerRun)
      .map(({ orgId }) => orgId);
  }

  async function check(orgId: string): Promise<void> {
    const startedAt = clock.now();
    let failed = true;
    try {
      await compare(orgId, startedAt);
      failed = false;
    } finally {
      const endedMs = clock.now().getTime();
      const tookMs = endedMs - startedAt.getTime();
      checks.set(orgId, { atMs: startedAt.getTime(), restUntilMs: endedMs + tookMs * restPerMs, failed });
    }
  }

  async function compare(orgId: string, startedAt: Date): Promise<void> {
    const { view, driftNanos } = await reconcile({ db, ledger }, orgId, startedAt);
    drift.set(orgId, driftNanos);
    if (!view.balanced) {
      log.error(
        { orgId, driftUsd: view.drift_usd, counters: view.counters.slice(0, 5) },
        'ledger does not balance',
      );
    }
    // The growth is a sum of open holds and no money, so it is repaired. One that is too large denies calls.
    if (view.counters.some(({ growth, growth_by_holds }) => growth !== growth_by_holds)) {
      await maintenance.recountGrowth(orgId);
      drift.set(orgId, (await reconcile({ db, ledger }, orgId, startedAt)).driftNanos);
    }
  }

  return {
    id: 'reconcile-ledger',
    everyMs,
    async runOnce() {
      await runForEach(await due(), check, 'ledgers could not be reconciled');
      return false;
    },
  };
}
