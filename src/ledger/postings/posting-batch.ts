/**
 * Books a batch of groups inside one transaction; the same on both engines. First everything is read that the
 * decisions need, then the kernel decides without a pause, then the facts are written. The counters are changed as if
 * the transaction had committed up to the raised hold; whoever owns the books concludes or undoes that.
 */
import { meetingOf } from '../../kernel/admission.ts';
import { type Alert, alertsDue, markAlerted, type Raised } from '../../kernel/settlement.ts';
import type { Transaction } from '../../platform/db/database.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Hold } from '../holds/hold.ts';
import type { Book, MissingCounter, OpenHold } from '../holds/org-ledger-state.ts';
import { readSettled } from '../limits/counters.ts';
import type { Booked, BookingGroup, GroupResult } from '../posting.ts';
import { addToUsage } from '../usage/usage-rollups.ts';
import { Decider } from './decider.ts';
import { whereItCounts } from './effective-scope.ts';
import { type Known, KnownRuns, nameOf, type PaidSoFar } from './existing-records.ts';
import {
  addToTallies,
  claimEnded,
  findEnds,
  findKnown,
  type HoldEnd,
  insertEnds,
  insertEntries,
  insertIdentities,
  raiseAlerts,
} from './ledger-writes.ts';
import { type Prepared, undoAll } from './uncommitted-posting.ts';

export interface BatchDependencies<Run> {
  readonly ids: Ids;
  /** Stores the runs themselves. */
  writeRuns(tx: Transaction, booked: readonly Booked<Run>[]): Promise<void>;
  /** What earlier entries of a run burned and left uncovered. */
  readPaid(tx: Transaction, orgId: string, runId: string): Promise<PaidSoFar>;
  readonly permits: Permits;
}

/** What lets a booking pass a gate that is not in the books, a number of times. */
export interface Permits {
  /** How often each may still be used at this instant, by its id; nobody else can use them until the transaction ends. */
  read(
    tx: Transaction,
    orgId: string,
    ids: readonly string[],
    atMs: number,
  ): Promise<ReadonlyMap<string, number>>;
  /** Writes down those that were used. */
  use(tx: Transaction, booked: readonly Booked[]): Promise<void>;
}

export interface Batch<Run> {
  readonly results: ReadonlyMap<BookingGroup<Run>, GroupResult<Run>>;
  readonly prepared: readonly Prepared<Run>[];
  readonly newHolds: readonly OpenHold[];
}

export interface BatchRequest<Run> {
  readonly groups: readonly BookingGroup<Run>[];
  readonly bookOf: (orgId: string) => Book;
  readonly nowMs: number;
  makeCounters(book: Book, missing: readonly MissingCounter[]): Promise<void>;
}

export async function decideBatch<Run>(
  tx: Transaction,
  deps: BatchDependencies<Run>,
  request: BatchRequest<Run>,
): Promise<Batch<Run>> {
  const known = await readKnown(tx, deps, request);
  await makeCounters(request, known);
  // From here on no pause: nobody else decides in between.
  const results = new Map<BookingGroup<Run>, GroupResult<Run>>();
  const prepared: Prepared<Run>[] = [];
  const decider = new Decider<Run>(request, known);
  try {
    for (const group of request.groups) {
      const decided = decider.decide(group);
      results.set(group, decided.result);
      prepared.push(...decided.prepared);
    }
  } catch (error) {
    undoAll(prepared);
    throw error;
  }
  const newHolds = prepared.flatMap(({ book, booked: { booking, hold } }) =>
    booking.kind === 'open' && hold !== null ? (book.holds.get(hold.id) ?? []) : [],
  );
  return { results, prepared, newHolds };
}

/** Alerts that are out once the transaction has committed. */
export interface BookAlerts {
  readonly book: Book;
  readonly alerts: readonly Alert[];
}

export function markAllAlerted(all: readonly BookAlerts[]): void {
  for (const { book, alerts } of all) {
    markAlerted(book.counters, alerts);
  }
}

