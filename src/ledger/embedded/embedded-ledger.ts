/**
 * The ledger of the embedded engine. One process owns the database, so the state of its orgs lives in memory. A
 * decision without an idempotency key needs no query once its counters are loaded; its hold is durable in a log before
 * the response is sent. Concurrent postings share a transaction.
 *
 * A counter is the amount in the database plus everything since, without a gap: a posting is counted in memory as
 * soon as its commit is known, before any later statement can return, because PGlite has a single connection that
 * callers use in turn.
 */
import { applicableCounters } from '../../kernel/admission.ts';
import type { Denial } from '../../kernel/denial.ts';
import { emptyScope, type Scope } from '../../kernel/limits.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { createFailureLog } from '../../platform/failure-log.ts';
import type { Durability } from '../../platform/files/durable-files.ts';
import type { Log } from '../../platform/log.ts';
import { OverCapacity } from '../../platform/service-unavailable.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Renaming } from '../holds/customer-pseudonyms.ts';
import type { Hold } from '../holds/hold.ts';
import type { HoldImport, ImportedHold } from '../holds/hold-import.ts';
import { findStoredKey, type Replay, type RequestKey, replayOf } from '../holds/hold-keys.ts';
import type {
  AdmissionPreview,
  Held,
  HoldChange,
  HoldIncrease,
  HoldQuery,
  HoldRequest,
  HoldResult,
  IncreaseResult,
} from '../holds/hold-request.ts';
import { reservedAmounts } from '../holds/reserved-amounts.ts';
import { admitHold, denialFor, orgKeyId, takeHold, tooManyHolds } from '../holds/take-hold.ts';
import type { DecidedHold, Ledger } from '../ledger.ts';
import { readSettled } from '../limits/counters.ts';
import { countersOfScopes, type LimitUsage, limitUsageOf, ownCounters } from '../limits/limit-usage.ts';
import { createOrgLimits, type OrgLimitsCache, readOrgLimits } from '../limits/org-limits.ts';
import { type GroupResult, holdsOpenedBy, type PostingGroup } from '../posting.ts';
import { findLatestPosting } from '../postings/latest-posting.ts';
import { addCounters, type BatchDependencies } from '../postings/posting-batch.ts';
import { DurableHolds } from './durable-holds.ts';
import { EmbeddedHoldEnds } from './embedded-hold-ends.ts';
import { EmbeddedHoldImports } from './embedded-hold-imports.ts';
import { EmbeddedHoldIncreases } from './embedded-hold-increases.ts';
import { EmbeddedPostings } from './embedded-postings.ts';
import { beginGeneration } from './hold-generation.ts';
import { type HoldLog, type LoggedHold, openHoldLog } from './hold-log.ts';
import { KeysInFlight } from './keys-in-flight.ts';
import { LedgerStates } from './ledger-states.ts';
import { renameInMemory } from './rename-in-memory.ts';
import { requireDatabase } from './require-database.ts';
import { restoreHolds } from './restore-holds.ts';
import { UnresolvedHoldEnds } from './unresolved-hold-ends.ts';

export interface EmbeddedLedgerOptions<Run> extends BatchDependencies<Run> {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Directory of the hold log. */
  readonly directory: string;
  readonly durability: Durability;
  readonly holdsMax: number;
  readonly orgLimits?: OrgLimitsCache;
  /** Called when a write to the hold log failed. */
  onHoldLogFailed?(error: unknown): void;
  /** Measures the lifetimes of holds that are ahead of the clock. */
  readonly monotonicMs?: () => number;
}

/** The state that a start reads from the database and the hold log. */
interface StoredState {
  readonly restored: readonly LoggedHold[];
  /** The last persisted time of the ledger, behind which it never moves. */
  readonly floorMs: number;
  readonly latestPostingMs: number;
}

export class EmbeddedLedger<Run = unknown> implements Ledger<Run> {
  readonly #options: EmbeddedLedgerOptions<Run>;
  readonly #states: LedgerStates;
  readonly #durable: DurableHolds;
  readonly #unresolvedEnds = new UnresolvedHoldEnds();
  readonly #postings: EmbeddedPostings<Run>;
  readonly #ends: EmbeddedHoldEnds;
  readonly #increases: EmbeddedHoldIncreases;
  readonly #imports: EmbeddedHoldImports;
  readonly #keysInFlight = new KeysInFlight();
  readonly #loads = new Map<string, Promise<void>>();
  #nowMs: number;

