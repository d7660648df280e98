/**
 * Posts a batch of groups in one transaction, the same on both engines: first reads everything that the decisions
 * need, then decides synchronously, then writes the results. The counters are changed as if the transaction had
 * committed, up to the prepared settlements; the caller commits them or rolls them back.
 */
import { applicableCounters } from '../../kernel/admission.ts';
import { type Alert, alertsDue, markAlerted, type PendingSettlement } from '../../kernel/settlement.ts';
import type { Transaction } from '../../platform/db/database.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Hold } from '../holds/hold.ts';
import type { MissingCounter, OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import { readSettled } from '../limits/counters.ts';
import type { GroupResult, Posted, PostingGroup } from '../posting.ts';
import { addToUsage } from '../usage/usage-rollups.ts';
import { effectiveScope } from './effective-scope.ts';
import { type ExistingRecords, ExistingRuns, type PaidSoFar, recordKey } from './existing-records.ts';
import {
  addToTallies,
  claimEnded,
  emitAlerts,
  findEnds,
  findExistingRuns,
  type HoldEnd,
  insertEnds,
  insertEntries,
  insertIdentities,
} from './ledger-writes.ts';
import { PostingDecider } from './posting-decider.ts';
import { rollBackAll, type UncommittedPosting } from './uncommitted-posting.ts';

export interface BatchDependencies<Run> {
  readonly ids: Ids;
  /** Stores the runs themselves. */
  writeRuns(tx: Transaction, posted: readonly Posted<Run>[]): Promise<void>;
  /** Returns what earlier entries of a run burned and left uncovered. */
  readPaid(tx: Transaction, orgId: string, runId: string): Promise<PaidSoFar>;
  readonly permits: Permits;
}

/** Permits that let a posting pass a check outside the ledger, a number of times. */
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

export interface Batch<Run> {
  readonly results: ReadonlyMap<PostingGroup<Run>, GroupResult<Run>>;
  readonly uncommitted: readonly UncommittedPosting<Run>[];
  readonly newHolds: readonly OpenHold[];
}

export interface BatchRequest<Run> {
  readonly groups: readonly PostingGroup<Run>[];
  readonly orgStateOf: (orgId: string) => OrgLedgerState;
  readonly nowMs: number;
  makeCounters(orgState: OrgLedgerState, missing: readonly MissingCounter[]): Promise<void>;
}

export async function decideBatch<Run>(
  tx: Transaction,
  deps: BatchDependencies<Run>,
  request: BatchRequest<Run>,
): Promise<Batch<Run>> {
  const existing = await readExistingRecords(tx, deps, request);
  await makeCounters(request, existing);
  // No await from here on, so that no other decision runs in between.
  const results = new Map<PostingGroup<Run>, GroupResult<Run>>();
  const uncommitted: UncommittedPosting<Run>[] = [];
  const decider = new PostingDecider<Run>(request, existing);
  try {
    for (const group of request.groups) {
      const decided = decider.decide(group);
      results.set(group, decided.result);
      uncommitted.push(...decided.uncommitted);
    }
  } catch (error) {
    rollBackAll(uncommitted);
    throw error;
  }
  const newHolds = uncommitted.flatMap(({ orgState, posted: { posting, hold } }) =>
    posting.kind === 'open' && hold !== null ? (orgState.holds.get(hold.id) ?? []) : [],
  );
  return { results, uncommitted, newHolds };
}

/** Alerts that are emitted when the transaction commits. */
export interface OrgAlerts {
  readonly orgState: OrgLedgerState;
  readonly alerts: readonly Alert[];
}

export function markAllAlerted(all: readonly OrgAlerts[]): void {
  for (const { orgState, alerts } of all) {
    markAlerted(orgState.counters, alerts);
  }
}

/**
 * Also runs if nothing was posted, because idempotent responses are stored here. The caller marks the returned
 * alerts: in memory after the commit, or on PostgreSQL in the counters that the transaction writes.
 */
export async function writeBatch<Run>(
  tx: Transaction,
  deps: BatchDependencies<Run>,
  { results, uncommitted }: Batch<Run>,
  nowMs: number,
): Promise<OrgAlerts[]> {
  const posted = uncommitted.map((one) => one.posted);
  // Pipelined: none of these waits for the others, and on the embedded engine most inserts await no response at all. If
  // one statement fails, all later ones and the transaction fail.
  await Promise.all([
    insertIdentities(tx, posted),
    deps.writeRuns(tx, posted),
    insertEntries(tx, posted),
    addToUsage(tx.unanswered, posted),
    addToTallies(tx.unanswered, posted),
  ]);
  const permitted = posted.filter(({ posting }) => posting.permit !== undefined);
  if (permitted.length > 0) {
    await deps.permits.use(tx, permitted);
  }
  const ends = uncommitted.flatMap(({ posted: { posting, settledUnheld }, ends: open }): HoldEnd[] => {
    const hold = open?.hold ?? settledUnheld;
    return hold === null ? [] : [{ hold, endedAs: 'settled', runId: posting.runId }];
  });
  await insertEnds(tx.unanswered, ends, nowMs);
  for (const { orgId, posting, marks } of posted) {
    if (marks.includes('late') && posting.decisionId !== null) {
      await claimEnded(tx.unanswered, orgId, posting.decisionId, posting.runId);
    }
  }
  const alertsByOrg: OrgAlerts[] = [];
  for (const [orgState, settlements] of chargesByOrg(uncommitted)) {
    const alerts = alertsDue(orgState.counters, settlements);
    await emitAlerts(tx, deps.ids, orgState.orgId, alerts, nowMs);
    alertsByOrg.push({ orgState, alerts });
  }
  for (const [group, result] of results) {
    if (result.kind === 'done' && group.storeResponse !== undefined) {
      await group.storeResponse(tx, result.outcomes);
    }
  }
  return alertsByOrg;
}

function chargesByOrg<Run>(
  uncommitted: readonly UncommittedPosting<Run>[],
): Map<OrgLedgerState, PendingSettlement[]> {
  const charges = new Map<OrgLedgerState, PendingSettlement[]>();
  for (const { orgState, posted } of uncommitted) {
    if (posted.charged !== null) {
      const existingCharges = charges.get(orgState);
      if (existingCharges === undefined) {
        charges.set(orgState, [posted.charged]);
      } else {
        existingCharges.push(posted.charged);
      }
    }
  }
  return charges;
}

async function readExistingRecords<Run>(
  tx: Transaction,
  deps: BatchDependencies<Run>,
  { groups, orgStateOf, nowMs }: BatchRequest<Run>,
): Promise<ExistingRecords> {
  const orgIds = [...new Set(groups.map(({ orgId }) => orgId))];
  const externalIds: { orgId: string; externalId: string }[] = [];
  const endedIds: string[] = [];
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
      if (posting.externalId !== null) {
        externalIds.push({ orgId, externalId: posting.externalId });
      }
      if (
        posting.decisionId !== null &&
        posting.kind !== 'open' &&
        !orgStateOf(orgId).holds.has(posting.decisionId)
      ) {
        endedIds.push(posting.decisionId);
      }
      if (posting.kind === 'adjust') {
        const name = recordKey(orgId, posting.runId);
        if (!paid.has(name)) {
          paid.set(name, await deps.readPaid(tx, orgId, posting.runId));
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
  };
}

/** Creates the missing counters that the decisions need. */
async function makeCounters<Run>(
  { groups, orgStateOf, nowMs, makeCounters: createCounters }: BatchRequest<Run>,
  existing: ExistingRecords,
): Promise<void> {
  const missing = new Map<OrgLedgerState, Map<string, MissingCounter>>();
  for (const { orgId, postings } of groups) {
    const orgState = orgStateOf(orgId);
    for (const posting of postings) {
      const { scope, atMs } = effectiveScope(orgState, posting, existing, nowMs);
      const surface = posting.kind === 'record' ? 'record' : 'run';
      const { counters } = applicableCounters(orgState.limits, scope, atMs, surface);
      for (const one of orgState.missingCounters(counters, scope)) {
        // Past windows and backfilled runs only count in existing counters. Credit packs must be loaded to be burned.
        if (nowMs < one.limitWindow.window.endMs && !(posting.kind === 'record' && atMs !== nowMs)) {
          const missingOfOrg = missing.get(orgState) ?? new Map<string, MissingCounter>();
          missing.set(orgState, missingOfOrg.set(one.limitWindow.key, one));
        }
      }
    }
  }
  for (const [orgState, counters] of missing) {
    await createCounters(orgState, [...counters.values()]);
  }
}

/**
 * Creates counters: reads the settled amount, then adds the counter synchronously, because holds may change during
 * the read.
 */
export async function addCounters(
  tx: Pick<Transaction, 'query'>,
  orgState: OrgLedgerState,
  missing: readonly MissingCounter[],
): Promise<Hold[]> {
  const changedHolds: Hold[] = [];
  for (const { limitWindow, scope } of missing) {
    const { settled, alerted } = await readSettled(tx, orgState.orgId, limitWindow, scope);
    if (!orgState.counters.has(limitWindow.key)) {
      changedHolds.push(...orgState.addCounter(limitWindow, settled, alerted));
    }
  }
  return changedHolds;
}
