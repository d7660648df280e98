/**
 * The ledger of the embedded engine. One process owns the database, so the state of its orgs lives in memory. A decision without an
 * idempotency key needs no query once its counters are loaded. Its hold is durable in a log before the response is sent. Concurrent
 * postings share a transaction. A counter is the amount in the database plus everything since, without a gap: a posting is counted
 * in memory as soon as its commit is known, before any later statement can return, because callers take turns on the single
 * connection of PGlite.
 */
import { applicableCounters } from '../../kernel/admission.ts';
import type { Denial } from '../../kernel/denial.ts';
import { OverCapacity } from '../../platform/service-unavailable.ts';
import type { HoldImport, ImportedHold } from '../holds/hold-import.ts';
import { findStoredKey, type Replay, type RequestKey, replayOf } from '../holds/hold-keys.ts';
import type {
  AdmissionPreview,
  Held,
  HoldChange,
  HoldIncrease,
  HoldRequest,
  HoldResult,
  IncreaseResult,
} from '../holds/hold-request.ts';
import { admitHold, denialFor, orgKeyId, takeHold, tooManyHolds } from '../holds/take-hold.ts';
import type { DecidedHold, Ledger, LedgerMaintenance, LedgerReads } from '../ledger.ts';
import { type GroupResult, holdsOpenedBy, type PostingGroup } from '../posting.ts';
import { addCounters, type BatchDependencies } from '../postings/posting-batch.ts';
import type { DurableHolds } from './durable-holds.ts';
import { extendOpenHold, increaseOpenHold } from './embedded-hold-changes.ts';
import { voidHold } from './embedded-hold-ends.ts';
import { EmbeddedHoldExpiry } from './embedded-hold-expiry.ts';
import { importHolds } from './embedded-hold-imports.ts';
import { createEmbeddedMaintenance } from './embedded-maintenance.ts';
import { EmbeddedPostings } from './embedded-postings.ts';
import { createEmbeddedReads } from './embedded-reads.ts';
import { type EmbeddedState, type EmbeddedStateOptions, openEmbeddedState } from './embedded-state.ts';
import type { LedgerStates } from './ledger-states.ts';
import type { LedgerTime } from './ledger-time.ts';
import { requireDatabase } from './require-database.ts';

export interface EmbeddedLedgerOptions<Run> extends BatchDependencies<Run>, EmbeddedStateOptions {
  /** Measures the lifetimes of holds that were admitted ahead of the clock. */
  readonly monotonicMs?: () => number;
}

export class EmbeddedLedger<Run = unknown> implements Ledger<Run> {
  readonly reads: LedgerReads;
  readonly expiry: EmbeddedHoldExpiry;
  readonly maintenance: LedgerMaintenance;
  readonly #options: EmbeddedLedgerOptions<Run>;
  readonly #state: EmbeddedState;
  readonly #states: LedgerStates;
  readonly #durable: DurableHolds;
  readonly #time: LedgerTime;
  readonly #postings: EmbeddedPostings<Run>;
  readonly #loads = new Map<string, Promise<void>>();

  static async open<Run>(options: EmbeddedLedgerOptions<Run>): Promise<EmbeddedLedger<Run>> {
    return new EmbeddedLedger(options, await openEmbeddedState(options));
  }

  private constructor(options: EmbeddedLedgerOptions<Run>, state: EmbeddedState) {
    this.#options = options;
    this.#state = state;
    const { states, durable, unresolvedEnds, time } = state;
    const postings = new EmbeddedPostings({ ...options, states, durable, unresolvedEnds, time });
    this.#states = states;
    this.#durable = durable;
    this.#time = time;
    this.#postings = postings;
    this.reads = createEmbeddedReads(state);
    this.maintenance = createEmbeddedMaintenance(state, postings);
    this.expiry = new EmbeddedHoldExpiry(state, postings, options.monotonicMs);
  }

  hold(request: HoldRequest): Promise<HoldResult> {
    const { orgId, key } = request;
    return key === undefined
      ? this.#hold(request)
      : this.#state.keysInFlight.serialize(
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
    return this.#state.keysInFlight.serialize(orgKeyId(orgId, key.digest), () => this.#replay(orgId, key));
  }

  /** Checks memory first: a durable hold leaves memory only after its end, with its key, is in the database. */
  async #replay(orgId: string, key: RequestKey): Promise<Replay | undefined> {
    const open = this.#states.findByKey(orgKeyId(orgId, key.digest));
    if (open !== undefined) {
      return replayOf(open.idempotency, key);
    }
    const stored = await findStoredKey(this.#options.db, orgId, key.digest, this.#time.now());
    return replayOf(stored, key);
  }

  async previewDenials(
    orgId: string,
    previews: readonly AdmissionPreview[],
  ): Promise<(Denial | undefined)[]> {
    for (;;) {
      requireDatabase(this.#options.db);
      const orgState = await this.#states.open(orgId);
      const nowMs = this.#time.now();
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
    // A key may be stored in the database. Only `hold` checks that.
    return request.key === undefined ? this.#decide(request) : undefined;
  }

  #decide(request: HoldRequest): DecidedHold | Exclude<HoldResult, Held> | undefined {
    requireDatabase(this.#options.db);
    const orgState = this.#states.peek(request.orgId);
    if (orgState === undefined) {
      return undefined;
    }
    const { scope, surface } = request;
    const nowMs = this.#time.now();
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

  /** Loads the state that a decision needs. Concurrent requests of an org share one load. */
  async #load(request: HoldRequest): Promise<void> {
    const { orgId } = request;
    let load = this.#loads.get(orgId);
    if (load === undefined) {
      load = this.#read(request).finally(() => this.#loads.delete(orgId));
      this.#loads.set(orgId, load);
    }
    return load;
  }

  async #read({ orgId, scope, surface }: HoldRequest): Promise<void> {
    const orgState = await this.#states.open(orgId);
    const { counters } = applicableCounters(orgState.limits, scope, this.#time.now(), surface);
    await addCounters(this.#options.db, orgState, orgState.missingCounters(counters, scope));
  }

  importHolds(request: HoldImport): Promise<ImportedHold[]> {
    return importHolds(this.#state, request);
  }

  async post(group: PostingGroup<Run>): Promise<GroupResult<Run>> {
    const { openHolds } = this.#states;
    const { orgId } = group;
    const opened = holdsOpenedBy(group);
    if (opened === 0) {
      return this.#postings.add(group);
    }
    // Reserves the places until each hold is counted by itself or turns out not to be taken.
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
    return voidHold(this.#state, orgId, holdId);
  }

  extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange> {
    return extendOpenHold(this.#state, orgId, holdId, seconds);
  }

  increase(orgId: string, holdId: string, increase: HoldIncrease): Promise<IncreaseResult> {
    return increaseOpenHold(this.#state, orgId, holdId, increase);
  }

  async close(): Promise<void> {
    this.#state.unresolvedEnds.close();
    await this.#postings.idle();
    await this.#durable.close();
  }
}
