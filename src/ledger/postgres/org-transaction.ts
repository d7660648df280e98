/**
 * One transaction on the ledger of one org on PostgreSQL: decides and writes its queued commands under the lock of
 * the org.
 */
import { applicableCounters, releaseReservation } from '../../kernel/admission.ts';
import type { Denial } from '../../kernel/denial.ts';
import type { OrgLimits } from '../../kernel/limits.ts';
import { commitSettlement } from '../../kernel/settlement.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import type { SharedClock } from '../../platform/time/clock.ts';
import { type Hold, type HoldKey, restoredHold } from '../holds/hold.ts';
import { type AddedHold, addImportedHold, type HoldImport, type ImportedHold } from '../holds/hold-import.ts';
import { findStoredKeys, replayOf, storeKeys } from '../holds/hold-keys.ts';
import type {
  AdmissionPreview,
  HoldChange,
  HoldIncrease,
  HoldRequest,
  HoldResult,
  IncreaseResult,
} from '../holds/hold-request.ts';
import { countersForIncrease, increaseHold } from '../holds/increase-hold.ts';
import { type MissingCounter, OrgLedgerState } from '../holds/org-ledger-state.ts';
import { admitHold, denialFor, extendedTo, takeHold } from '../holds/take-hold.ts';
import { type OrgLimitsCache, readOrgLimits } from '../limits/org-limits.ts';
import type { GroupResult, PostingGroup } from '../posting.ts';
import { attributedScope, requestedAtMs, surfaceOf } from '../postings/effective-scope.ts';
import { endedOrUnknown, findEnds, type HoldEnd, insertEnds } from '../postings/ledger-writes.ts';
import {
  addCounters,
  type Batch,
  type BatchDependencies,
  decideBatch,
  markAllAlerted,
  writeBatch,
} from '../postings/posting-batch.ts';
import { type CounterAmounts, selectCounters, writeCounters } from './postgres-counters.ts';
import { deleteHolds, insertHolds, selectHolds, selectHoldsSince, updateHolds } from './postgres-holds.ts';

export interface PostgresLedgerOptions<Run> extends BatchDependencies<Run> {
  readonly db: Database;
  readonly clock: SharedClock;
  readonly orgLimits?: OrgLimitsCache;
  /** Maximum number of open holds of an org. */
  readonly holdsMax: number;
  /** Number of live processes on the database. Default: this one alone. */
  readonly processes?: () => number;
  /** Id of this process among those that share the database; by default a new one. */
  readonly processId?: string;
  /** Measures the rests between expiries. */
  readonly monotonicMs?: () => number;
}

export type LedgerCommand<Run> =
  | { readonly kind: 'hold'; readonly request: HoldRequest }
  | { readonly kind: 'preview'; readonly previews: readonly AdmissionPreview[] }
  | { readonly kind: 'import'; readonly request: HoldImport }
  | { readonly kind: 'post'; readonly group: PostingGroup<Run> }
  | { readonly kind: 'void'; readonly holdId: string }
  | { readonly kind: 'extend'; readonly holdId: string; readonly seconds: number }
  | { readonly kind: 'increase'; readonly holdId: string; readonly increase: HoldIncrease }
  | { readonly kind: 'expire'; readonly holdIds: readonly string[] };

export type LedgerResult<Run> =
  | HoldResult
  | (Denial | undefined)[]
  | GroupResult<Run>
  | ImportedHold[]
  | HoldChange
  | IncreaseResult
  | undefined;

export class OrgTransaction<Run> {
  readonly #options: PostgresLedgerOptions<Run>;
  readonly #orgLimits: OrgLimitsCache;
  readonly #tx: Transaction;
  readonly #orgId: string;
  /** Counters as they were read, to detect which ones changed. */
  readonly #countersRead = new Map<string, CounterAmounts>();
  readonly #newHolds: Hold[] = [];
  readonly #changedHolds = new Map<string, Hold>();
  readonly #endedHolds = new Set<string>();
  /** Used idempotency keys by digest, including those of holds that end in this transaction. */
  readonly #usedKeys = new Map<string, HoldKey>();
  /** Holds that ended earlier and that postings of this transaction refer to. */
  #endedBefore: readonly Hold[] = [];

