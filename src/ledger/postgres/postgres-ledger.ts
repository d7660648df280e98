/**
 * The ledger on PostgreSQL. It is exact across any number of processes, because all decisions are made under row
 * locks in PostgreSQL. Each process collects the commands of its orgs and executes those of several orgs in one
 * transaction: lock the orgs, read their counters, decide, write. The org states are created for that transaction and
 * discarded with it.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { LimitWindow } from '../../kernel/admission.ts';
import type { Denial } from '../../kernel/denial.ts';
import { emptyScope, type OrgLimits, type Scope } from '../../kernel/limits.ts';
import { agreedNow } from '../../platform/db/agreed-now.ts';
import { isLockTimeout, type Transaction } from '../../platform/db/database.ts';
import { ServiceUnavailable } from '../../platform/service-unavailable.ts';
import { droppedCounters, namePattern, type Renaming, renamedHold } from '../holds/customer-pseudonyms.ts';
import type { Hold } from '../holds/hold.ts';
import type { HoldImport, ImportedHold } from '../holds/hold-import.ts';
import { findStoredKey, type Replay, type RequestKey, replayOf } from '../holds/hold-keys.ts';
import type {
  AdmissionPreview,
  HoldChange,
  HoldIncrease,
  HoldQuery,
  HoldRequest,
  HoldResult,
  IncreaseResult,
} from '../holds/hold-request.ts';
import type { MissingCounter } from '../holds/org-ledger-state.ts';
import { reservedAmounts } from '../holds/reserved-amounts.ts';
import type { CounterState, Inspection, InspectRead, Ledger } from '../ledger.ts';
import { readSettled } from '../limits/counters.ts';
import { countersOfScopes, type LimitUsage, limitUsageOf, ownCounters } from '../limits/limit-usage.ts';
import { createOrgLimits, type OrgLimitsCache, readOrgLimits } from '../limits/org-limits.ts';
import { type GroupResult, holdsOpenedBy, type PostingGroup } from '../posting.ts';
import { eachIfAllFail } from '../postings/each-if-all-fail.ts';
import { NewRunsAssumption } from '../postings/new-runs-assumption.ts';
import { HoldExpiry, leaseExpiry } from './hold-expiry.ts';
import { inspectOrg } from './inspect-org.ts';
import type { DueHold, LedgerCommand, LedgerResult } from './ledger-command.ts';
import { LedgerTransaction, type PostgresLedgerOptions } from './ledger-transaction.ts';
import { type LockedOrg, lockFreeOrgs, lockOrg, lockOrgs } from './lock-orgs.ts';
import { OpenHoldRoom } from './open-hold-room.ts';
import { OrgQueues, type QueuedOrg } from './org-queues.ts';
import {
  selectHolds,
  selectHoldsOfCustomer,
  selectHoldsPage,
  selectHoldsSince,
  updateHolds,
} from './postgres-holds.ts';

const countersPerEviction = 5_000;
/**
 * Time after which a counter is deleted, counted from the end of its window or its last change, whichever is later;
 * without a window, from its last change. It must be summed from the ledger when it is needed again.
 */
const unusedCounterMs = 3_600_000;

