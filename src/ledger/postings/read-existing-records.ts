/** Reads the records that the postings of a batch refer to, in the transaction that posts them. */
import type { Transaction } from '../../platform/db/database.ts';
import type { OrgLedgerState } from '../holds/org-ledger-state.ts';
import type { Posted, PostingGroup } from '../posting.ts';
import {
  type ExistingRecords,
  ExistingRuns,
  type PaidSoFar,
  recordKey,
  type UnsettledRun,
} from './existing-records.ts';
import { findEnds, findExistingRuns, type HoldEndRow } from './ledger-writes.ts';
import type { UnsettledRuns } from './unsettled-runs.ts';

export interface ExistingRecordsDependencies<Run> {
  /** Returns the amounts that earlier entries of a run burned and left uncovered. */
  readPaid(tx: Transaction, orgId: string, runId: string): Promise<PaidSoFar>;
  readonly permits: Permits;
  readonly unsettledRuns: UnsettledRuns<Run>;
}

/** Permits that let a posting pass a check outside the ledger a limited number of times. */
export interface Permits {
  /** Returns the remaining uses of each permit at this time, and locks the permits until the transaction ends. */
  read(
    tx: Transaction,
    orgId: string,
    ids: readonly string[],
    atMs: number,
  ): Promise<ReadonlyMap<string, number>>;
  /** Records the use of permits. */
  use(tx: Transaction, posted: readonly Posted[]): Promise<void>;
}

export interface ExistingRecordsRequest<Run> {
  readonly groups: readonly PostingGroup<Run>[];
  readonly orgStateOf: (orgId: string) => OrgLedgerState;
  readonly nowMs: number;
  /** True if runs are not looked up by their `external_id` (`NewRunsAssumption`). */
  readonly assumesNewRuns?: boolean;
}

export async function readExistingRecords<Run>(
  tx: Transaction,
  deps: ExistingRecordsDependencies<Run>,
  { groups, orgStateOf, nowMs, assumesNewRuns = false }: ExistingRecordsRequest<Run>,
): Promise<ExistingRecords> {
  const orgIds = [...new Set(groups.map(({ orgId }) => orgId))];
  const externalIds: { orgId: string; externalId: string }[] = [];
  const endedIds: string[] = [];
  /** Completed runs whose hold is not open, by org. */
  const lateRuns: { orgId: string; runId: string }[] = [];
  const paid = new Map<string, PaidSoFar>();
  const permits = new Map<string, number>();
  for (const { orgId, postings } of groups) {
    const permitIds = postings.flatMap(({ permit }) => permit ?? []);
    if (permitIds.length > 0) {
      for (const [id, left] of await deps.permits.read(tx, orgId, permitIds, nowMs)) {
        permits.set(id, left);
      }
    }
    for (const posting of postings) {
      const { kind, runId, externalId, decisionId } = posting;
      if (externalId !== null && !assumesNewRuns) {
        externalIds.push({ orgId, externalId });
      }
      if (decisionId !== null && kind !== 'open' && !orgStateOf(orgId).holds.has(decisionId)) {
        endedIds.push(decisionId);
        if (kind === 'complete') {
          lateRuns.push({ orgId, runId });
        }
      }
      if (kind === 'adjust') {
        const name = recordKey(orgId, runId);
        if (!paid.has(name)) {
          paid.set(name, await deps.readPaid(tx, orgId, runId));
        }
      }
    }
  }
  const runs = new ExistingRuns();
  for (const row of await findExistingRuns(tx, externalIds)) {
    runs.set(row.org_id, row.external_id, { runId: row.run_id, contentDigest: row.content_digest });
  }
  const ends = await findEnds(tx, orgIds, endedIds);
  return {
    runs,
    ends: new Map(ends.map((row) => [recordKey(row.org_id, row.hold_id), row])),
    paid,
    permits,
    unsettled: await readUnsettled(tx, deps, ends, lateRuns),
  };
}

/** Finds unsettled runs among the runs that ended these holds and those that complete late. */
async function readUnsettled<Run>(
  tx: Transaction,
  { unsettledRuns }: ExistingRecordsDependencies<Run>,
  ends: readonly HoldEndRow[],
  lateRuns: readonly { readonly orgId: string; readonly runId: string }[],
): Promise<Map<string, UnsettledRun>> {
  const idsByOrg = new Map<string, Set<string>>();
  const add = (orgId: string, runId: string) =>
    idsByOrg.set(orgId, (idsByOrg.get(orgId) ?? new Set()).add(runId));
  for (const { org_id, ended_as, run_id } of ends) {
    if (ended_as === 'expired' && run_id !== null) {
      add(org_id, run_id);
    }
  }
  for (const { orgId, runId } of lateRuns) {
    add(orgId, runId);
  }
  const unsettled = new Map<string, UnsettledRun>();
  for (const [orgId, ids] of idsByOrg) {
    for (const run of await unsettledRuns.read(tx, orgId, [...ids])) {
      unsettled.set(recordKey(orgId, run.runId), run);
    }
  }
  return unsettled;
}
