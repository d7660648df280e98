/**
 * One transaction on the ledgers of one or several orgs on PostgreSQL. It decides and writes the queued commands of these orgs
 * under their locks. The number of statements does not depend on the number of orgs, except in rare cases.
 */
import type { OrgLimits } from '../../kernel/limits.ts';
import { commitSettlement } from '../../kernel/settlement.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import type { SharedClock } from '../../platform/time/clock.ts';
import { aheadMsMax } from '../holds/elapsed-lifetimes.ts';
import { type Hold, isPostedAtExpiry, restoredHold } from '../holds/hold.ts';
import type { HoldImport, ImportedHold } from '../holds/hold-import.ts';
import { findStoredKeys, storeKeys } from '../holds/hold-keys.ts';
import { denialFor } from '../holds/take-hold.ts';
import { type OrgLimitsCache, readOrgLimits } from '../limits/org-limits.ts';
import type { PostingGroup } from '../posting.ts';
import { endedOrUnknown, findEnds, type HoldEnd, insertEnds } from '../postings/ledger-writes.ts';
import type { NewRunsAssumption } from '../postings/new-runs-assumption.ts';
import {
  type Batch,
  type BatchDependencies,
  decideBatch,
  markAllAlerted,
  writeBatch,
} from '../postings/posting-batch.ts';
import {
  type DueHold,
  holdIdsOf,
  keyDigestsOf,
  type LedgerCommand,
  type LedgerResult,
  type OrgCommands,
} from './ledger-command.ts';
import type { LockedOrg } from './lock-orgs.ts';
import { OrgChanges } from './org-changes.ts';
import { writeCounters } from './postgres-counters.ts';
import { deleteHolds, insertHolds, selectHolds, updateHolds } from './postgres-holds.ts';
import { type OrgWork, TransactionCounters } from './transaction-counters.ts';

export interface PostgresLedgerOptions<Run> extends BatchDependencies<Run> {
  readonly db: Database;
  readonly clock: SharedClock;
  readonly orgLimits?: OrgLimitsCache;
  /** Maximum number of open holds of an org. */
  readonly holdsMax: number;
  /** Number of live processes on the database. Default: 1. */
  readonly processes?: () => number;
  /** Id of this process among those that share the database. Default: a new id. */
  readonly processId?: string;
  /** Measures the rests between expiries, and the lifetimes of holds that were admitted ahead of the clock. */
  readonly monotonicMs?: () => number;
}

export class LedgerTransaction<Run> {
  readonly #options: PostgresLedgerOptions<Run>;
  readonly #orgLimits: OrgLimitsCache;
  readonly #tx: Transaction;
  readonly #newRuns: NewRunsAssumption | undefined;
  readonly #counters: TransactionCounters;

  /** If `newRuns` is left out, runs are always looked up by their `external_id`. */
  constructor(
    options: PostgresLedgerOptions<Run>,
    orgLimits: OrgLimitsCache,
    tx: Transaction,
    newRuns?: NewRunsAssumption,
  ) {
    this.#options = options;
    this.#orgLimits = orgLimits;
    this.#tx = tx;
    this.#newRuns = newRuns;
    this.#counters = new TransactionCounters(tx);
  }

