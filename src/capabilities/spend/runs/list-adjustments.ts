/** Lists the corrections of a run, from the ledger. */
import { formatUsd } from '../../../kernel/money.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { type PageOf, selectPage, viewPage } from '../../../platform/http/routes/list.ts';
import type { RunDependencies } from './dependencies.ts';
import { readRun } from './read-run.ts';
import { type AdjustmentEntry, type AdjustmentFilters, adjustmentSorts } from './schema.ts';

export async function listAdjustments(
  deps: Pick<RunDependencies, 'db' | 'ledger' | 'contents'>,
  orgId: string,
  runId: string,
  query: AdjustmentFilters,
): Promise<PageOf<AdjustmentEntry>> {
  await readRun(deps, orgId, runId);
  return viewPage(selectAdjustments(deps.db, orgId, runId, query), viewAdjustment);
}

interface AdjustmentRow {
  readonly id: string;
  readonly run_id: string;
  readonly created_at: Date;
  readonly usd_nanos: bigint;
  readonly uncovered_nanos: bigint;
  readonly note: string | null;
  readonly actor: AdjustmentEntry['actor'];
}

async function selectAdjustments(
  db: Queryable,
  orgId: string,
  runId: string,
  query: AdjustmentFilters,
): Promise<PageOf<AdjustmentRow>> {
  return selectPage<AdjustmentRow>(db, {
    select: `SELECT id, run_id, created_at, usd_nanos, uncovered_nanos, note, actor
               FROM (SELECT *, booked_at AS created_at FROM ledger_entries
                      WHERE org_id = $1 AND run_id = $2 AND kind = 'adjustment'
                        AND charged_at = (SELECT charged_at FROM run_identities WHERE org_id = $1 AND run_id = $2)) AS listed`,
    params: [orgId, runId],
    where: [],
    sorts: adjustmentSorts,
    defaultSort: '-created_at',
    query,
  });
}

function viewAdjustment(row: AdjustmentRow): AdjustmentEntry {
  return {
    id: row.id,
    run_id: row.run_id,
    amount_usd: formatUsd(row.usd_nanos),
    reason: row.note ?? '',
    actor: row.actor,
    uncovered_usd: formatUsd(row.uncovered_nanos),
    created_at: row.created_at.toISOString(),
  };
}