export class PostgresLedger<Run = unknown> implements Ledger<Run> {
  readonly #options: PostgresLedgerOptions<Run>;
  readonly #orgLimits: OrgLimitsCache;
  readonly #queues = new OrgQueues<Run>({
    groupOf: (orgId) => this.#options.db.tenantGroups.groupOf(orgId),
    executeFree: (batch) => this.#tryBatch(batch, lockFreeOrgs),
    executeSoon: (batch) => this.#tryBatch(batch, lockOrgs),
    executeAlone: (org) => this.#executeAlone(org),
  });
  readonly #newRuns = new NewRunsAssumption();
  readonly #openHolds: OpenHoldRoom;
  readonly #expiry: HoldExpiry;

  constructor(options: PostgresLedgerOptions<Run>) {
    this.#options = options;
    this.#openHolds = new OpenHoldRoom({ processes: () => 1, ...options });
    this.#orgLimits = options.orgLimits ?? createOrgLimits(options.db);
    const { db, clock, monotonicMs, processId = randomUUID() } = options;
    this.#expiry = new HoldExpiry({
      db,
      clock,
      processId,
      ...(monotonicMs !== undefined && { monotonicMs }),
      expire: async (orgId, holds) => {
        let isLeased = false;
        await eachIfAllFail(holds, async (some) => {
          isLeased = await this.#expire(orgId, some, processId);
        });
        return isLeased;
      },
    });
  }

  decide(): undefined {
    // A decision always needs PostgreSQL, so the caller must use `hold`.
  }

  hold(request: HoldRequest): Promise<HoldResult> {
    const { orgId } = request;
    return this.#openHolds.use(
      orgId,
      1,
      () => this.#enqueue(orgId, { kind: 'hold', request }) as Promise<HoldResult>,
    );
  }

  async replay(orgId: string, key: RequestKey): Promise<Replay | undefined> {
    const { db, clock } = this.#options;
    const [open] = await selectHolds(db, [], [{ orgId, id: key.digest }]);
    if (open !== undefined) {
      return replayOf(open.idempotency, key);
    }
    // Queried second: a hold that ended meanwhile has stored its key here.
    return replayOf(await findStoredKey(db, orgId, key.digest, clock.now().getTime()), key);
  }

  previewDenials(orgId: string, previews: readonly AdmissionPreview[]): Promise<(Denial | undefined)[]> {
    return this.#enqueue(orgId, { kind: 'preview', previews }) as Promise<(Denial | undefined)[]>;
  }

  importHolds(request: HoldImport): Promise<ImportedHold[]> {
    return this.#enqueue(request.orgId, { kind: 'import', request }) as Promise<ImportedHold[]>;
  }

  post(group: PostingGroup<Run>): Promise<GroupResult<Run>> {
    const { orgId } = group;
    const post = () => this.#enqueue(orgId, { kind: 'post', group }) as Promise<GroupResult<Run>>;
    const opened = holdsOpenedBy(group);
    return opened === 0 ? post() : this.#openHolds.use(orgId, opened, post);
  }

  void(orgId: string, holdId: string): Promise<HoldChange> {
    return this.#enqueue(orgId, { kind: 'void', holdId }) as Promise<HoldChange>;
  }

  extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange> {
    return this.#enqueue(orgId, { kind: 'extend', holdId, seconds }) as Promise<HoldChange>;
  }

  increase(orgId: string, holdId: string, increase: HoldIncrease): Promise<IncreaseResult> {
    return this.#enqueue(orgId, { kind: 'increase', holdId, increase }) as Promise<IncreaseResult>;
  }

  async holds(orgId: string, query: HoldQuery): Promise<Hold[]> {
    return selectHoldsPage(this.#options.db, orgId, query);
  }

  async findHold(orgId: string, holdId: string): Promise<Hold | undefined> {
    return (await selectHolds(this.#options.db, [{ orgId, id: holdId }]))[0];
  }

  holdsInMemory(): undefined {
    return undefined;
  }

  limitUsage(orgId: string, limitIds: readonly string[]): Promise<LimitUsage[]> {
    return this.#usageOf(orgId, [], (limits, nowMs) => ownCounters(limits, limitIds, nowMs));
  }

  limitUsageIn(orgId: string, limitId: string, scopes: readonly Scope[]): Promise<LimitUsage[]> {
    return this.#usageOf(orgId, scopes, (limits, nowMs) => countersOfScopes(limits, limitId, scopes, nowMs));
  }

  /** `scopes` has the scope of each counter; empty for limits without a wildcard, whose counters need none. */
  async #usageOf(
    orgId: string,
    scopes: readonly Scope[],
    countersAt: (limits: OrgLimits, nowMs: number) => readonly LimitWindow[],
  ): Promise<LimitUsage[]> {
    const { db, clock } = this.#options;
    const nowMs = (await agreedNow(db, clock)).getTime();
    const limits = await readOrgLimits(db, orgId);
    const wanted = countersAt(limits, nowMs);
    const rows = await db.query<CounterState>(
      'SELECT key, settled, held FROM counters WHERE org_id = $1 AND key = ANY($2)',
      [orgId, wanted.map(({ key }) => key)],
    );
    const counters = new Map(rows.map((row) => [row.key, row]));
    const missing = wanted.flatMap((limitWindow, index) =>
      counters.has(limitWindow.key) ? [] : [{ limitWindow, scope: scopes[index] ?? emptyScope }],
    );
    for (const counter of await this.#sumCounters(limits, missing)) {
      counters.set(counter.key, counter);
    }
    return wanted.map((one) => limitUsageOf(one, counters.get(one.key) ?? { settled: 0n, held: 0n }));
  }

  /**
   * Sums counters that were not needed for a while, or since their limit was changed, and have no row. They are not created:
   * reading changes nothing. A snapshot, because a hold that is settled meanwhile would be counted twice or not at all.
   */
  async #sumCounters(limits: OrgLimits, missing: readonly MissingCounter[]): Promise<CounterState[]> {
    if (missing.length === 0) {
      return [];
    }
    const { orgId } = limits;
    const windows = missing.map(({ limitWindow }) => limitWindow);
    return this.#options.db.transaction(
      async (tx) => {
        const reserved = reservedAmounts(limits, await selectHoldsSince(tx, orgId, missing), windows);
        const counters: CounterState[] = [];
        for (const { limitWindow, scope } of missing) {
          const { settled } = await readSettled(tx, orgId, limitWindow, scope);
          counters.push({ key: limitWindow.key, settled, held: reserved.get(limitWindow.key) ?? 0n });
        }
        return counters;
      },
      { snapshot: true },
    );
  }

  inspect<Result>(orgId: string, read: InspectRead<Result>): Promise<Inspection<Result>> {
    return inspectOrg(this.#options.db, orgId, read);
  }

  async renameCustomer(
    orgId: string,
    renaming: Renaming,
    change: (tx: Transaction) => Promise<void>,
  ): Promise<void> {
    await this.#options.db.transaction(async (tx) => {
      await lockOrg(tx, orgId);
      await change(tx);
      const { tagFields } = (await readOrgLimits(tx, orgId)).index;
      const dropped: string[] = [];
      const renamed = (await selectHoldsOfCustomer(tx, orgId, renaming.from)).flatMap((before) => {
        const hold = renamedHold(before, renaming, tagFields);
        dropped.push(...(hold === undefined ? [] : droppedCounters(before, hold)));
        return hold ?? [];
      });
      await updateHolds(tx, renamed);
      await deleteCustomerCounters(tx, orgId, renaming, dropped);
    });
  }

  expireDue(): Promise<boolean> {
    return this.#expiry.expireDue();
  }

  expiryRestMs(): number {
    return this.#expiry.restMs();
  }

  async evictCounters(): Promise<boolean> {
    const { db, clock } = this.#options;
    const unusedSince = new Date((await agreedNow(db, clock)).getTime() - unusedCounterMs);
    const deleted = await db.query(
      `DELETE FROM counters WHERE (org_id, key) IN (
         SELECT org_id, key FROM counters WHERE held = 0 AND window_end < $1 LIMIT $2)
       RETURNING 1 AS one`,
      [unusedSince, countersPerEviction],
    );
    return deleted.length === countersPerEviction;
  }

  stats() {
    return { openHolds: 0, overdueHolds: 0, oldestOverdueMs: 0, waiting: this.#queues.waiting };
  }

  async clockAheadMs(): Promise<number> {
    const { db, clock } = this.#options;
    const [row] = await db.query<{ last_at: Date | null }>(
      'SELECT max(last_at) AS last_at FROM ledger_orgs',
      [],
    );
    const clockMs = (await agreedNow(db, clock)).getTime();
    return Math.max(0, (row?.last_at?.getTime() ?? 0) - clockMs);
  }

  /** Queued commands are finished before the server stops, so only the leases remain; without them they lapse. */
  async close(): Promise<void> {
    await this.#expiry.close().catch(() => undefined);
  }

  #enqueue(orgId: string, command: LedgerCommand<Run>): Promise<LedgerResult<Run>> {
    return this.#queues.enqueue(orgId, command);
  }

  /** A transaction of its own: decisions that share it would wait for the expiry. */
  #expire(orgId: string, holds: readonly DueHold[], processId: string): Promise<boolean> {
    return this.#options.db.transaction(async (tx) => {
      const isLeased = await leaseExpiry(tx, orgId, processId);
      if (isLeased) {
        await new LedgerTransaction(this.#options, this.#orgLimits, tx).run(
          async () => [await lockOrg(tx, orgId)],
          [{ orgId, commands: [{ kind: 'expire', holds }] }],
        );
      }
      return isLeased;
    });
  }

  /** Returns the orgs that remain to be executed: those that were not locked or, if the batch has failed, all of them. */
  async #tryBatch(
    batch: readonly QueuedOrg<Run>[],
    lock: (tx: Transaction, orgIds: readonly string[]) => Promise<LockedOrg[]>,
  ): Promise<readonly QueuedOrg<Run>[]> {
    const orgIds = batch.map(({ orgId }) => orgId);
    try {
      return await settle(batch, await this.#transact(batch, (tx) => lock(tx, orgIds)));
    } catch (error) {
      if (error instanceof ServiceUnavailable && !isLockTimeout(error)) {
        rejectAll(batch, error);
        return [];
      }
      return batch;
    }
  }

  async #executeAlone(org: QueuedOrg<Run>, assumesNewRuns = true): Promise<void> {
    const { orgId, commands } = org;
    const lock = async (tx: Transaction) => [await lockOrg(tx, orgId)];
    try {
      await settle([org], await this.#transact([org], lock, assumesNewRuns ? this.#newRuns : undefined));
    } catch (error) {
      if (assumesNewRuns && this.#newRuns.hasFailed(error)) {
        await this.#executeAlone(org, false);
        return;
      }
      if (commands.length === 1 || error instanceof ServiceUnavailable) {
        rejectAll([org], error);
        return;
      }
      // Retries each command separately, so that an error in one command does not fail the others.
      for (const command of commands) {
        await this.#executeAlone({ orgId, commands: [command] });
      }
    }
  }

  #transact(
    batch: readonly QueuedOrg<Run>[],
    lock: (tx: Transaction) => Promise<LockedOrg[]>,
    newRuns?: NewRunsAssumption,
  ): Promise<ReadonlyMap<string, LedgerResult<Run>[]>> {
    const work = batch.map(({ orgId, commands }) => ({
      orgId,
      commands: commands.map(({ command }) => command),
    }));
    return this.#options.db.transaction(
      (tx) => new LedgerTransaction(this.#options, this.#orgLimits, tx, newRuns).run(() => lock(tx), work),
      { readsFirst: true },
    );
  }
}

