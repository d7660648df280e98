/**
 * The ledger of the embedded engine: one process owns the database, so the books of its orgs can live in memory. A
 * decision asks nobody; its hold is durable in a log before it is told. Bookings wait for each other and share a
 * transaction.
 *
 * A counter is what the database says plus what happened since, and "since" must leave no gap: a booking is counted in
 * memory as soon as its commit is known, before any statement that was sent after it can be answered, because PGlite
 * has one connection and callers take turns.
 */
import { admit, meetingOf } from '../../kernel/admission.ts';
import type { Denial } from '../../kernel/denial.ts';
import { type Database, DatabaseUnavailable, type Transaction } from '../../platform/db/database.ts';
import type { Log } from '../../platform/log.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { isCounterOf, type Renaming, renamedHold } from '../holds/customer-pseudonyms.ts';
import type { Hold } from '../holds/hold.ts';
import { findStoredKeys, type Replay, type RequestKey, replayOf } from '../holds/hold-keys.ts';
import type { Held, HoldChange, HoldQuery, HoldRequest, HoldResult, Look } from '../holds/hold-request.ts';
import type { OpenHold } from '../holds/org-ledger-state.ts';
import { adopted, denialFor, holdFor, keyName } from '../holds/take-hold.ts';
import type { Decided, Ledger } from '../ledger.ts';
import { nobody, ownCounters, type Standing, standingOf } from '../limits/limit-usage.ts';
import { createOrgLimits, type OrgLimitsCache } from '../limits/org-limits.ts';
import type { BookingGroup, GroupResult } from '../posting.ts';
import { findEnds } from '../postings/ledger-writes.ts';
import { addCounters, type BatchDependencies } from '../postings/posting-batch.ts';
import { DurableHolds } from './durable-holds.ts';
import { EmbeddedEnds } from './embedded-hold-ends.ts';
import { EmbeddedBookings } from './embedded-postings.ts';
import { beginGeneration } from './hold-generation.ts';
import { type HoldLog, type LoggedHold, openHoldLog } from './hold-log.ts';
import { MemoryBooks } from './ledger-states.ts';
import { restoreHolds } from './restored-holds.ts';
import { EndsInDoubt } from './unresolved-hold-ends.ts';

export interface EmbeddedLedgerOptions<Run> extends BatchDependencies<Run> {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Where the holds are kept. */
  readonly directory: string;
  readonly holdsMax: number;
  readonly orgLimits?: OrgLimitsCache;
}

export class EmbeddedLedger<Run = unknown> implements Ledger<Run> {
  readonly #options: EmbeddedLedgerOptions<Run>;
  readonly #books: MemoryBooks;
  readonly #durable: DurableHolds;
  readonly #doubts = new EndsInDoubt();
  readonly #bookings: EmbeddedBookings<Run>;
  readonly #ends: EmbeddedEnds;
  /** Idempotency keys in use, or whose hold is not durable yet: neither the response nor a replay may be sent. */
  readonly #keysInFlight = new Map<string, Promise<void>>();
  readonly #warming = new Map<string, Promise<void>>();
  #nowMs: number;

