/**
 * Deletes expired data, org by org, in bounded batches. A batch, its closing balances and its count are one
 * transaction, so an interrupted deletion is resumed by the next process. After each batch the job pauses in proportion
 * to its duration, and longer while many decisions are made, so that it uses only a part of the machine's time.
 *
 * A kind of data that fails for an org is postponed and the job continues with the next kind; the same applies to an
 * org that fails as a whole. A failure in one org must not delay the deletions of the others.
 */
import { Gauge, type Registry } from 'prom-client';
import { createDecisionRate } from '../../../ledger/decision-rate.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import { dropEmptyMonths } from '../../../ledger/partitions.ts';
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Faults } from '../../../platform/faults.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Log } from '../../../platform/log.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { removeOldAccess } from '../../access/support/index.ts';
import { removeOldDeliveries, removeOldEvents } from '../../integration/webhooks/index.ts';
import { type Appending, recordChange, removeOldEntries, type Signer } from '../audit/index.ts';
import { deleteContents, deleteLedgerEntries, deleteRuns } from './deletions.ts';
import { viewRetentionRun } from './policies.ts';
import {
  addDeleted,
  claimDue,
  countFailing,
  type DeletedKind,
  deletedKinds,
  deleteEmptyRun,
  finishRun,
  openRun,
  type Postponed,
  postpone,
  postponeKind,
  type RetentionPolicyRow,
  scheduleNext,
} from './queries.ts';
import { ledgerDaysMin } from './schema.ts';

export interface RetentionDependencies extends Appending {
  readonly db: Database;
  readonly clock: SharedClock;
  readonly faults: Faults;
  readonly signer: Signer;
  readonly log: Log;
}

const dayMs = 24 * 3_600_000;
const everyMs = 5_000;
const rowsPerBatch = 1_000;
/** Pause after a batch, in multiples of its duration. */
const pausePerMs = { quiet: 3, busy: 12 };
const restMsMax = 4_000;
/** Rate of decisions above which the process counts as busy. */
const busyDecisionsPerMs = 0.1;

/**
 * Returns the pause after a batch: a multiple of its duration, larger while this process is busy with decisions, and at
 * most `restMsMax`.
 */
export function pauseMsAfter(tookMs: number, decisionsPerMs: number): number {
  const times = decisionsPerMs > busyDecisionsPerMs ? pausePerMs.busy : pausePerMs.quiet;
  return Math.min(restMsMax, tookMs * times);
}

/** Delay before a failed deletion is retried. */
export const retryAfterMs = 10 * 60_000;

interface DeletionStep {
  readonly kind: DeletedKind;
  /** The kind that must be deleted first: while it is postponed, this one is skipped. */
  readonly after?: DeletedKind;
  run(tx: Transaction, policy: RetentionPolicyRow, now: Date): Promise<number>;
}

const daysBefore = (now: Date, days: number) => new Date(now.getTime() - days * dayMs);

function stepsOf(signer: Signer): DeletionStep[] {
  const limit = rowsPerBatch;
  return [
    {
      kind: 'contents',
      run: async (tx, { org_id, content_days }, now) =>
        // If the policy keeps no content, all content is deleted, also of runs dated up to a day ahead.
        deleteContents(tx, org_id, {
          before: daysBefore(now, content_days === 0 ? -1 : content_days),
          limit,
        }),
    },
    {
      kind: 'runs',
      run: async (tx, { org_id, runs_days }, now) =>
        runs_days === null ? 0 : deleteRuns(tx, org_id, { before: daysBefore(now, runs_days), now, limit }),
    },
    {
      kind: 'ledger_entries',
      after: 'runs',
      run: async (tx, { org_id, runs_days }, now) =>
        runs_days === null
          ? 0
          : deleteLedgerEntries(tx, org_id, {
              before: daysBefore(now, Math.max(runs_days, ledgerDaysMin)),
              limit,
            }),
    },
    {
      kind: 'deliveries',
      run: (tx, { org_id, deliveries_days }, now) =>
        removeOldDeliveries(tx, { orgId: org_id, now, days: deliveries_days }),
    },
    {
      kind: 'events',
      after: 'deliveries',
      run: (tx, { org_id, deliveries_days }, now) =>
        removeOldEvents(tx, { orgId: org_id, now, days: deliveries_days }),
    },
    {
      kind: 'audit_entries',
      run: async (tx, { org_id, audit_days }, now) =>
        audit_days === null
          ? 0
          : removeOldEntries(tx, signer, {
              tenantId: org_id,
              before: daysBefore(now, audit_days),
              now,
              limit,
            }),
    },
    {
      kind: 'support_access',
      run: async (tx, { org_id, audit_days }, now) =>
        audit_days === null
          ? 0
          : removeOldAccess(tx, { orgId: org_id, before: daysBefore(now, audit_days), limit }),
    },
  ];
}