/** Also where nothing is new, since answers are sealed here. What it returns is to be marked after the commit. */
export async function writeBatch<Run>(
  tx: Transaction,
  deps: BatchDependencies<Run>,
  { results, prepared }: Batch<Run>,
  nowMs: number,
): Promise<BookAlerts[]> {
  const booked = prepared.map((one) => one.booked);
  // None of these is waited for, unless there are very many. If one fails, so do all behind it, and the transaction.
  await Promise.all([
    insertIdentities(tx, booked),
    deps.writeRuns(tx, booked),
    insertEntries(tx, booked),
    addToUsage(tx.unanswered, booked),
    addToTallies(tx.unanswered, booked),
  ]);
  const permitted = booked.filter(({ booking }) => booking.permit !== undefined);
  if (permitted.length > 0) {
    await deps.permits.use(tx, permitted);
  }
  const ends = prepared.flatMap(({ booked: { booking }, ends: open }): HoldEnd[] =>
    open === null ? [] : [{ hold: open.hold, endedAs: 'settled', runId: booking.runId }],
  );
  await insertEnds(tx.unanswered, ends, nowMs);
  for (const { orgId, booking, marks } of booked) {
    if (marks.includes('late') && booking.decisionId !== null) {
      await claimEnded(tx.unanswered, orgId, booking.decisionId, booking.runId);
    }
  }
  const raisedAlerts: BookAlerts[] = [];
  for (const [book, raised] of chargesByBook(prepared)) {
    const alerts = alertsDue(book.counters, raised);
    await raiseAlerts(tx, deps.ids, book.orgId, alerts, nowMs);
    raisedAlerts.push({ book, alerts });
  }
  for (const [group, result] of results) {
    if (result.kind === 'done' && group.seal !== undefined) {
      await group.seal(tx, result.outcomes);
    }
  }
  return raisedAlerts;
}

function chargesByBook<Run>(prepared: readonly Prepared<Run>[]): Map<Book, Raised[]> {
  const charges = new Map<Book, Raised[]>();
  for (const { book, booked } of prepared) {
    if (booked.charged !== null) {
      const others = charges.get(book);
      if (others === undefined) {
        charges.set(book, [booked.charged]);
      } else {
        others.push(booked.charged);
      }
    }
  }
  return charges;
}

async function readKnown<Run>(
  tx: Transaction,
  deps: BatchDependencies<Run>,
  { groups, bookOf, nowMs }: BatchRequest<Run>,
): Promise<Known> {
  const orgIds = [...new Set(groups.map(({ orgId }) => orgId))];
  const named: { orgId: string; externalId: string }[] = [];
  const endedIds: string[] = [];
  const paid = new Map<string, PaidSoFar>();
  const permits = new Map<string, number>();
  for (const { orgId, bookings } of groups) {
    const permitIds = bookings.flatMap(({ permit }) => permit ?? []);
    if (permitIds.length > 0) {
      for (const [id, left] of await deps.permits.read(tx, orgId, permitIds, nowMs)) {
        permits.set(id, left);
      }
    }
    for (const booking of bookings) {
      if (booking.externalId !== null) {
        named.push({ orgId, externalId: booking.externalId });
      }
      if (
        booking.decisionId !== null &&
        booking.kind !== 'open' &&
        !bookOf(orgId).holds.has(booking.decisionId)
      ) {
        endedIds.push(booking.decisionId);
      }
      if (booking.kind === 'adjust') {
        const name = nameOf(orgId, booking.runId);
        if (!paid.has(name)) {
          paid.set(name, await deps.readPaid(tx, orgId, booking.runId));
        }
      }
    }
  }
  const runs = new KnownRuns();
  for (const row of await findKnown(tx, named)) {
    runs.set(row.org_id, row.external_id, { runId: row.run_id, contentDigest: row.content_digest });
  }
  const ends = await findEnds(tx, orgIds, endedIds);
  return {
    runs,
    ends: new Map(ends.map((row) => [nameOf(row.org_id, row.hold_id), row])),
    paid,
    permits,
  };
}

/** Of all counters that the decisions will look at, those that do not exist yet. */
async function makeCounters<Run>(
  { groups, bookOf, nowMs, makeCounters: make }: BatchRequest<Run>,
  known: Known,
): Promise<void> {
  const missing = new Map<Book, Map<string, MissingCounter>>();
  for (const { orgId, bookings } of groups) {
    const book = bookOf(orgId);
    for (const booking of bookings) {
      const { scope, atMs } = whereItCounts(book, booking, known, nowMs);
      const surface = booking.kind === 'record' ? 'record' : 'run';
      const { counters } = meetingOf(book.limits, scope, atMs, surface);
      for (const one of book.missing(counters, scope)) {
        // What belongs to a window of the past only counts where someone counts; packs have to be known to burn.
        if (nowMs < one.met.window.endMs && !(booking.kind === 'record' && atMs !== nowMs)) {
          const others = missing.get(book) ?? new Map<string, MissingCounter>();
          missing.set(book, others.set(one.met.key, one));
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
  book: Book,
  missing: readonly MissingCounter[],
): Promise<Hold[]> {
  const joined: Hold[] = [];
  for (const { met, scope } of missing) {
    const { settled, alerted } = await readSettled(tx, book.orgId, met, scope);
    if (!book.counters.has(met.key)) {
      joined.push(...book.addCounter(met, settled, alerted));
    }
  }
  return joined;
}
