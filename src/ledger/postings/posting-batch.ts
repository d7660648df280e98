/**
 * Posts a batch of groups in one transaction, in the same way on both engines. It first reads everything that the decisions need,
 * then decides synchronously, then writes the results. The counters are left with prepared settlements, which the caller commits or
 * rolls back.
 */
import { applicableCounters } from '../../kernel/admission.ts';
import type { Limit } from '../../kernel/limits.ts';
import { type Alert, alertsDue, markAlerted, type PendingSettlement } from '../../kernel/settlement.ts';
import type { Transaction } from '../../platform/db/database.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Hold } from '../holds/hold.ts';
import type { MissingCounter, OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import { readSettled } from '../limits/counters.ts';
import type { GroupResult, Posted, Posting, PostingGroup } from '../posting.ts';
import { addToUsage } from '../usage/usage-rollups.ts';
import { effectiveScope, surfaceOf } from './effective-scope.ts';
import type { ExistingRecords } from './existing-records.ts';
import {
  addToTallies,
  assignEnded,
  claimEnded,
  emitAlerts,
  type HoldEnd,
  insertEnds,
  insertEntries,
  insertIdentities,
} from './ledger-writes.ts';
import { requireAccepted } from './new-runs-assumption.ts';
import { PostingDecider } from './posting-decider.ts';
import {
  type ExistingRecordsDependencies,
  type ExistingRecordsRequest,
  readExistingRecords,
} from './read-existing-records.ts';
import { rollBackAll, type UncommittedPosting } from './uncommitted-posting.ts';
import { unsettledRunOf } from './unsettled-runs.ts';

export interface BatchDependencies<Run> extends ExistingRecordsDependencies<Run> {
  readonly ids: Ids;
  /** Stores the rows of the runs. */
  writeRuns(tx: Transaction, posted: readonly Posted<Run>[]): Promise<void>;
}

export interface Batch<Run> {
  readonly results: ReadonlyMap<PostingGroup<Run>, GroupResult<Run>>;
  readonly uncommitted: readonly UncommittedPosting<Run>[];
  readonly newHolds: readonly OpenHold[];
}

export interface BatchRequest<Run> extends ExistingRecordsRequest<Run> {
  makeCounters(orgState: OrgLedgerState, missing: readonly MissingCounter[]): Promise<void>;
  /** Loads those counters that exist. Only needed if the org state does not have all counters. */
  loadCounters?(orgState: OrgLedgerState, keys: readonly string[]): Promise<void>;
}

export async function decideBatch<Run>(
  tx: Transaction,
  deps: BatchDependencies<Run>,
  request: BatchRequest<Run>,
): Promise<Batch<Run>> {
  const existing = await readExistingRecords(tx, deps, request);
  await loadReversedCounters(request, existing);
  await makeCounters(request, existing);
  // There must be no `await` from here on, so that no other decision runs in between.
  const results = new Map<PostingGroup<Run>, GroupResult<Run>>();
  const uncommitted: UncommittedPosting<Run>[] = [];
  const decider = new PostingDecider<Run>(request, existing);
  try {
    for (const group of request.groups) {
      const decided = decider.decide(group);
      results.set(group, decided.result);
      uncommitted.push(...decided.uncommitted);
    }
    if (request.assumesNewRuns === true) {
      requireAccepted(results);
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

/** Alerts to emit when the transaction commits. */
export interface OrgAlerts {
  readonly orgState: OrgLedgerState;
  readonly alerts: readonly Alert[];
}

export function markAllAlerted(all: readonly OrgAlerts[]): void {
  for (const { orgState, alerts } of all) {
    markAlerted(
      orgState.counters,
      alerts.filter(({ limitWindow: { limit } }) => isCurrent(limit, orgState)),
    );
  }
}

/**
 * Returns false if the capacity of a limit without a window may have changed during the query. Its thresholds must then be reported
 * again; the database rejects those that were reported before.
 */
function isCurrent(limit: Limit, { limits }: OrgLedgerState): boolean {
  return limit.span.kind !== 'lifetime' || limits.all.includes(limit);
}

/** The previous batch, whose commit is not known yet. All of its amounts are positive. */
export interface PrecedingBatch {
  readonly uncommitted: readonly UncommittedPosting<unknown>[];
  /** Resolves when the batch is committed or rolled back in memory. */
  readonly ended: Promise<unknown>;
}

/**
 * Writes the results of a batch. Runs even if nothing was posted, because it stores idempotent responses. The caller marks the
 * returned alerts: in memory after the commit, or on PostgreSQL in the counters that the transaction writes.
 */
export async function writeBatch<Run>(
  tx: Transaction,
  deps: BatchDependencies<Run>,
  { results, uncommitted }: Batch<Run>,
  nowMs: number,
  preceding?: PrecedingBatch,
): Promise<OrgAlerts[]> {
  const posted = uncommitted.map((one) => one.posted);
  // Pipelined: the statements do not wait for each other, and on the embedded engine most inserts do not wait for any response. If
  // one statement fails, all later ones and the transaction fail.
  await Promise.all([
    insertIdentities(tx, posted),
    deps.writeRuns(tx, posted),
    insertEntries(tx, posted),
    addToUsage(tx.pipelined, posted),
    addToTallies(tx, posted),
  ]);
  const permitted = posted.filter(({ posting }) => posting.permit !== undefined);
  if (permitted.length > 0) {
    await deps.permits.use(tx, permitted);
  }
  const ends = uncommitted.flatMap(({ posted: { posting, settledUnheld }, ends: open }): HoldEnd[] => {
    const hold = open?.hold ?? settledUnheld;
    return hold === null ? [] : [endOf(hold, posting)];
  });
  await insertEnds(tx.pipelined, ends, nowMs);
  for (const { orgId, posting, marks } of posted) {
    const { kind, decisionId, runId } = posting;
    if (marks.includes('late') && decisionId !== null) {
      await claimEnded(tx.pipelined, orgId, decisionId, runId);
    } else if (kind === 'resettle' && decisionId !== null) {
      await assignEnded(tx.pipelined, orgId, decisionId, runId);
    }
  }
  const alertsByOrg: OrgAlerts[] = [];
  if (preceding !== undefined && mayReachThresholds(preceding, uncommitted)) {
    await preceding.ended;
  }
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

/** Returns true if these postings and those of the previous batch together may reach a threshold. */
function mayReachThresholds(
  preceding: PrecedingBatch,
  uncommitted: readonly UncommittedPosting<unknown>[],
): boolean {
  const charges = chargesByOrg([...preceding.uncommitted, ...uncommitted]);
  return [...charges].some(([orgState, settlements]) => alertsDue(orgState.counters, settlements).length > 0);
}

function endOf(hold: Hold, { kind, runId, runExists, releasesKey }: Posting): HoldEnd {
  if (kind === 'expire') {
    return { hold: runExists === true ? { ...hold, runId } : hold, endedAs: 'expired', runId };
  }
  return { hold: releasesKey === true ? { ...hold, idempotency: null } : hold, endedAs: 'settled', runId };
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

/** Loads the counters that include unsettled runs, because the scope of a run may have more values than that of its hold. */
async function loadReversedCounters<Run>(
  { groups, orgStateOf, loadCounters }: BatchRequest<Run>,
  existing: ExistingRecords,
): Promise<void> {
  if (existing.unsettled.size === 0 || loadCounters === undefined) {
    return;
  }
  for (const { orgId, postings } of groups) {
    const orgState = orgStateOf(orgId);
    const keys = postings.flatMap((posting) => {
      const unsettled = unsettledRunOf(existing, orgId, posting);
      return unsettled === undefined
        ? []
        : applicableCounters(orgState.limits, unsettled.scope, unsettled.atMs, 'charge').counters.map(
            ({ key }) => key,
          );
    });
    await loadCounters(orgState, keys);
  }
}

/** Creates the missing counters that the decisions need. */
async function makeCounters<Run>(
  { groups, orgStateOf, nowMs, makeCounters: createCounters, loadCounters }: BatchRequest<Run>,
  existing: ExistingRecords,
): Promise<void> {
  const missing = new Map<OrgLedgerState, Map<string, MissingCounter>>();
  for (const { orgId, postings } of groups) {
    const orgState = orgStateOf(orgId);
    const past: string[] = [];
    for (const posting of postings) {
      const { scope, atMs } = effectiveScope(orgState, posting, existing, nowMs);
      const { counters } = applicableCounters(orgState.limits, scope, atMs, surfaceOf(posting));
      for (const one of orgState.missingCounters(counters, scope)) {
        // Past windows and backfilled runs only count in existing counters. Credit packs, however, must be loaded before they can
        // be burned.
        if (nowMs < one.limitWindow.window.endMs && !(posting.kind === 'record' && atMs !== nowMs)) {
          const missingOfOrg = missing.get(orgState) ?? new Map<string, MissingCounter>();
          missing.set(orgState, missingOfOrg.set(one.limitWindow.key, one));
        } else if (posting.decisionId !== null) {
          // The run may have more values than its hold, and counts at the hold's time.
          past.push(one.limitWindow.key);
        }
      }
    }
    if (past.length > 0) {
      await loadCounters?.(orgState, past);
    }
  }
  for (const [orgState, counters] of missing) {
    await createCounters(orgState, [...counters.values()]);
  }
}

/**
 * Creates counters. The settled amount is read first; then the counter is added synchronously, because holds may change during the
 * read.
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
      const stillAlerted = alerted > 0 && isCurrent(limitWindow.limit, orgState) ? alerted : 0;
      changedHolds.push(...orgState.addCounter(limitWindow, settled, stillAlerted));
    }
  }
  return changedHolds;
}