/** Commands that are resolved in one turn of the event loop: each continues with its response. */
const resolvedPerTurn = 16;

/** Resolves the commands of those orgs that have results. Returns the other orgs. */
async function settle<Run>(
  batch: readonly QueuedOrg<Run>[],
  results: ReadonlyMap<string, LedgerResult<Run>[]>,
): Promise<QueuedOrg<Run>[]> {
  let resolved = 0;
  for (const { orgId, commands } of batch.toSorted((a, b) => a.commands.length - b.commands.length)) {
    for (const [index, result] of (results.get(orgId) ?? []).entries()) {
      if (resolved > 0 && resolved % resolvedPerTurn === 0) {
        await setImmediate();
      }
      resolved += 1;
      commands[index]?.resolve(result);
    }
  }
  return batch.filter(({ orgId }) => !results.has(orgId));
}

function rejectAll<Run>(batch: readonly QueuedOrg<Run>[], error: unknown): void {
  for (const { reject } of batch.flatMap(({ commands }) => commands)) {
    reject(error);
  }
}

/** Deletes the counters that are keyed by the id of a customer, and the given ones. The next decision recounts them. */
async function deleteCustomerCounters(
  tx: Transaction,
  orgId: string,
  { from, to }: Renaming,
  keys: readonly string[],
): Promise<void> {
  // A counter with several values has them as a JSON list. A pseudonym is found anywhere: it is random.
  const value = `substr(key, strpos(key, ':') + 1)`;
  await tx.query(
    `DELETE FROM counters
      WHERE org_id = $1
        AND (key = ANY($5) OR strpos(key, ':') > 0
             AND (${value} = $2 OR ${value} ~ $3 OR left(${value}, 1) = '[' AND strpos(${value}, $4) > 0
                  OR strpos(${value}, $6) > 0))`,
    [orgId, from, namePattern(from), JSON.stringify(from), keys, to],
  );
}
