/** Ledger metrics on `/metrics`. Counts are plain numbers that are read on each scrape. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ErrorCode } from '../contract/errors.ts';
import { nanosPerUsd } from '../kernel/money.ts';
import { agreedNow } from '../platform/db/agreed-now.ts';
import type { Database } from '../platform/db/database.ts';
import type { SharedClock } from '../platform/time/clock.ts';
import type { LedgerMaintenance } from './ledger.ts';

export type DecisionSurface = 'edge' | 'run' | 'routing' | 'increase';
export type DecisionOutcome = 'allow' | 'deny';

interface DecisionCount {
  readonly surface: DecisionSurface;
  readonly outcome: DecisionOutcome;
  readonly code: ErrorCode | '';
  total: number;
}

function createDecisionCounts() {
  const counts = new Map<DecisionSurface, Map<ErrorCode | '', DecisionCount>>([
    ['edge', new Map()],
    ['run', new Map()],
    ['routing', new Map()],
    ['increase', new Map()],
  ]);

  /** Adds decisions to a count. `code` is the error code of a denial; empty for an allow. */
  function count(surface: DecisionSurface, outcome: DecisionOutcome, code: ErrorCode | '', times = 1): void {
    const ofSurface = counts.get(surface) as Map<ErrorCode | '', DecisionCount>;
    const existing = ofSurface.get(code);
    if (existing === undefined) {
      ofSurface.set(code, { surface, outcome, code, total: times });
    } else {
      existing.total += times;
    }
  }

  function all(): DecisionCount[] {
    return [...counts.values()].flatMap((ofSurface) => [...ofSurface.values()]);
  }

  function totalOf(surface: DecisionSurface): number {
    let sum = 0;
    for (const { total } of counts.get(surface)?.values() ?? []) {
      sum += total;
    }
    return sum;
  }

  return { count, all, totalOf };
}

/** Counts of the whole process. */
export const decisionCounts = createDecisionCounts();

export interface DriftGauge {
  /** Sets the drift found by the last reconciliation of an org. */
  set(orgId: string, nanos: bigint): void;
  total(): bigint;
}

const orgsMax = 10_000;

export function createDriftGauge(): DriftGauge {
  const byOrg = new Map<string, bigint>();
  return {
    set(orgId, nanos) {
      byOrg.delete(orgId);
      if (nanos !== 0n && byOrg.size < orgsMax) {
        byOrg.set(orgId, nanos);
      }
    },
    total: () => [...byOrg.values()].reduce((sum, nanos) => sum + nanos, 0n),
  };
}

export interface LedgerMetricsDependencies {
  readonly db: Database;
  readonly ledger: Pick<LedgerMaintenance, 'stats' | 'clockAheadMs'>;
  readonly clock: SharedClock;
  readonly drift: DriftGauge;
}

export function registerLedgerMetrics(registry: Registry, deps: LedgerMetricsDependencies): void {
  new Counter({
    name: 'svc_decisions_total',
    help: 'Decisions by surface, outcome and error code of the denial. Surface `increase`: increases of holds.',
    labelNames: ['surface', 'outcome', 'code'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { surface, outcome, code, total } of decisionCounts.all()) {
        this.inc({ surface, outcome, code }, total);
      }
    },
  });
  const open = holdStats(deps);
  new Gauge({
    name: 'svc_open_holds',
    help: 'Holds that are neither settled, voided nor expired.',
    registers: [registry],
    async collect() {
      this.set((await open()).openHolds);
    },
  });
  new Gauge({
    name: 'svc_overdue_holds',
    help: 'Holds that have expired and are not released yet. They still reserve their amount.',
    registers: [registry],
    async collect() {
      this.set((await open()).overdueHolds);
    },
  });
  new Gauge({
    name: 'svc_oldest_overdue_hold_seconds',
    help: 'Seconds since the expiry of the oldest hold that is not released yet.',
    registers: [registry],
    async collect() {
      this.set((await open()).overdueSeconds);
    },
  });
  const aheadMs = clockAhead(deps);
  new Gauge({
    name: 'svc_ledger_clock_ahead_seconds',
    help: 'Seconds that the ledger is ahead of the clock, of the organization that is furthest ahead.',
    registers: [registry],
    async collect() {
      this.set((await aheadMs()) / 1_000);
    },
  });
  new Gauge({
    name: 'svc_ledger_drift',
    help: 'Ledger drift in US dollars, summed over the last reconciliation of each org.',
    registers: [registry],
    collect() {
      this.set(Number(deps.drift.total()) / Number(nanosPerUsd));
    },
  });
}

/**
 * Returns a function that reads the value of the metric. While the database is unavailable, it returns the last value, because the
 * scrape must not fail.
 */
function clockAhead({ ledger }: LedgerMetricsDependencies): () => Promise<number> {
  let lastMs = 0;
  return async () => {
    lastMs = await ledger.clockAheadMs().catch(() => lastMs);
    return lastMs;
  };
}

interface HoldStats {
  readonly openHolds: number;
  readonly overdueHolds: number;
  readonly overdueSeconds: number;
}

/**
 * Returns a function that reads the figures of open holds: on PostgreSQL from the database, which has the holds of all processes,
 * otherwise from memory. While the database is unavailable, it returns the last values.
 */
function holdStats({ db, ledger, clock }: LedgerMetricsDependencies): () => Promise<HoldStats> {
  let last: HoldStats = { openHolds: 0, overdueHolds: 0, overdueSeconds: 0 };
  let inFlight: Promise<HoldStats> | undefined;

  async function read(): Promise<HoldStats> {
    try {
      const now = await agreedNow(db, clock);
      const [row] = await db.query<{ open: number; overdue: number; oldest: Date | null }>(
        `SELECT count(*)::float8 AS open, count(*) FILTER (WHERE expires_at <= $1)::float8 AS overdue,
                min(expires_at) AS oldest FROM holds`,
        [now],
      );
      const overdueMs = row?.oldest == null ? 0 : now.getTime() - row.oldest.getTime();
      last = {
        openHolds: row?.open ?? 0,
        overdueHolds: row?.overdue ?? 0,
        overdueSeconds: Math.max(0, overdueMs) / 1_000,
      };
    } catch {
      // The scrape must not fail, so the last values are returned. Other metrics show that the database is unavailable.
    } finally {
      inFlight = undefined;
    }
    return last;
  }

  if (db.engine === 'postgres') {
    return () => {
      inFlight ??= read();
      return inFlight;
    };
  }
  return async () => {
    const { openHolds, overdueHolds, oldestOverdueMs } = ledger.stats();
    return { openHolds, overdueHolds, overdueSeconds: oldestOverdueMs / 1_000 };
  };
}