  constructor(
    options: PostgresLedgerOptions<Run>,
    orgLimits: OrgLimitsCache,
    tx: Transaction,
    orgId: string,
  ) {
    this.#options = options;
    this.#orgLimits = orgLimits;
    this.#tx = tx;
    this.#orgId = orgId;
  }

  async run(commands: readonly LedgerCommand<Run>[]): Promise<LedgerResult<Run>[]> {
    const { version, now, lastAt } = await lockOrg(this.#tx, this.#orgId);
    const nowMs = Math.max(this.#options.clock.agreed(now).getTime(), lastAt.getTime());
    const orgState = new OrgLedgerState(await this.#limits(version), Number.POSITIVE_INFINITY);
    await this.#readHolds(orgState, commands, nowMs);
    await this.#readCounters(orgState, commands, nowMs);
    const results: LedgerResult<Run>[] = new Array(commands.length);
    for (const [index, one] of commands.entries()) {
      if (one.kind !== 'post') {
        results[index] = await this.#execute(orgState, one, nowMs);
      }
    }
    await this.#post(orgState, commands, results, nowMs);
    await this.#write(orgState, nowMs);
    return results;
  }

  async #limits(version: bigint): Promise<OrgLimits> {
    const cached = this.#orgLimits.peek(this.#orgId);
    if (cached?.version === version) {
      return cached;
    }
    const limits = await readOrgLimits(this.#tx, this.#orgId);
    this.#orgLimits.set(limits);
    return limits;
  }

  async #readHolds(
    orgState: OrgLedgerState,
    commands: readonly LedgerCommand<Run>[],
    nowMs: number,
  ): Promise<void> {
    const ids = commands.flatMap((one) => {
      switch (one.kind) {
        case 'hold':
        case 'preview':
          return [];
        case 'post':
          return one.group.postings.flatMap(({ decisionId }) => decisionId ?? []);
        case 'expire':
          return one.holdIds;
        case 'import':
          return one.request.holds.map(({ id }) => id);
        default:
          return [one.holdId];
      }
    });
    const digests = commands.flatMap((one) => {
      if (one.kind === 'import') {
        return one.request.holds.flatMap(({ idempotency }) => idempotency?.digest ?? []);
      }
      return one.kind === 'hold' && one.request.key !== undefined ? [one.request.key.digest] : [];
    });
    if (digests.length > 0) {
      for (const key of await findStoredKeys(this.#tx, this.#orgId, digests, nowMs)) {
        this.#usedKeys.set(key.digest, key);
      }
    }
    for (const hold of await selectHolds(this.#tx, this.#orgId, ids, digests)) {
      orgState.addHold(hold);
      this.#useKey(hold);
    }
    const late = commands.flatMap((one) =>
      one.kind === 'post'
        ? one.group.postings.flatMap(({ kind, decisionId }) =>
            decisionId === null || kind === 'open' || orgState.holds.has(decisionId) ? [] : [decisionId],
          )
        : [],
    );
    this.#endedBefore = (await findEnds(this.#tx, [this.#orgId], late)).map(({ body }) => restoredHold(body));
  }

  /**
   * Reads the counters that the commands need: those they check, and those of the holds that they end. Creates missing
   * ones for holds, increases, previews and imports; `decideBatch` creates those for postings.
   */
  async #readCounters(
    orgState: OrgLedgerState,
    commands: readonly LedgerCommand<Run>[],
    nowMs: number,
  ): Promise<void> {
    const wanted = new Map<string, MissingCounter | undefined>();
    for (const one of commands) {
      if (one.kind === 'hold' || one.kind === 'preview') {
        for (const { scope, surface } of one.kind === 'hold' ? [one.request] : one.previews) {
          for (const limitWindow of applicableCounters(orgState.limits, scope, nowMs, surface).counters) {
            wanted.set(limitWindow.key, { limitWindow, scope });
          }
        }
      } else if (one.kind === 'import') {
        for (const { scope, admittedAtMs, surface } of one.request.holds) {
          const { counters } = applicableCounters(orgState.limits, scope, admittedAtMs, surface);
          for (const limitWindow of counters) {
            wanted.set(limitWindow.key, { limitWindow, scope });
          }
        }
      } else if (one.kind === 'increase') {
        const hold = orgState.holds.get(one.holdId)?.hold;
        for (const counter of hold === undefined ? [] : countersForIncrease(orgState, hold)) {
          wanted.set(counter.limitWindow.key, counter);
        }
      } else if (one.kind === 'post') {
        for (const posting of one.group.postings) {
          const atMs = requestedAtMs(posting, nowMs);
          const surface = surfaceOf(posting);
          const scope = attributedScope(posting);
          for (const { key } of applicableCounters(orgState.limits, scope, atMs, surface).counters) {
            wanted.set(key, wanted.get(key));
          }
        }
      }
    }
    const holds = [...orgState.holds.values()].map(({ hold }) => hold);
    for (const hold of [...holds, ...this.#endedBefore]) {
      for (const { key } of [...hold.shares, ...hold.packs]) {
        wanted.set(key, wanted.get(key));
      }
      for (const { key } of applicableCounters(orgState.limits, hold.scope, hold.admittedAtMs, 'run')
        .counters) {
        wanted.set(key, wanted.get(key));
      }
    }
    await this.#loadCounters(orgState, [...wanted.keys()]);
    const missing = [...wanted.values()].filter(
      (one): one is MissingCounter => one !== undefined && !orgState.counters.has(one.limitWindow.key),
    );
    await this.#makeCounters(orgState, missing);
  }

  /** Loads those of these counters that exist and are not loaded yet. */
  async #loadCounters(orgState: OrgLedgerState, keys: readonly string[]): Promise<void> {
    const missing = keys.filter((key) => !orgState.counters.has(key));
    for (const [key, counter] of await selectCounters(this.#tx, this.#orgId, missing)) {
      orgState.counters.set(key, counter);
      this.#countersRead.set(key, { ...counter });
    }
  }

  /**
   * Creates counters. A new counter includes the amounts of open holds, so those holds are loaded and updated to
   * reference it.
   */
  async #makeCounters(orgState: OrgLedgerState, missing: readonly MissingCounter[]): Promise<void> {
    if (missing.length === 0) {
      return;
    }
    for (const hold of await selectHoldsSince(this.#tx, this.#orgId, missing)) {
      // Holds that ended in this transaction are still in the table.
      if (!orgState.holds.has(hold.id) && !this.#endedHolds.has(hold.id)) {
        orgState.addHold(hold);
      }
    }
    for (const hold of await addCounters(this.#tx, orgState, missing)) {
      this.#changedHolds.set(hold.id, hold);
    }
  }

  async #execute(
    orgState: OrgLedgerState,
    command: Exclude<LedgerCommand<Run>, { kind: 'post' }>,
    nowMs: number,
  ): Promise<LedgerResult<Run>> {
    switch (command.kind) {
      case 'hold':
        return this.#hold(orgState, command.request, nowMs);
      case 'preview':
        return command.previews.map((one) => denialFor(orgState, one, nowMs));
      case 'import':
        return this.#import(orgState, command.request);
      case 'void':
        return this.#end(orgState, command.holdId, 'voided', nowMs);
      case 'extend':
        return this.#extend(orgState, command.holdId, command.seconds, nowMs);
      case 'increase':
        return this.#increase(orgState, command.holdId, command.increase);
      case 'expire':
        await this.#expire(orgState, command.holdIds, nowMs);
        return undefined;
    }
  }

  #hold(orgState: OrgLedgerState, request: HoldRequest, nowMs: number): HoldResult {
    const replay = request.key && replayOf(this.#usedKeys.get(request.key.digest), request.key);
    if (replay !== undefined) {
      return replay;
    }
    const applicable = applicableCounters(orgState.limits, request.scope, nowMs, request.surface);
    const admitted = admitHold(orgState, request, applicable, nowMs);
    if (admitted.kind === 'denied') {
      return admitted;
    }
    const held = takeHold(this.#options.ids, orgState, admitted);
    orgState.addHold(held.hold);
    this.#newHolds.push(held.hold);
    this.#useKey(held.hold);
    return held;
  }

  async #import(orgState: OrgLedgerState, { holds, record }: HoldImport): Promise<ImportedHold[]> {
    const unknown = holds.filter(({ id }) => !orgState.holds.has(id)).map(({ id }) => id);
    const ends = await findEnds(this.#tx, [this.#orgId], unknown);
    const ended = new Set(ends.map(({ hold_id }) => hold_id));
    const results: ImportedHold[] = [];
    const added: AddedHold[] = [];
    const settledBefore: Hold[] = [];
    for (const imported of holds) {
      // A key that was already used stays with its decision; this hold is imported without a key.
      const key = imported.idempotency;
      const hold =
        key === null || !this.#usedKeys.has(key.digest) ? imported : { ...imported, idempotency: null };
      if (orgState.holds.has(imported.id)) {
        results.push({ kind: 'known' });
      } else if (ended.has(imported.id)) {
        results.push({ kind: 'known' });
        settledBefore.push(hold);
        this.#useKey(hold);
      } else {
        const { scope, admittedAtMs, surface } = hold;
        const applicable = applicableCounters(orgState.limits, scope, admittedAtMs, surface);
        const one = addImportedHold(orgState, hold, applicable).added;
        this.#newHolds.push(one.hold);
        this.#useKey(one.hold);
        added.push(one);
        results.push({ kind: 'added', ...one });
      }
    }
    // A run has settled the decision before its import, so its key was not stored with its end.
    await storeKeys(this.#tx, settledBefore);
    if (added.length > 0) {
      await record?.(this.#tx, added);
    }
    return results;
  }

  #useKey({ idempotency }: Hold): void {
    if (idempotency !== null) {
      this.#usedKeys.set(idempotency.digest, idempotency);
    }
  }

  async #end(
    orgState: OrgLedgerState,
    holdId: string,
    endedAs: HoldEnd['endedAs'],
    nowMs: number,
  ): Promise<HoldChange> {
    const open = orgState.holds.get(holdId);
    if (open === undefined) {
      return endedOrUnknown(this.#tx, this.#orgId, holdId);
    }
    await this.#endAll(orgState, [open.hold], endedAs, nowMs);
    return { kind: 'changed', hold: open.hold };
  }

  /** Releases the holds that are overdue, or posts their held amounts if the org wants that. */
  async #expire(orgState: OrgLedgerState, holdIds: readonly string[], nowMs: number): Promise<void> {
    const due = holdIds
      .flatMap((id) => orgState.holds.get(id)?.hold ?? [])
      .filter(({ expiresAtMs }) => expiresAtMs <= nowMs);
    if (orgState.limits.onUnsettled === 'release') {
      await this.#endAll(orgState, due, 'expired', nowMs);
    } else if (due.length > 0) {
      const postings = await this.#options.unsettledRuns.postingsFor(this.#tx, this.#orgId, due);
      await this.#postGroups(orgState, [{ orgId: this.#orgId, postings, skipRejected: true }], nowMs);
    }
  }

  async #endAll(
    orgState: OrgLedgerState,
    holds: readonly Hold[],
    endedAs: HoldEnd['endedAs'],
    nowMs: number,
  ): Promise<void> {
    await insertEnds(
      this.#tx,
      holds.map((hold) => ({ hold, endedAs, runId: null })),
      nowMs,
    );
    for (const hold of holds) {
      releaseReservation(orgState.counters, hold);
      orgState.holds.delete(hold.id);
      this.#endedHolds.add(hold.id);
    }
  }

  async #extend(
    orgState: OrgLedgerState,
    holdId: string,
    seconds: number,
    nowMs: number,
  ): Promise<HoldChange> {
    const open = orgState.holds.get(holdId);
    if (open === undefined) {
      return endedOrUnknown(this.#tx, this.#orgId, holdId);
    }
    open.hold = { ...open.hold, expiresAtMs: extendedTo(open.hold, nowMs, seconds) };
    this.#changedHolds.set(holdId, open.hold);
    return { kind: 'changed', hold: open.hold };
  }

  async #increase(orgState: OrgLedgerState, holdId: string, increase: HoldIncrease): Promise<IncreaseResult> {
    const open = orgState.holds.get(holdId);
    if (open === undefined) {
      return endedOrUnknown(this.#tx, this.#orgId, holdId);
    }
    const increased = increaseHold(orgState, open.hold, increase);
    if (increased.kind === 'denied' || increased.kind === 'out_of_range') {
      return increased;
    }
    if (increased.kind === 'increased') {
      open.hold = increased.hold;
      this.#changedHolds.set(holdId, open.hold);
    }
    return { kind: 'changed', hold: open.hold };
  }

  async #post(
    orgState: OrgLedgerState,
    commands: readonly LedgerCommand<Run>[],
    results: LedgerResult<Run>[],
    nowMs: number,
  ): Promise<void> {
    const groups = commands.flatMap((one) => (one.kind === 'post' ? [one.group] : []));
    if (groups.length === 0) {
      return;
    }
    const posted = await this.#postGroups(orgState, groups, nowMs);
    for (const [index, one] of commands.entries()) {
      if (one.kind === 'post') {
        results[index] = posted.get(one.group);
      }
    }
  }

  async #postGroups(
    orgState: OrgLedgerState,
    groups: readonly PostingGroup<Run>[],
    nowMs: number,
  ): Promise<Batch<Run>['results']> {
    const batch = await decideBatch(this.#tx, this.#options, {
      groups,
      nowMs,
      orgStateOf: () => orgState,
      makeCounters: (_, missing) => this.#makeCounters(orgState, missing),
      loadCounters: (_, keys) => this.#loadCounters(orgState, keys),
    });
    markAllAlerted(await writeBatch(this.#tx, this.#options, batch, nowMs));
    this.#newHolds.push(...batch.newHolds.map(({ hold }) => hold));
    for (const { posted, ends } of batch.uncommitted) {
      if (posted.charged !== null) {
        commitSettlement(orgState.counters, posted.charged);
      }
      if (ends !== null) {
        orgState.holds.delete(ends.hold.id);
        this.#endedHolds.add(ends.hold.id);
      }
    }
    return batch.results;
  }

  async #write(orgState: OrgLedgerState, nowMs: number): Promise<void> {
    const ended = this.#endedHolds;
    const changed = [...this.#changedHolds.values()].filter(({ id }) => !ended.has(id));
    // Pipelined without waiting for each response, because other commands wait for the lock of this org.
    await Promise.all([
      insertHolds(
        this.#tx,
        this.#newHolds.filter(({ id }) => !ended.has(id)),
      ),
      updateHolds(this.#tx, this.#orgId, changed),
      deleteHolds(this.#tx, this.#orgId, [...ended]),
      writeCounters(this.#tx, orgState, this.#countersRead, nowMs),
      this.#tx.query('UPDATE ledger_orgs SET last_at = greatest(last_at, $2) WHERE org_id = $1', [
        this.#orgId,
        new Date(nowMs),
      ]),
    ]);
  }
}

interface LockedOrg {
  readonly version: bigint;
  readonly now: Date;
  readonly lastAt: Date;
}

/** Locks the org. Only the holder of the lock decides for the org, and it sees all writes of the previous holder. */
export async function lockOrg(tx: Transaction, orgId: string): Promise<LockedOrg> {
  const statement = `SELECT limits_version AS version, clock_timestamp()::timestamptz(3) AS now, last_at AS "lastAt"
                       FROM ledger_orgs WHERE org_id = $1 FOR UPDATE`;
  const [row] = await tx.query<LockedOrg>(statement, [orgId]);
  if (row !== undefined) {
    return row;
  }
  await tx.query('INSERT INTO ledger_orgs (org_id) VALUES ($1) ON CONFLICT DO NOTHING', [orgId]);
  const [created] = await tx.query<LockedOrg>(statement, [orgId]);
  if (created === undefined) {
    throw new Error('ledger_orgs row is missing after its insert');
  }
  return created;
}
