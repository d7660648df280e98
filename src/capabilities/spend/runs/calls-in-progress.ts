/** Runs of calls in progress. Their rows are only created at the settlement; until then, the data comes from their holds. */
import { type Hold, holdIdOfCall, runIdOf } from '../../../ledger/holds/hold.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import type { ParentRow, RunRow } from './queries.ts';

/** Returns the open hold of a call by the id of its run. */
export async function findCallInProgress(
  ledger: Pick<LedgerReads, 'findHold'>,
  orgId: string,
  runId: string,
): Promise<Hold | undefined> {
  const hold = await ledger.findHold(orgId, holdIdOfCall(runId));
  // A hold with `runId` belongs to a stored run.
  return hold?.runId === null && runIdOf(hold) === runId ? hold : undefined;
}

export function parentOfCall(hold: Hold, runId: string): ParentRow {
  return { id: runId, depth: hold.depth ?? 1, chain_id: hold.scope.chain_id };
}

/** Returns the run in the form in which it would be stored now. */
export function runOfCall(hold: Hold, runId: string): RunRow {
  const { scope, admittedAtMs, service } = hold;
  const admittedAt = new Date(admittedAtMs);
  return {
    ...scope,
    org_id: hold.orgId,
    charged_at: admittedAt,
    id: runId,
    external_id: null,
    status: 'running',
    model: scope.model ?? '',
    served_model: null,
    parent_run_id: null,
    depth: hold.depth ?? 1,
    input_tokens: 0n,
    cached_input_tokens: 0n,
    cache_write_tokens: 0n,
    output_tokens: 0n,
    service_tier: service?.tier ?? null,
    region: service?.region ?? null,
    cache_write_1h_tokens: null,
    units: null,
    cost_nanos: null,
    adjusted_nanos: 0n,
    uncovered_nanos: 0n,
    value_nanos: null,
    latency_ms: null,
    price_version: hold.priceVersion,
    priced_as: null,
    started_at: admittedAt,
    finished_at: null,
    content: null,
    metadata: null,
    decision_id: hold.id,
    marks: [],
    flagged_by: null,
    created_at: admittedAt,
  };
}