  /**
   * Locks the orgs and executes the commands of those that could be locked. Returns the results by org, in the order of its
   * commands.
   *
   * An org whose last decision is ahead of the clock is left out unless it is the only one, because the other orgs would get its
   * time. The counters are read in the same round trip, after the locks, since the cached limits are most likely current.
   */
  async run(
    lock: () => Promise<LockedOrg[]>,
    all: readonly OrgCommands<Run>[],
  ): Promise<Map<string, LedgerResult<Run>[]>> {
    const [locked] = await Promise.all([
      // The lock is sent first, because counters that were read before the lock could be stale.
      lock(),
      this.#counters.readLikely(all, this.#orgLimits, this.#options.clock.now().getTime()),
    ]);
    this.#counters.forget(locked.flatMap(({ orgId, wasMissing }) => (wasMissing === true ? [orgId] : [])));
    const results = new Map<string, LedgerResult<Run>[]>();
    const clockMs = Math.max(...locked.map(({ now }) => this.#options.clock.agreed(now).getTime()));
    const together =
      locked.length === 1 ? locked : locked.filter(({ lastAt }) => lastAt.getTime() <= clockMs + aheadMsMax);
    if (together.length === 0) {
      return results;
    }
    const nowMs = Math.max(clockMs, ...together.map(({ lastAt }) => lastAt.getTime()));
    const works: OrgWork<Run>[] = [];
    const commandsOf = new Map(all.map(({ orgId, commands }) => [orgId, commands]));
    for (const { orgId, version } of together) {
      const commands = commandsOf.get(orgId) ?? [];
      works.push({ orgId, commands, changes: new OrgChanges(await this.#limits(orgId, version)) });
      results.set(orgId, new Array(commands.length));
    }
    await this.#readHolds(works, nowMs);
    await this.#counters.prepare(works, nowMs);
    for (const { orgId, commands, changes } of works) {
      for (const [index, one] of commands.entries()) {
        if (one.kind !== 'post') {
          (results.get(orgId) as LedgerResult<Run>[])[index] = await this.#execute(changes, one, {
            nowMs,
            clockMs,
          });
        }
      }
    }
    await this.#post(works, results, nowMs);
    await this.#write(works, nowMs);
    return results;
  }

  async #limits(orgId: string, version: bigint): Promise<OrgLimits> {
    const cached = this.#orgLimits.peek(orgId);
    if (cached?.version === version) {
      return cached;
    }
    const limits = await readOrgLimits(this.#tx, orgId);
    this.#orgLimits.set(limits);
    return limits;
  }

  async #readHolds(works: readonly OrgWork<Run>[], nowMs: number): Promise<void> {
    const byOrg = new Map(works.map(({ orgId, changes }) => [orgId, changes]));
    const refer = (idsOf: (command: LedgerCommand<Run>) => readonly string[]) =>
      works.flatMap(({ orgId, commands }) =>
        commands.flatMap((one) => idsOf(one).map((id) => ({ orgId, id }))),
      );
    const digests = refer(keyDigestsOf);
    for (const { orgId, key } of await findStoredKeys(this.#tx, digests, nowMs)) {
      byOrg.get(orgId)?.useKey(key);
    }
    for (const hold of await selectHolds(this.#tx, refer(holdIdsOf), digests)) {
      const changes = byOrg.get(hold.orgId);
      changes?.orgState.addHold(hold);
      changes?.useKey(hold.idempotency);
    }
    const late = works.flatMap(({ commands, changes: { orgState } }) =>
      commands.flatMap((one) =>
        one.kind === 'post'
          ? one.group.postings.flatMap(({ kind, decisionId }) =>
              decisionId === null || kind === 'open' || orgState.holds.has(decisionId) ? [] : [decisionId],
            )
          : [],
      ),
    );
    for (const { org_id, body } of await findEnds(this.#tx, [...byOrg.keys()], late)) {
      byOrg.get(org_id)?.endedBefore.push(restoredHold(body));
    }
  }

  async #execute(
    changes: OrgChanges,
    command: Exclude<LedgerCommand<Run>, { kind: 'post' }>,
    { nowMs, clockMs }: { readonly nowMs: number; readonly clockMs: number },
  ): Promise<LedgerResult<Run>> {
    switch (command.kind) {
      case 'hold':
        return changes.hold(this.#options.ids, command.request, nowMs);
      case 'preview':
        return command.previews.map((one) => denialFor(changes.orgState, one, nowMs));
      case 'import':
        return this.#import(changes, command.request);
      case 'void':
        return this.#void(changes, command.holdId, nowMs);
      case 'extend':
        return (
          changes.extend(command.holdId, command.seconds, clockMs) ??
          endedOrUnknown(this.#tx, changes.orgId, command.holdId)
        );
      case 'increase':
        return (
          changes.increase(command.holdId, command.increase, nowMs) ??
          endedOrUnknown(this.#tx, changes.orgId, command.holdId)
        );
      case 'expire':
        await this.#expire(changes, command.holds, nowMs);
        return undefined;
    }
  }

  async #import(changes: OrgChanges, request: HoldImport): Promise<ImportedHold[]> {
    const { orgId, orgState } = changes;
    const unknown = request.holds.filter(({ id }) => !orgState.holds.has(id)).map(({ id }) => id);
    const ends = await findEnds(this.#tx, [orgId], unknown);
    const imported = changes.import(request, new Set(ends.map(({ hold_id }) => hold_id)));
    // A run settled the decision before its import, so the end was stored without the key.
    await storeKeys(this.#tx, imported.settledBefore);
    if (imported.added.length > 0) {
      await request.record?.(this.#tx, imported.added);
    }
    return imported.results;
  }

  async #void(changes: OrgChanges, holdId: string, nowMs: number): Promise<LedgerResult<Run>> {
    const open = changes.orgState.holds.get(holdId);
    if (open === undefined) {
      return endedOrUnknown(this.#tx, changes.orgId, holdId);
    }
    await this.#end(changes, [open.hold], 'voided', nowMs);
    return { kind: 'changed', hold: open.hold };
  }

  /** Releases the holds that are overdue, or posts their held amounts if the org is set so. */
  async #expire(changes: OrgChanges, holds: readonly DueHold[], nowMs: number): Promise<void> {
    const { orgId, orgState } = changes;
    const due = holds.flatMap(({ id, elapsedExpiryMs }) => {
      const hold = orgState.holds.get(id)?.hold;
      return hold !== undefined && (hold.expiresAtMs <= nowMs || hold.expiresAtMs === elapsedExpiryMs)
        ? hold
        : [];
    });
    const { onUnsettled } = orgState.limits;
    const posted = due.filter((hold) => isPostedAtExpiry(hold, onUnsettled));
    const released = due.filter((hold) => !isPostedAtExpiry(hold, onUnsettled));
    await this.#end(changes, released, 'expired', nowMs);
    if (posted.length > 0) {
      const postings = await this.#options.unsettledRuns.postingsFor(this.#tx, orgId, posted);
      await this.#postGroups([changes], [{ orgId, postings, skipRejected: true }], nowMs);
    }
  }

  async #end(
    changes: OrgChanges,
    holds: readonly Hold[],
    endedAs: HoldEnd['endedAs'],
    nowMs: number,
  ): Promise<void> {
    await insertEnds(
      this.#tx,
      holds.map((hold) => ({ hold, endedAs, runId: null })),
      nowMs,
    );
    changes.release(holds);
  }

  async #post(
    works: readonly OrgWork<Run>[],
    results: ReadonlyMap<string, LedgerResult<Run>[]>,
    nowMs: number,
  ): Promise<void> {
    const posting = works.filter(({ commands }) => commands.some(({ kind }) => kind === 'post'));
    if (posting.length === 0) {
      return;
    }
    const posted = await this.#postGroups(
      posting.map(({ changes }) => changes),
      posting.flatMap(({ commands }) => commands.flatMap((one) => (one.kind === 'post' ? [one.group] : []))),
      nowMs,
    );
    for (const { orgId, commands } of posting) {
      for (const [index, one] of commands.entries()) {
        if (one.kind === 'post') {
          (results.get(orgId) as LedgerResult<Run>[])[index] = posted.get(one.group);
        }
      }
    }
  }

  async #postGroups(
    orgs: readonly OrgChanges[],
    groups: readonly PostingGroup<Run>[],
    nowMs: number,
  ): Promise<Batch<Run>['results']> {
    const byOrg = new Map(orgs.map((changes) => [changes.orgId, changes]));
    const changesOf = (orgId: string): OrgChanges => {
      const changes = byOrg.get(orgId);
      if (changes === undefined) {
        throw new Error('a posting of an org that is not locked');
      }
      return changes;
    };
    const batch = await decideBatch(this.#tx, this.#options, {
      groups,
      nowMs,
      // On Citus, a violation is not reported as such if the rows were copied to a shard.
      assumesNewRuns: !this.#tx.isDistributed && this.#newRuns?.appliesTo(groups) === true,
      orgStateOf: (orgId) => changesOf(orgId).orgState,
      makeCounters: ({ orgId }, missing) => this.#counters.create(changesOf(orgId), missing),
      loadCounters: ({ orgId }, keys) => this.#counters.load([{ changes: changesOf(orgId), keys }]),
    });
    markAllAlerted(await writeBatch(this.#tx, this.#options, batch, nowMs));
    for (const { hold } of batch.newHolds) {
      changesOf(hold.orgId).addNewHolds([hold]);
    }
    for (const { orgState, posted, ends } of batch.uncommitted) {
      if (posted.charged !== null) {
        commitSettlement(orgState.counters, posted.charged);
      }
      if (ends !== null) {
        changesOf(orgState.orgId).removeHold(ends.hold.id);
      }
    }
    return batch.results;
  }

  async #write(works: readonly OrgWork<Run>[], nowMs: number): Promise<void> {
    const all = works.map(({ changes }) => changes);
    // Pipelined without waiting for each response, because other commands wait for the locks of these orgs.
    await Promise.all([
      insertHolds(
        this.#tx,
        all.flatMap((changes) => changes.newHolds()),
      ),
      updateHolds(
        this.#tx,
        all.flatMap((changes) => changes.changedHolds()),
      ),
      deleteHolds(
        this.#tx,
        all.flatMap(({ orgId, endedHolds }) => [...endedHolds].map((id) => ({ orgId, id }))),
      ),
      writeCounters(this.#tx, all, nowMs),
      this.#tx.query('UPDATE ledger_orgs SET last_at = greatest(last_at, $2) WHERE org_id = ANY($1)', [
        works.map(({ orgId }) => orgId),
        new Date(nowMs),
      ]),
    ]);
  }
}
