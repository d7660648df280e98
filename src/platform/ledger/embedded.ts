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
import { conclude } from '../../kernel/settlement.ts';
import type { Clock } from '../clock.ts';
import { type Database, DatabaseUnavailable, type Transaction } from '../db/database.ts';
import type { Log } from '../log.ts';
import {
  addCounters,
  type Batch,
  type BatchDependencies,
  type BookAlerts,
  decideBatch,
  markAllAlerted,
  writeBatch,
} from './batch.ts';
import type { Book, OpenHold } from './book.ts';
import type { BookingGroup, GroupResult } from './booking.ts';
import { BookingQueue, type WaitingGroup } from './booking-queue.ts';
import { type Prepared, undoAll } from './decider.ts';
import { EndInDoubt, EndsInDoubt } from './ends-in-doubt.ts';
import { isCounterOf, type Renaming, renamedHold } from './erased.ts';
import { advanceClock, findEnds, type HoldEnd, insertEnds } from './facts.ts';
import type { Hold, HoldKey } from './hold.ts';
import { beginGeneration } from './hold-generation.ts';
import { type HoldLog, HoldsNotDurable, type LoggedHold, type LogPlace, openHoldLog } from './hold-log.ts';
import { adopted, denialFor, extendedTo, holdFor, keyName, replayOf } from './holding.ts';
import type { Decided, Held, HoldChange, HoldRequest, HoldResult, Ledger, Look, Replay } from './ledger.ts';
import { MemoryBooks } from './memory-books.ts';
import { createOrgLimits, type OrgLimitsCache } from './org-limits.ts';
import { restoreHolds } from './restored-holds.ts';
import { nobody, ownCounters, type Standing, standingOf } from './standing.ts';

export interface EmbeddedLedgerOptions<Run> extends BatchDependencies<Run> {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Where the holds are kept. */
  readonly directory: string;
  readonly holdsMax: number;
  readonly orgLimits?: OrgLimitsCache;
}

const expiriesPerBatch = 1_000;

