/**
 * Books a batch of groups inside one transaction; the same on both engines. First everything is read that the
 * decisions need, then the kernel decides without a pause, then the facts are written. The counters are changed as if
 * the transaction had committed up to the raised hold; whoever owns the books concludes or undoes that.
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
import { Decider } from './posting-decider.ts';
import { rollBackAll, type UncommittedPosting } from './uncommitted-posting.ts';

export interface BatchDependencies<Run> {
  readonly ids: Ids;
  /** Stores the runs themselves. */
  writeRuns(tx: Transaction, posted: readonly Posted<Run>[]): Promise<void>;
  /** What earlier entries of a run burned and left uncovered. */
  readPaid(tx: Transaction, orgId: string, runId: string): Promise<PaidSoFar>;
  readonly permits: Permits;
}

/** What lets a posting pass a gate that is not in the books, a number of times. */
export interface Permits {
  /** How often each may still be used at this instant, by its id; nobody else can use them until the transaction ends. */
  read(
    tx: Transaction,
    orgId: string,
    ids: readonly string[],
    atMs: number,
  ): Promise<ReadonlyMap<string, number>>;
  /** Writes down those that were used. */
  use(tx: Transaction, posted: readonly Posted[]): Promise<void>;
}

export interface Batch<Run> {
  readonly results: ReadonlyMap<PostingGroup<Run>, GroupResult<Run>>;
  readonly prepared: readonly UncommittedPosting<Run>[];
  readonly newHolds: readonly OpenHold[];
}

export interface BatchRequest<Run> {
  readonly groups: readonly PostingGroup<Run>[];
  readonly bookOf: (orgId: string) => OrgLedgerState;
  readonly nowMs: number;
  makeCounters(orgState: OrgLedgerState, missing: readonly MissingCounter[]): Promise<void>;
}

export async function decideBatch<Run>(
  tx: Transaction,
  deps: BatchDependencies<Run>,
  request: BatchRequest<Run>,
): Promise<Batch<Run>> {
  const known = await readExistingRecords(tx, deps, request);
  await makeCounters(request, known);
  // From here on no pause: nobody else decides in between.
  const results = new Map<PostingGroup<Run>, GroupResult<Run>>();
  const prepared: UncommittedPosting<Run>[] = [];
  const decider = new Decider<Run>(request, known);
  try {
    for (const group of request.groups) {
      const decided = decider.decide(group);
      results.set(group, decided.result);
      prepared.push(...decided.prepared);
    }
  } catch (error) {
    rollBackAll(prepared);
    throw error;
  }
  const newHolds = prepared.flatMap(({ orgState, posted: { posting, hold } }) =>
    posting.kind === 'open' && hold !== null ? (orgState.holds.get(hold.id) ?? []) : [],
  );
  return { results, prepared, newHolds };
}

/** Alerts that are out once the transaction has committed. */
export interface OrgAlerts {
  readonly orgState: OrgLedgerState;
  readonly alerts: readonly Alert[];
}

export function markAllAlerted(all: readonly OrgAlerts[]): void {
  for (const { orgState, alerts } of all) {
    markAlerted(orgState.counters, alerts);
  }
}

/** Also where nothing is new, since answers are sealed here. What it returns is to be marked after the commit. */
export async function writeBatch<Run>(
  tx: Transaction,
  deps: BatchDependencies<Run>,
  { results, prepared }: Batch<Run>,
  nowMs: number,
): Promise<OrgAlerts[]> {
  const posted = prepared.map((one) => one.posted);
  // None of these is waited for, unless there are very many. If one fails, so do all behind it, and the transaction.
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
  const ends = prepared.flatMap(({ posted: { posting }, ends: open }): HoldEnd[] =>
    open === null ? [] : [{ hold: open.hold, endedAs: 'settled', runId: posting.runId }],
  );
  await insertEnds(tx.unanswered, ends, nowMs);
  for (const { orgId, posting, marks } of posted) {
    if (marks.includes('late') && posting.decisionId !== null) {
      await claimEnded(tx.unanswered, orgId, posting.decisionId, posting.runId);
    }
  }
  const raisedAlerts: OrgAlerts[] = [];
  for (const [orgState, settlements] of chargesByOrg(prepared)) {
    const alerts = alertsDue(orgState.counters, settlements);
    await emitAlerts(tx, deps.ids, orgState.orgId, alerts, nowMs);
    raisedAlerts.push({ orgState, alerts });
  }
  for (const [group, result] of results) {
    if (result.kind === 'done' && group.seal !== undefined) {
      await group.seal(tx, result.outcomes);
    }
  }
  return raisedAlerts;
}

function chargesByOrg<Run>(
  prepared: readonly UncommittedPosting<Run>[],
): Map<OrgLedgerState, PendingSettlement[]> {
  const charges = new Map<OrgLedgerState, PendingSettlement[]>();
  for (const { orgState, posted } of prepared) {
    if (posted.charged !== null) {
      const others = charges.get(orgState);
      if (others === undefined) {
        charges.set(orgState, [posted.charged]);
      } else {
        others.push(posted.charged);
      }
    }
  }
  return charges;
}

async function readExistingRecords<Run>(
  tx: Transaction,
  deps: BatchDependencies<Run>,
  { groups, bookOf, nowMs }: BatchRequest<Run>,
): Promise<ExistingRecords> {
  const orgIds = [...new Set(groups.map(({ orgId }) => orgId))];
  const named: { orgId: string; externalId: string }[] = [];
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
        named.push({ orgId, externalId: posting.externalId });
      }
      if (
        posting.decisionId !== null &&
        posting.kind !== 'open' &&
        !bookOf(orgId).holds.has(posting.decisionId)
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
  for (const row of await findExistingRuns(tx, named)) {
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

/** Of all counters that the decisions will look at, those that do not exist yet. */
async function makeCounters<Run>(
  { groups, bookOf, nowMs, makeCounters: make }: BatchRequest<Run>,
  known: ExistingRecords,
): Promise<void> {
  const missing = new Map<OrgLedgerState, Map<string, MissingCounter>>();
  for (const { orgId, postings } of groups) {
    const orgState = bookOf(orgId);
    for (const posting of postings) {
      const { scope, atMs } = effectiveScope(orgState, posting, known, nowMs);
      const surface = posting.kind === 'record' ? 'record' : 'run';
      const { counters } = applicableCounters(orgState.limits, scope, atMs, surface);
      for (const one of orgState.missing(counters, scope)) {
        // What belongs to a window of the past only counts where someone counts; packs have to be known to burn.
        if (nowMs < one.window.window.endMs && !(posting.kind === 'record' && atMs !== nowMs)) {
          const others = missing.get(orgState) ?? new Map<string, MissingCounter>();
          missing.set(orgState, others.set(one.window.key, one));
        }
      }
    }
  }
  for (const [book, counters] of missing) {
    await make(book, [...counters.values()]);
  }
}

/** Makes counters in one go: sums what is settled, then adds it without a pause, since holds come and go meanwhile. */
export async function addCounters(
  tx: Pick<Transaction, 'query'>,
  orgState: OrgLedgerState,
  missing: readonly MissingCounter[],
): Promise<Hold[]> {
  const joined: Hold[] = [];
  for (const { window: limitWindow, scope } of missing) {
    const { settled, alerted } = await readSettled(tx, orgState.orgId, limitWindow, scope);
    if (!orgState.counters.has(limitWindow.key)) {
      joined.push(...orgState.addCounter(limitWindow, settled, alerted));
    }
  }
  return joined;
}
