/** Compares new statements in the background, and reports those that differ by more than their threshold. */
import { ApiError } from '../../../contract/api-error.ts';
import { formatUsd } from '../../../kernel/money.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { enqueueEvent } from '../../../platform/outbox/outbox.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { type ComparedRow, compareStatement } from './comparison.ts';
import { findUncompared, type StatementRow, saveComparison } from './queries.ts';

export interface DriftJobDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly clock: Clock;
}

const everyMs = 5_000;
const candidatesMax = 20;

export function statementDriftJob({ db, ids, clock }: DriftJobDependencies): Job {
  return {
    id: 'compare-statements',
    everyMs,
    async runOnce() {
      const failures: unknown[] = [];
      for (const statement of await findUncompared(db, candidatesMax)) {
        try {
          await compareOnce(statement);
          return true;
        } catch (error) {
          // A statement that cannot be compared does not delay the others.
          failures.push(error);
        }
      }
      if (failures.length > 0) {
        throw new AggregateError(failures, `${failures.length} statements could not be compared`);
      }
      return false;
    },
  };

  /** The result and its event are stored together, once, by whichever process is first. */
  async function compareOnce(statement: StatementRow): Promise<void> {
    const rows = await comparableRows(statement);
    const now = clock.now();
    if (rows === undefined) {
      await saveComparison(db, statement, { differenceNanos: null, driftNanos: null, now });
      return;
    }
    const differenceNanos = rows.reduce((sum, row) => sum + row.billed.usd - row.recorded.usd, 0n);
    const driftNanos = driftOf(rows);
    await db.transaction(async (tx) => {
      const isFirst = await saveComparison(tx, statement, { differenceNanos, driftNanos, now });
      if (isFirst && driftNanos > 0n && driftNanos >= statement.drift_threshold_nanos) {
        await enqueueEvent(tx, {
          id: ids.next('evt'),
          tenantId: statement.org_id,
          type: 'statement.drift',
          createdAt: now,
          data: {
            statement_id: statement.id,
            provider: statement.provider,
            period_start: statement.period_start,
            period_end: statement.period_end,
            billed_usd: formatUsd(statement.billed_nanos),
            difference_usd: formatUsd(differenceNanos),
            drift_usd: formatUsd(driftNanos),
          },
        });
      }
    });
  }

  /** Returns undefined if the recorded usage no longer has what the statement is compared by. That does not change. */
  async function comparableRows(statement: StatementRow): Promise<readonly ComparedRow[] | undefined> {
    try {
      return (await compareStatement(db, statement)).rows;
    } catch (error) {
      if (error instanceof ApiError) {
        return undefined;
      }
      throw error;
    }
  }
}

/** Sums the differences, each taken as positive. Days of different time zones are not a difference. */
function driftOf(rows: readonly ComparedRow[]): bigint {
  let sum = 0n;
  for (const { causes } of rows) {
    for (const { cause, usd } of causes) {
      sum += cause === 'time_zone' ? 0n : usd < 0n ? -usd : usd;
    }
  }
  return sum;
}