  static async open<Run>(options: EmbeddedLedgerOptions<Run>): Promise<EmbeddedLedger<Run>> {
    const holdLog = openHoldLog(options.directory);
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
      return new EmbeddedLedger(options, holdLog, restored, floorMs);
    } catch (error) {
      holdLog.close();
      throw error;
    }
  }

  private constructor(
    options: EmbeddedLedgerOptions<Run>,
    holdLog: HoldLog,
    restored: readonly LoggedHold[],
    floorMs: number,
  ) {
    this.#options = options;
    this.#nowMs = floorMs;
    const now = () => this.#now();
    const books = new MemoryBooks({
      orgLimits: options.orgLimits ?? createOrgLimits(options.db),
      restored,
      now,
    });
    this.#books = books;
    this.#durable = new DurableHolds(holdLog, (lost, error) => {
      options.log.error({ err: error }, 'holds could not be made durable');
      for (const open of lost) {
        books.release(open);
      }
    });
    const shared = { books, durable: this.#durable, doubts: this.#doubts, now };
    this.#bookings = new EmbeddedBookings({ ...options, ...shared });
    this.#ends = new EmbeddedEnds({ db: options.db, ...shared });
  }

  /** Never behind what it was, in this life of the process and those before. */
  #now(): number {
    this.#nowMs = Math.max(this.#nowMs, this.#options.clock.now().getTime());
    return this.#nowMs;
  }

  async hold(request: HoldRequest): Promise<HoldResult> {
    const { orgId, key } = request;
    return key === undefined
      ? this.#hold(request)
      : this.#oneAtATime(
          orgId,
          key.digest,
          async () => (await this.#replay(orgId, key)) ?? this.#hold(request),
        );
  }

  async #hold(request: HoldRequest): Promise<HoldResult> {
    for (;;) {
      const decided = this.#decide(request);
      if (decided === undefined) {
        await this.#warm(request);
      } else if ('held' in decided) {
        await decided.durable;
        return decided.held;
      } else {
        return decided;
      }
    }
  }

  replay(orgId: string, key: RequestKey): Promise<Replay | undefined> {
    return this.#oneAtATime(orgId, key.digest, () => this.#replay(orgId, key));
  }

  /** Memory first: a hold leaves it after its end, and with that its key, is in the database. */
  async #replay(orgId: string, key: RequestKey): Promise<Replay | undefined> {
    const open = this.#books.heldUnder(keyName(orgId, key.digest));
    if (open !== undefined) {
      return replayOf(open.idempotency, key);
    }
    const [stored] = await findStoredKeys(this.#options.db, orgId, [key.digest], this.#now());
    return replayOf(stored, key);
  }

  /** Requests with the same key wait for each other, until the hold of the one before is durable. */
  async #oneAtATime<Result>(orgId: string, digest: string, work: () => Promise<Result>): Promise<Result> {
    const name = keyName(orgId, digest);
    for (
      let before = this.#keysInFlight.get(name);
      before !== undefined;
      before = this.#keysInFlight.get(name)
    ) {
      await before;
    }
    const result = work();
    const done = () => void this.#keysInFlight.delete(name);
    this.#keysInFlight.set(name, result.then(done, done));
    return result;
  }

  async look(orgId: string, looks: readonly Look[]): Promise<(Denial | undefined)[]> {
    for (;;) {
      this.#requireDatabase();
      const book = await this.#books.open(orgId);
      const nowMs = this.#now();
      const missing = looks.flatMap(({ scope, surface }) =>
        book.missing(meetingOf(book.limits, scope, nowMs, surface).counters, scope),
      );
      if (missing.length === 0) {
        return looks.map((one) => denialFor(book, one, nowMs));
      }
      await addCounters(this.#options.db, book, missing);
    }
  }

  #requireDatabase(): void {
    if (this.#options.db.stats().connections === 0) {
      // What is known would do for a decision; but nobody could settle it, or change a limit.
      throw new DatabaseUnavailable('the database is away');
    }
  }

  decide(request: HoldRequest): Decided | Exclude<HoldResult, Held> | undefined {
    // The database may know the key.
    return request.key === undefined ? this.#decide(request) : undefined;
  }

  #decide(request: HoldRequest): Decided | Exclude<HoldResult, Held> | undefined {
    this.#requireDatabase();
    const book = this.#books.fresh(request.orgId);
    if (book === undefined) {
      return undefined;
    }
    const { scope, amounts, surface } = request;
    const nowMs = this.#now();
    const charge = { scope, amounts, depth: null, atMs: nowMs };
    const meeting = meetingOf(book.limits, scope, nowMs, surface);
    const met = meeting.counters;
    if (book.missing(met, scope).length > 0) {
      return undefined;
    }
    const admission = admit(book.counters, { limits: book.limits, charge, met, preFlight: true });
    if (admission.kind === 'denied') {
      return admission;
    }
    if (this.#books.openHolds >= this.#options.holdsMax) {
      throw new DatabaseUnavailable('too many holds are open');
    }
    const held = holdFor(this.#options.ids, book, { request, charge, meeting, admission });
    const open = book.keep(held.hold);
    this.#books.remember(open);
    return { held, durable: this.#durable.addSoon(open) };
  }

  /** Reads what a decision lacked; those that lack it at the same time wait for one of them. */
  async #warm(request: HoldRequest): Promise<void> {
    const { orgId } = request;
    const underWay = this.#warming.get(orgId);
    if (underWay !== undefined) {
      return underWay;
    }
    const warming = this.#read(request).finally(() => this.#warming.delete(orgId));
    this.#warming.set(orgId, warming);
    return warming;
  }

  async #read({ orgId, scope, surface }: HoldRequest): Promise<void> {
    const book = await this.#books.open(orgId);
    const { counters } = meetingOf(book.limits, scope, this.#now(), surface);
    await addCounters(this.#options.db, book, book.missing(counters, scope));
  }

  async adopt(given: Hold): Promise<void> {
    const { orgId, idempotency: key } = given;
    if (key === null) {
      return this.#adopt(given);
    }
    return this.#oneAtATime(orgId, key.digest, async () => {
      const open = this.#books.heldUnder(keyName(orgId, key.digest));
      const [stored] = await findStoredKeys(this.#options.db, orgId, [key.digest], this.#now());
      // A key that was used before stays with the decision that it was used for.
      await this.#adopt(open === undefined && stored === undefined ? given : { ...given, idempotency: null });
    });
  }

  async #adopt(given: Hold): Promise<void> {
    const book = await this.#books.open(given.orgId);
    const ended = await findEnds(this.#options.db, [given.orgId], [given.id]);
    const meeting = meetingOf(book.limits, given.scope, given.admittedAtMs, given.surface);
    await addCounters(this.#options.db, book, book.missing(meeting.counters, given.scope));
    if (ended.length > 0 || book.holds.has(given.id)) {
      return;
    }
    const open = adopted(book, given, meeting);
    this.#books.remember(open);
    await this.#durable.addSoon(open);
  }

  book(group: BookingGroup<Run>): Promise<GroupResult<Run>> {
    return this.#bookings.add(group);
  }

  void(orgId: string, holdId: string): Promise<HoldChange> {
    return this.#ends.void(orgId, holdId);
  }

  extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange> {
    return this.#ends.extend(orgId, holdId, seconds);
  }

  expireDue(): Promise<boolean> {
    return this.#ends.expireDue();
  }

  async holds(orgId: string, { limit, after, newestFirst = false }: HoldQuery): Promise<Hold[]> {
    const book = await this.#books.open(orgId);
    const precedes = (id: string, other: string) => (newestFirst ? id > other : id < other);
    return [...book.holds.values()]
      .map(({ hold }) => hold)
      .filter(({ id }) => after === undefined || precedes(after, id))
      .sort((a, b) => (precedes(a.id, b.id) ? -1 : 1))
      .slice(0, limit);
  }

  async findHold(orgId: string, holdId: string): Promise<Hold | undefined> {
    return (await this.#books.open(orgId)).holds.get(holdId)?.hold;
  }

  async standings(orgId: string, limitIds: readonly string[]): Promise<Standing[]> {
    const book = await this.#books.open(orgId);
    const counters = ownCounters(book.limits, limitIds, this.#now());
    await addCounters(this.#options.db, book, book.missing(counters, nobody));
    return counters.flatMap((one) => {
      const counter = book.counters.get(one.key);
      return counter === undefined ? [] : [standingOf(one, counter)];
    });
  }

  async inspect<Result>(orgId: string, read: Parameters<Ledger['inspect']>[1]) {
    const book = await this.#books.open(orgId);
    // Inside a turn no booking is half done: those before are concluded, those after have not begun.
    return this.#options.db.transaction(async (tx) => {
      const result = (await read(tx)) as Result;
      return {
        result,
        counters: [...book.counters].map(([key, { settled, held }]) => ({ key, settled, held })),
        holds: [...book.holds.values()].map(({ hold }) => hold),
      };
    });
  }

  async renameCustomer(
    orgId: string,
    renaming: Renaming,
    change: (tx: Transaction) => Promise<void>,
  ): Promise<void> {
    const book = await this.#books.open(orgId);
    await this.#options.db.transaction(change);
    // As soon as the commit is known, and without a pause: nobody decides under the old name in between.
    const renamed: OpenHold[] = [];
    for (const open of book.holds.values()) {
      const hold = renamedHold(open.hold, renaming);
      if (hold !== undefined) {
        this.#books.prolong(open, hold);
        renamed.push(open);
      }
    }
    for (const key of book.counters.keys()) {
      if (isCounterOf(key, renaming.from)) {
        book.counters.delete(key);
      }
    }
    if (renamed.length > 0) {
      this.#durable.add(renamed);
    }
  }

  /** What memory can do without, because the database knows it. */
  async tidy(): Promise<boolean> {
    for (const book of this.#books.all()) {
      book.prune(this.#now());
    }
    return false;
  }

  stats() {
    return {
      openHolds: this.#books.openHolds,
      oldestHoldMs: this.#books.expiries.oldestMs(this.#now()),
      waiting: this.#bookings.waiting,
    };
  }

  async close(): Promise<void> {
    this.#doubts.close();
    await this.#bookings.idle();
    await this.#durable.close();
  }
}