  static async open<Run>(options: EmbeddedLedgerOptions<Run>): Promise<EmbeddedLedger<Run>> {
    const holdLog = openHoldLog(options.directory, options);
    try {
      await beginGeneration(options.db, holdLog);
      const [row] = await options.db.query<{ last_at: Date | null }>(
        'SELECT max(last_at) AS last_at FROM ledger_orgs',
        [],
      );
      const restored = await restoreHolds(options.db, holdLog);
      const floorMs = Math.max(
        row?.last_at?.getTime() ?? 0,
        ...restored.slice(-1).map(({ hold }) => hold.admittedAtMs),
      );
      const latestPostingMs = await findLatestPosting(options.db, options.clock.now());
      return new EmbeddedLedger(options, holdLog, { restored, floorMs, latestPostingMs });
    } catch (error) {
      holdLog.close();
      throw error;
    }
  }

  private constructor(
    options: EmbeddedLedgerOptions<Run>,
    holdLog: HoldLog,
    { restored, floorMs, latestPostingMs }: StoredState,
  ) {
    this.#options = options;
    this.#nowMs = floorMs;
    const now = () => this.#now();
    const states = new LedgerStates({
      orgLimits: options.orgLimits ?? createOrgLimits(options.db),
      restored,
      latestPostingMs,
      holdsMax: options.holdsMax,
      now,
    });
    this.#states = states;
    const failures = createFailureLog({
      log: options.log,
      fields: {},
      messages: {
        failed: 'hold log write failed',
        stillFails: 'hold log writes still fail',
        recovered: 'hold log writes succeed again',
      },
    });
    this.#durable = new DurableHolds(
      holdLog,
      (lost, error) => {
        failures.failed(error);
        options.onHoldLogFailed?.(error);
        for (const open of lost) {
          states.release(open);
        }
      },
      () => failures.succeeded(),
    );
    const shared = { states, durable: this.#durable, unresolvedEnds: this.#unresolvedEnds, now };
    this.#postings = new EmbeddedPostings({ ...options, ...shared });
    this.#ends = new EmbeddedHoldEnds({
      db: options.db,
      ...shared,
      clockMs: () => this.#clockMs(),
      ...(options.monotonicMs !== undefined && { monotonicMs: options.monotonicMs }),
      postExpired: (orgId, stillOpen) => this.#postings.expire(orgId, stillOpen),
    });
    this.#increases = new EmbeddedHoldIncreases({ db: options.db, ...shared });
    this.#imports = new EmbeddedHoldImports({ db: options.db, keysInFlight: this.#keysInFlight, ...shared });
  }

  /** Returns the current time. It never runs backwards; after a restart, not behind the last posting or open hold. */
  #now(): number {
    this.#nowMs = Math.max(this.#nowMs, this.#clockMs());
    return this.#nowMs;
  }

  #clockMs(): number {
    return this.#options.clock.now().getTime();
  }

  async clockAheadMs(): Promise<number> {
    return this.#now() - this.#clockMs();
  }

  hold(request: HoldRequest): Promise<HoldResult> {
    const { orgId, key } = request;
    return key === undefined
      ? this.#hold(request)
      : this.#keysInFlight.serialize(
          orgKeyId(orgId, key.digest),
          async () => (await this.#replay(orgId, key)) ?? this.#hold(request),
        );
  }

  async #hold(request: HoldRequest): Promise<HoldResult> {
    for (;;) {
      const decided = this.#decide(request);
      if (decided === undefined) {
        await this.#load(request);
      } else if ('held' in decided) {
        await decided.durable;
        return decided.held;
      } else {
        return decided;
      }
    }
  }

  replay(orgId: string, key: RequestKey): Promise<Replay | undefined> {
    return this.#keysInFlight.serialize(orgKeyId(orgId, key.digest), () => this.#replay(orgId, key));
  }

  /** Checks memory first: a durable hold leaves memory only after its end, with its key, is in the database. */
  async #replay(orgId: string, key: RequestKey): Promise<Replay | undefined> {
    const open = this.#states.findByKey(orgKeyId(orgId, key.digest));
    if (open !== undefined) {
      return replayOf(open.idempotency, key);
    }
    const stored = await findStoredKey(this.#options.db, orgId, key.digest, this.#now());
    return replayOf(stored, key);
  }

  async previewDenials(
    orgId: string,
    previews: readonly AdmissionPreview[],
  ): Promise<(Denial | undefined)[]> {
    for (;;) {
      requireDatabase(this.#options.db);
      const orgState = await this.#states.open(orgId);
      const nowMs = this.#now();
      const missing = previews.flatMap(({ scope, surface }) =>
        orgState.missingCounters(applicableCounters(orgState.limits, scope, nowMs, surface).counters, scope),
      );
      if (missing.length === 0) {
        return previews.map((one) => denialFor(orgState, one, nowMs));
      }
      await addCounters(this.#options.db, orgState, missing);
    }
  }

  decide(request: HoldRequest): DecidedHold | Exclude<HoldResult, Held> | undefined {
    // A key may be stored in the database, which `hold` checks.
    return request.key === undefined ? this.#decide(request) : undefined;
  }

  #decide(request: HoldRequest): DecidedHold | Exclude<HoldResult, Held> | undefined {
    requireDatabase(this.#options.db);
    const orgState = this.#states.peek(request.orgId);
    if (orgState === undefined) {
      return undefined;
    }
    const { scope, surface } = request;
    const nowMs = this.#now();
    const applicable = applicableCounters(orgState.limits, scope, nowMs, surface);
    if (orgState.missingCounters(applicable.counters, scope).length > 0) {
      return undefined;
    }
    const admitted = admitHold(orgState, request, applicable, nowMs);
    if (admitted.kind === 'denied') {
      return admitted;
    }
    if (!this.#states.openHolds.hasRoom(request.orgId)) {
      throw new OverCapacity(tooManyHolds);
    }
    const held = takeHold(this.#options.ids, orgState, admitted);
    const open = orgState.addHold(held.hold);
    this.#states.track(open);
    return { held, durable: this.#durable.take(open) };
  }

  /** Loads what a decision needs; concurrent requests of an org share one load. */
  async #load(request: HoldRequest): Promise<void> {
    const { orgId } = request;
    const inFlight = this.#loads.get(orgId);
    if (inFlight !== undefined) {
      return inFlight;
    }
    const load = this.#read(request).finally(() => this.#loads.delete(orgId));
    this.#loads.set(orgId, load);
    return load;
  }

  async #read({ orgId, scope, surface }: HoldRequest): Promise<void> {
    const orgState = await this.#states.open(orgId);
    const { counters } = applicableCounters(orgState.limits, scope, this.#now(), surface);
    await addCounters(this.#options.db, orgState, orgState.missingCounters(counters, scope));
  }

  importHolds(request: HoldImport): Promise<ImportedHold[]> {
    return this.#imports.import(request);
  }

  async post(group: PostingGroup<Run>): Promise<GroupResult<Run>> {
    const { openHolds } = this.#states;
    const { orgId } = group;
    const opened = holdsOpenedBy(group);
    if (opened === 0) {
      return this.#postings.add(group);
    }
    // Reserves the places until the holds are counted themselves, or were not taken.
    if (!openHolds.tryTake(orgId, opened)) {
      throw new OverCapacity(tooManyHolds);
    }
    try {
      return await this.#postings.add(group);
    } finally {
      openHolds.release(orgId, opened);
    }
  }

  void(orgId: string, holdId: string): Promise<HoldChange> {
    return this.#ends.void(orgId, holdId);
  }

  extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange> {
    return this.#ends.extend(orgId, holdId, seconds);
  }

  increase(orgId: string, holdId: string, increase: HoldIncrease): Promise<IncreaseResult> {
    return this.#increases.increase(orgId, holdId, increase);
  }

  expireDue(): Promise<boolean> {
    return this.#ends.expireDue();
  }

  expiryRestMs(): number {
    return this.#ends.expiryRestMs();
  }

  async holds(orgId: string, { limit, after, newestFirst = false }: HoldQuery): Promise<Hold[]> {
    const orgState = await this.#states.open(orgId);
    const precedes = (id: string, other: string) => (newestFirst ? id > other : id < other);
    return [...orgState.holds.values()]
      .map(({ hold }) => hold)
      .filter(({ id }) => after === undefined || precedes(after, id))
      .sort((a, b) => (precedes(a.id, b.id) ? -1 : 1))
      .slice(0, limit);
  }

  async findHold(orgId: string, holdId: string): Promise<Hold | undefined> {
    return (await this.#states.open(orgId)).holds.get(holdId)?.hold;
  }

  holdsInMemory(): Hold[] {
    return this.#states.allHolds();
  }

  async limitUsage(orgId: string, limitIds: readonly string[]): Promise<LimitUsage[]> {
    const orgState = await this.#states.open(orgId);
    const wanted = ownCounters(orgState.limits, limitIds, this.#now());
    await addCounters(this.#options.db, orgState, orgState.missingCounters(wanted, emptyScope));
    return wanted.flatMap((one) => {
      const counter = orgState.counters.get(one.key);
      return counter === undefined ? [] : [limitUsageOf(one, counter)];
    });
  }

  async limitUsageIn(orgId: string, limitId: string, scopes: readonly Scope[]): Promise<LimitUsage[]> {
    const orgState = await this.#states.open(orgId);
    const wanted = countersOfScopes(orgState.limits, limitId, scopes, this.#now());
    // Missing counters are not created: few of them may ever be needed.
    const missing = new Map<string, bigint>();
    for (const [index, one] of wanted.entries()) {
      if (!orgState.counters.has(one.key)) {
        const { settled } = await readSettled(this.#options.db, orgId, one, scopes[index] ?? emptyScope);
        missing.set(one.key, settled);
      }
    }
    const holds = missing.size === 0 ? [] : [...orgState.holds.values()].map(({ hold }) => hold);
    const reserved = reservedAmounts(orgState.limits, holds, wanted);
    return wanted.map((one) =>
      limitUsageOf(
        one,
        orgState.counters.get(one.key) ?? {
          settled: missing.get(one.key) ?? 0n,
          held: reserved.get(one.key) ?? 0n,
        },
      ),
    );
  }

  async inspect<Result>(orgId: string, read: Parameters<Ledger['inspect']>[1]) {
    const orgState = await this.#states.open(orgId);
    // Within a transaction no posting is in progress: earlier ones are committed, later ones have not started.
    return this.#options.db.transaction(async (tx) => {
      const result = (await read(tx)) as Result;
      return {
        result,
        counters: [...orgState.counters].map(([key, { settled, held }]) => ({ key, settled, held })),
        holds: [...orgState.holds.values()].map(({ hold }) => hold),
      };
    });
  }

  async renameCustomer(
    orgId: string,
    renaming: Renaming,
    change: (tx: Transaction) => Promise<void>,
  ): Promise<void> {
    const orgState = await this.#states.open(orgId);
    const { tagFields } = await this.#options.db.transaction(async (tx) => {
      await change(tx);
      return (await readOrgLimits(tx, orgId)).index;
    });
    const renamed = renameInMemory(this.#states, orgState, renaming, tagFields);
    if (renamed.length > 0) {
      await this.#durable.add(renamed);
    }
  }

  /** Evicts counters that can be read from the database again. */
  async evictCounters(): Promise<boolean> {
    for (const orgState of this.#states.all()) {
      orgState.evictCounters(this.#now());
    }
    return false;
  }

  stats() {
    const overdue = this.#states.expiries.overdue(this.#clockMs());
    return {
      openHolds: this.#states.openHolds.used,
      overdueHolds: overdue.holds,
      oldestOverdueMs: overdue.oldestMs,
      waiting: this.#postings.waiting,
    };
  }

  async close(): Promise<void> {
    this.#unresolvedEnds.close();
    await this.#postings.idle();
    await this.#durable.close();
  }
}