export class EmbeddedLedger<Run = unknown> implements Ledger<Run> {
  readonly #options: EmbeddedLedgerOptions<Run>;
  readonly #holdLog: HoldLog;
  readonly #books: MemoryBooks;
  /** Keys whose hold is not durable yet: its answer must not be told, not even again. */
  readonly #keysInFlight = new Map<string, Promise<void>>();
  readonly #warming = new Map<string, Promise<void>>();
  #nowMs = 0;
  readonly #bookings = new BookingQueue<Run>((waiting) => this.#bookBatch(waiting));
  /** Holds of this turn of the event loop that are not durable yet. */
  #fresh: OpenHold[] = [];
  #flushing: Promise<void> | undefined;
  readonly #doubts = new EndsInDoubt();
  #closed = false;

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
    this.#holdLog = holdLog;
    this.#nowMs = floorMs;
    this.#books = new MemoryBooks({
      orgLimits: options.orgLimits ?? createOrgLimits(options.db),
      restored,
      now: () => this.#now(),
    });
  }

  /** Never behind what it was, in this life of the process and those before. */
  #now(): number {
    this.#nowMs = Math.max(this.#nowMs, this.#options.clock.now().getTime());
    return this.#nowMs;
  }

  async hold(request: HoldRequest): Promise<HoldResult> {
    for (;;) {
      const decided = this.decide(request);
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

  async replay(orgId: string, key: Omit<HoldKey, 'answer'>): Promise<Replay | undefined> {
    await this.#books.open(orgId);
    const keyed = keyName(orgId, key.digest);
    await this.#keysInFlight.get(keyed);
    return replayOf(this.#books.heldUnder(keyed), key);
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
    this.#requireDatabase();
    const book = this.#books.fresh(request.orgId);
    if (book === undefined) {
      return undefined;
    }
    const keyed = request.key && keyName(request.orgId, request.key.digest);
    if (keyed !== undefined && this.#keysInFlight.has(keyed)) {
      return undefined;
    }
    const replay =
      request.key && keyed !== undefined ? replayOf(this.#books.heldUnder(keyed), request.key) : undefined;
    if (replay !== undefined) {
      return replay;
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
    const durable = this.#makeDurable(open);
    if (keyed !== undefined) {
      this.#keysInFlight.set(keyed, durable);
      const landed = () => void this.#keysInFlight.delete(keyed);
      durable.then(landed, landed);
    }
    return { held, durable };
  }

  /** Reads what a decision lacked; those that lack it at the same time wait for one of them. */
  async #warm(request: HoldRequest): Promise<void> {
    const { orgId, key } = request;
    const underWay = (key && this.#keysInFlight.get(keyName(orgId, key.digest))) ?? this.#warming.get(orgId);
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

  /** All holds of one turn of the event loop become durable together. */
  #makeDurable(open: OpenHold): Promise<void> {
    this.#fresh.push(open);
    this.#flushing ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        const fresh = this.#fresh;
        this.#fresh = [];
        this.#flushing = undefined;
        try {
          this.#toLog(fresh);
        } catch (error) {
          this.#options.log.error({ err: error }, 'holds could not be made durable');
          for (const lost of fresh) {
            this.#books.release(lost);
          }
          reject(error);
          return;
        }
        resolve();
      });
    });
    return this.#flushing;
  }

  #toLog(opens: readonly OpenHold[]): void {
    this.#moveTo(this.#holdLog.append(opens.map(({ hold }) => hold)), opens);
  }

  #outOfLog(opens: readonly OpenHold[]): void {
    this.#moveTo(undefined, opens);
  }

  /** A place is left once: the log only counts who is there. */
  #moveTo(place: LogPlace | undefined, opens: readonly OpenHold[]): void {
    const left = opens.map((open) => open.place);
    for (const open of opens) {
      open.place = place;
    }
    this.#holdLog.forget(left);
  }

  async adopt(given: Hold): Promise<void> {
    const book = await this.#books.open(given.orgId);
    const ended = await findEnds(this.#options.db, [given.orgId], [given.id]);
    const meeting = meetingOf(book.limits, given.scope, given.admittedAtMs, given.surface);
    await addCounters(this.#options.db, book, book.missing(meeting.counters, given.scope));
    if (ended.length > 0 || book.holds.has(given.id)) {
      return;
    }
    const open = adopted(book, given, meeting);
    this.#books.remember(open);
    await this.#makeDurable(open);
  }

  book(group: BookingGroup<Run>): Promise<GroupResult<Run>> {
    return this.#bookings.add(group);
  }

  async #bookBatch(waiting: readonly WaitingGroup<Run>[]): Promise<void> {
    const { db } = this.#options;
    const groups = waiting.map(({ group }) => group);
    const orgIds = [...new Set(groups.map(({ orgId }) => orgId))];
    let batch: Batch<Run> | undefined;
    let alerts: BookAlerts[] = [];
    try {
      await Promise.all(orgIds.map((orgId) => this.#books.open(orgId)));
      const nowMs = this.#now();
      await db.transaction(async (tx) => {
        this.#doubts.refuse(groups.flatMap(({ bookings }) => bookings.map(({ decisionId }) => decisionId)));
        batch = await decideBatch(tx, this.#options, {
          groups,
          nowMs,
          bookOf: (orgId) => this.#books.get(orgId) as Book,
          makeCounters: async (book, missing) => {
            await addCounters(tx, book, missing);
          },
        });
        [alerts] = await Promise.all([
          writeBatch(tx, this.#options, batch, nowMs),
          batch.prepared.length > 0 ? advanceClock(tx, orgIds, nowMs) : undefined,
        ]);
        if (batch.newHolds.length > 0) {
          // Before the commit: a run must not be told to go on without its hold. Without the run it just expires.
          this.#toLog(batch.newHolds);
        }
      });
    } catch (error) {
      this.#bookingFailed(batch, error);
      await this.#retryApart(waiting, error);
      return;
    }
    this.#conclude(batch?.prepared ?? []);
    markAllAlerted(alerts);
    for (const open of batch?.newHolds ?? []) {
      this.#books.remember(open);
    }
    for (const { group, resolve } of waiting) {
      resolve(batch?.results.get(group) as GroupResult<Run>);
    }
  }

  #conclude(prepared: readonly Prepared<Run>[]): void {
    const ended: OpenHold[] = [];
    for (const { book, booked, ends } of prepared) {
      if (booked.charged !== null) {
        // The hold as it is: while its end was in doubt it may have come to take a counter more, or another.
        conclude(book.counters, ends === null ? booked.charged : { ...booked.charged, taken: ends.hold });
      }
      if (ends !== null) {
        this.#books.drop(ends);
        ended.push(ends);
      }
    }
    this.#outOfLog(ended);
  }

  /** Rolled back for sure: undone at once. Not known: it stays held until the database can be asked. */
  #bookingFailed(batch: Batch<Run> | undefined, error: unknown): void {
    if (batch === undefined) {
      return;
    }
    if (isUnknown(error)) {
      void this.#resolveLater(batch.prepared);
    } else {
      this.#outOfLog(batch.newHolds);
      undoAll(batch.prepared);
    }
  }

  /** One group's fault is not to be the others'. */
  async #retryApart(waiting: readonly WaitingGroup<Run>[], error: unknown): Promise<void> {
    if (waiting.length === 1 || isUnknown(error)) {
      for (const { reject } of waiting) {
        reject(error);
      }
      return;
    }
    for (const one of waiting) {
      await this.#bookBatch([one]);
    }
  }

  /** The answer to COMMIT was lost. Each booking is held until its entry, or that it has none, can be read. */
  async #resolveLater(prepared: readonly Prepared<Run>[]): Promise<void> {
    const { db, log } = this.#options;
    const doubtful = prepared.flatMap(({ ends: open, booked: { booking, hold } }) =>
      open !== null ? open.hold.id : booking.kind === 'open' && hold !== null ? hold.id : [],
    );
    this.#doubts.add(doubtful);
    while (!this.#closed) {
      try {
        const written = new Set(
          (
            await db.query<{ id: string }>(
              'SELECT run_id AS id FROM run_identities WHERE org_id = ANY($1) AND run_id = ANY($2) UNION ALL SELECT id FROM ledger_entries WHERE org_id = ANY($1) AND charged_at = ANY($3::timestamptz[]) AND id = ANY($4)',
              [
                prepared.map(({ book }) => book.orgId),
                prepared.map(({ booked }) => booked.booking.runId),
                prepared.map(({ booked }) => new Date(booked.chargedAtMs)),
                prepared.map(({ booked }) => booked.booking.entryId),
              ],
            )
          ).map(({ id }) => id),
        );
        const isNewRun = ({ booked: { booking } }: Prepared<Run>) =>
          booking.kind !== 'complete' && booking.kind !== 'adjust';
        for (const one of prepared) {
          const { booking, charged, hold } = one.booked;
          const committed = written.has(isNewRun(one) && charged === null ? booking.runId : booking.entryId);
          const opened = booking.kind === 'open' ? one.book.holds.get(hold?.id ?? '') : undefined;
          if (committed) {
            this.#conclude([one]);
            if (opened !== undefined) {
              // It is in the log, where it was put before the commit.
              this.#books.remember(opened);
            }
          } else {
            one.undo();
            this.#outOfLog(opened === undefined ? [] : [opened]);
          }
        }
        this.#doubts.delete(doubtful);
        log.info({ bookings: prepared.length }, 'bookings whose outcome was not known are resolved');
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 250).unref());
      }
    }
  }

  async void(orgId: string, holdId: string): Promise<HoldChange> {
    const book = await this.#books.open(orgId);
    const open = book.holds.get(holdId);
    if (open === undefined) {
      return this.#endedOrUnknown(orgId, holdId);
    }
    this.#doubts.refuse([holdId]);
    const [hold] = await this.#end([open], 'voided', Number.POSITIVE_INFINITY);
    this.#doubts.refuse([holdId]);
    return hold === undefined ? { kind: 'ended' } : { kind: 'changed', hold };
  }

  async #endedOrUnknown(orgId: string, holdId: string): Promise<HoldChange> {
    const ends = await findEnds(this.#options.db, [orgId], [holdId]);
    return { kind: ends.length > 0 ? 'ended' : 'unknown' };
  }

  /**
   * Ends those that are still open, and expire by then; returns them. Decided in a turn of the database, in which no
   * settle is under way: one that came before has ended its hold, one that comes after finds the end and is late. The
   * end is in the database, then memory changes, then the log forgets.
   */
  async #end(holds: readonly OpenHold[], endedAs: 'voided' | 'expired', dueMs: number): Promise<Hold[]> {
    let ending: OpenHold[] = [];
    try {
      await this.#options.db.transaction(async (tx) => {
        setEnding(ending, false);
        ending = holds.filter(
          (open) =>
            this.#books.isOpen(open) &&
            !open.ending &&
            (endedAs === 'voided' || open.hold.expiresAtMs <= dueMs),
        );
        setEnding(ending, true);
        await insertEnds(
          tx,
          ending.map(({ hold }): HoldEnd => ({ hold, endedAs, runId: null })),
          this.#now(),
        );
      });
    } catch (error) {
      if (error instanceof DatabaseUnavailable) {
        void this.#resolveEndsLater(ending);
      } else {
        setEnding(ending, false);
      }
      throw error;
    }
    return this.#ended(ending);
  }

  #ended(ending: readonly OpenHold[]): Hold[] {
    const holds = ending.map(({ hold }) => hold);
    for (const open of ending) {
      this.#books.release(open);
    }
    this.#outOfLog(ending);
    return holds;
  }

  /** The answer to COMMIT was lost. They stay as they are until their ends, or that they have none, can be read. */
  async #resolveEndsLater(ending: readonly OpenHold[]): Promise<void> {
    const ids = ending.map(({ hold }) => hold.id);
    this.#doubts.add(ids);
    while (!this.#closed) {
      try {
        const ends = await findEnds(
          this.#options.db,
          ending.map(({ hold }) => hold.orgId),
          ending.map(({ hold }) => hold.id),
        );
        const ended = new Set(ends.map(({ hold_id }) => hold_id));
        this.#ended(ending.filter(({ hold }) => ended.has(hold.id)));
        setEnding(
          ending.filter(({ hold }) => !ended.has(hold.id)),
          false,
        );
        this.#doubts.delete(ids);
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 250).unref());
      }
    }
  }

  async extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange> {
    const book = await this.#books.open(orgId);
    const open = book.holds.get(holdId);
    if (open === undefined) {
      return this.#endedOrUnknown(orgId, holdId);
    }
    this.#doubts.refuse([holdId]);
    if (open.ending) {
      return { kind: 'ended' };
    }
    const hold: Hold = { ...open.hold, expiresAtMs: extendedTo(open.hold, this.#now(), seconds) };
    this.#moveTo(this.#holdLog.append([hold]), [open]);
    this.#books.prolong(open, hold);
    return { kind: 'changed', hold };
  }

  async holds(
    orgId: string,
    { limit, after }: { limit: number; after: string | undefined },
  ): Promise<Hold[]> {
    const book = await this.#books.open(orgId);
    return [...book.holds.values()]
      .map(({ hold }) => hold)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .filter(({ id }) => after === undefined || id > after)
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
      this.#toLog(renamed);
    }
  }

  async expireDue(): Promise<boolean> {
    const nowMs = this.#now();
    const due = this.#books.expiries.takeDue(nowMs, expiriesPerBatch);
    const expired: OpenHold[] = [];
    try {
      for (const open of due) {
        await this.#books.open(open.hold.orgId);
        if (this.#books.isOpen(open)) {
          if (open.hold.expiresAtMs <= nowMs) {
            expired.push(open);
          } else {
            // It was put back, and prolonged since.
            this.#books.expiries.add(open);
          }
        }
      }
      if (expired.length > 0) {
        await this.#end(expired, 'expired', nowMs);
      }
    } catch (error) {
      this.#books.expiries.putBack(due, nowMs);
      throw error;
    }
    this.#books.expiries.putBack(
      expired.filter((open) => this.#books.isOpen(open)),
      nowMs,
    );
    return due.length === expiriesPerBatch;
  }

  /** What memory can do without, because the database knows it. */
  async tidy(): Promise<void> {
    for (const book of this.#books.all()) {
      book.prune(this.#now());
    }
  }

  stats() {
    return {
      openHolds: this.#books.openHolds,
      oldestHoldMs: this.#books.expiries.oldestMs(this.#now()),
      waiting: this.#bookings.size,
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#bookings.idle();
    await this.#flushing?.catch(() => undefined);
    this.#holdLog.close();
  }
}

/** Whether it is not known what became of a transaction that failed with this. */
function isUnknown(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailable && !(error instanceof HoldsNotDurable || error instanceof EndInDoubt)
  );
}

function setEnding(holds: readonly OpenHold[], ending: boolean): void {
  for (const open of holds) {
    open.ending = ending;
  }
}
