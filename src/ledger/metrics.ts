/** What the books show of themselves on `/metrics`. Counted in plain numbers, which are read when someone asks. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ErrorCode } from '../contract/errors.ts';
import { nanosPerUsd } from '../kernel/money.ts';
import type { Database } from '../platform/db/database.ts';
import type { SharedClock } from '../platform/time/clock.ts';
import type { Ledger } from './ledger.ts';

export type DecisionSurface = 'edge' | 'run' | 'routing';
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
  ]);

  /** `code` is that of a refusal, empty for an allow. */
  function count(surface: DecisionSurface, outcome: DecisionOutcome, code: ErrorCode | '', times = 1): void {
    const ofSurface = counts.get(surface) as Map<ErrorCode | '', DecisionCount>;
    const there = ofSurface.get(code);
    if (there === undefined) {
      ofSurface.set(code, { surface, outcome, code, total: times });
    } else {
      there.total += times;
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

/** Of the whole process, like its memory. */
export const decisionCounts = createDecisionCounts();

export interface DriftGauge {
  /** What the last reconciliation of an org has found. */
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
  readonly ledger: Pick<Ledger, 'stats'>;
  readonly clock: SharedClock;
  readonly drift: DriftGauge;
}

export function registerLedgerMetrics(registry: Registry, deps: LedgerMetricsDependencies): void {
  new Counter({
    name: 'svc_decisions_total',
    help: 'Decisions by where they were asked for, their outcome and the code of a refusal.',
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
    name: 'svc_oldest_overdue_hold_seconds',
    help: 'How long the oldest hold past its time has waited to be released.',
    registers: [registry],
    async collect() {
      this.set((await open()).overdueSeconds);
    },
  });
  new Gauge({
    name: 'svc_ledger_drift',
    help: 'How far the books were apart, in US dollars, when each org was last reconciled.',
    registers: [registry],
    collect() {
      this.set(Number(deps.drift.total()) / Number(nanosPerUsd));
    },
  });
}

interface HoldStats {
  readonly openHolds: number;
  readonly overdueSeconds: number;
}

/** PostgreSQL keeps the holds of all processes; otherwise they are in memory. While the database is away, the last is shown. */
function holdStats({ db, ledger, clock }: LedgerMetricsDependencies): () => Promise<HoldStats> {
  let last: HoldStats = { openHolds: 0, overdueSeconds: 0 };
  let reading: Promise<HoldStats> | undefined;

  async function read(): Promise<HoldStats> {
    try {
      const [row] = await db.query<{ open: number; oldest: Date | null; now: Date }>(
        'SELECT count(*)::float8 AS open, min(expires_at) AS oldest, now() AS now FROM holds',
      );
      const overdueMs = row?.oldest == null ? 0 : clock.agreed(row.now).getTime() - row.oldest.getTime();
      last = { openHolds: row?.open ?? 0, overdueSeconds: Math.max(0, overdueMs) / 1_000 };
    } catch {
      // Shown as it was: the scrape is not to fail, and that the database is away shows elsewhere.
    } finally {
      reading = undefined;
    }
    return last;
  }

  if (db.engine === 'postgres') {
    return () => {
      reading ??= read();
      return reading;
    };
  }
  return async () => {
    const { openHolds, oldestHoldMs } = ledger.stats();
    return { openHolds, overdueSeconds: oldestHoldMs / 1_000 };
  };
}