/** The org whose data is being deleted, and the kind of data. */
interface Turn {
  readonly policy: RetentionPolicyRow;
  kind: DeletedKind | undefined;
}

function stillPutOff(putOff: Postponed, now: Date): Postponed {
  return Object.fromEntries(Object.entries(putOff).filter(([, until]) => until > now.toISOString()));
}

export function retentionJob(deps: RetentionDependencies): Job {
  const { db, ids, heads, clock, faults, signer, log } = deps;
  const steps = stepsOf(signer);

  /** Deletes one batch of the org in progress; if nothing is left to delete, schedules its next run. */
  async function deleteBatch(tx: Transaction, turn: Turn, now: Date): Promise<void> {
    const { policy } = turn;
    const putOff = stillPutOff(policy.put_off, now);
    const run = await openRun(tx, policy.org_id, ids.next('ret'), now);
    const due = steps.filter(({ kind, after = kind }) => !(kind in putOff || after in putOff));
    for (const { kind, run: deleteSome } of due) {
      turn.kind = kind;
      const deleted = await deleteSome(tx, policy, now);
      if (deleted > 0) {
        await addDeleted(tx, run, kind, deleted);
        await faults('retention.before_commit', kind);
        return;
      }
    }
    turn.kind = undefined;
    const [retryAt] = Object.values(putOff).sort();
    const at = retryAt === undefined ? new Date(now.getTime() + dayMs) : new Date(retryAt);
    await scheduleNext(tx, policy.org_id, { at, putOff });
    // A run with a postponed kind stays open for it, but for at most a day: the deletions must be recorded.
    const isOver = retryAt === undefined || run.started_at <= daysBefore(now, 1);
    if (deletedKinds.every((kind) => run[kind] === 0n)) {
      await deleteEmptyRun(tx, run);
    } else if (isOver) {
      await finishRun(tx, run, now);
      await recordChange(
        tx,
        { ids, heads },
        { kind: 'service', id: 'retention', at: now },
        'retention_policy.run',
        {
          tenantId: policy.org_id,
          target: { kind: 'retention_run', id: run.id },
          after: viewRetentionRun({ ...run, finished_at: now }),
        },
      );
    }
  }

  /** Returns false if no org is due. */
  async function runBatch(): Promise<boolean> {
    let turn: Turn | undefined;
    try {
      await db.transaction(async (tx) => {
        const now = await agreedNow(tx, clock);
        const policy = await claimDue(tx, now);
        turn = policy && { policy, kind: undefined };
        if (turn !== undefined) {
          await deleteBatch(tx, turn, now);
        }
      });
    } catch (error) {
      if (turn === undefined) {
        throw error;
      }
      const { policy, kind } = turn;
      log.error({ org: policy.org_id, kind, err: error }, 'retention failed; will be retried');
      // If the database is unavailable this fails too, and the job ends.
      const now = await agreedNow(db, clock);
      const failure = { policy, now, until: new Date(now.getTime() + retryAfterMs) };
      await (kind === undefined ? postpone(db, failure) : postponeKind(db, kind, failure));
    }
    return turn !== undefined;
  }

  const pace = createDecisionRate(() => decisionCounts.totalOf('edge'));

  return {
    id: 'apply-retention',
    everyMs,
    runOnce: runBatch,
    restMs: (tookMs) => pauseMsAfter(tookMs, pace.sample()),
  };
}

/** Number of orgs that retention fails for, for alerting. */
export function registerRetentionMetrics(metrics: Registry, db: Database): void {
  new Gauge({
    name: 'svc_retention_failing_orgs',
    help: 'Organizations whose last retention run failed.',
    registers: [metrics],
    async collect() {
      this.set(await countFailing(db).catch(() => Number.NaN));
    },
  });
}

/** Drops empty partitions of runs and of ledger entries of past months, which frees their space. */
export function emptyMonthsJob({ db, clock }: Pick<RetentionDependencies, 'db' | 'clock'>): Job {
  return {
    id: 'drop-empty-partitions',
    everyMs: 3_600_000,
    async runOnce() {
      await dropEmptyMonths(db, await agreedNow(db, clock));
      return false;
    },
  };
}
