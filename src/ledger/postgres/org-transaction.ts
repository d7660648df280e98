/** One transaction on the books of one org, on PostgreSQL: what waits for it, decided and written under the org's lock. */
import { admit, applicableCounters, type Counter, releaseReservation } from '../../kernel/admission.ts';
import type { Denial } from '../../kernel/denial.ts';
import type { OrgLimits } from '../../kernel/limits.ts';
import { commitSettlement } from '../../kernel/settlement.ts';
import { lifetime } from '../../kernel/windows.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import type { SharedClock } from '../../platform/time/clock.ts';
import { type Hold, type HoldKey, restoredHold } from '../holds/hold.ts';
import { findStoredKeys, replayOf } from '../holds/hold-keys.ts';
import type { AdmissionPreview, Held, HoldChange, HoldRequest, HoldResult } from '../holds/hold-request.ts';
import { type MissingCounter, OrgLedgerState } from '../holds/org-ledger-state.ts';
import { denialFor, extendedTo, importHold, takeHold } from '../holds/take-hold.ts';
import { type OrgLimitsCache, readOrgLimits } from '../limits/org-limits.ts';
import type { GroupResult, PostingGroup } from '../posting.ts';
import { findEnds, type HoldEnd, insertEnds } from '../postings/ledger-writes.ts';
import {
  addCounters,
  type BatchDependencies,
  decideBatch,
  markAllAlerted,
  writeBatch,
} from '../postings/posting-batch.ts';
import { deleteHolds, insertHolds, selectHolds, selectHoldsSince, updateHolds } from './postgres-holds.ts';

export interface PostgresLedgerOptions<Run> extends BatchDependencies<Run> {
  readonly db: Database;
  readonly clock: SharedClock;
  readonly orgLimits?: OrgLimitsCache;
}

export type LedgerCommand<Run> =
  | { readonly kind: 'hold'; readonly request: HoldRequest }
  | { readonly kind: 'look'; readonly previews: readonly AdmissionPreview[] }
  | { readonly kind: 'adopt'; readonly hold: Hold }
  | { readonly kind: 'book'; readonly group: PostingGroup<Run> }
  | { readonly kind: 'void'; readonly holdId: string }
  | { readonly kind: 'extend'; readonly holdId: string; readonly seconds: number }
  | { readonly kind: 'expire'; readonly holdIds: readonly string[] };

export type LedgerResult<Run> =
  | HoldResult
  | (Denial | undefined)[]
  | GroupResult<Run>
  | HoldChange
  | undefined;

export class OrgTransaction<Run> {
  readonly #options: PostgresLedgerOptions<Run>;
  readonly #orgLimits: OrgLimitsCache;
  readonly #tx: Transaction;
  readonly #orgId: string;
  /** Counters as they were read, to tell which ones changed. */
  readonly #read = new Map<string, { settled: bigint; held: bigint; alerted: number }>();
  readonly #newHolds: Hold[] = [];
  readonly #changedHolds = new Map<string, Hold>();
  readonly #endedHolds = new Set<string>();
  /** Idempotency keys that are used, by their digests: also by holds that end in this transaction. */
  readonly #usedKeys = new Map<string, HoldKey>();
  /** Holds that ended earlier and are settled late. */
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

  async run(asked: readonly LedgerCommand<Run>[]): Promise<LedgerResult<Run>[]> {
    const { version, now, lastAt } = await lockOrg(this.#tx, this.#orgId);
    const nowMs = Math.max(this.#options.clock.agreed(now).getTime(), lastAt.getTime());
    const orgState = new OrgLedgerState(await this.#limits(version), Number.POSITIVE_INFINITY);
    await this.#readHolds(orgState, asked, nowMs);
    await this.#readCounters(orgState, asked, nowMs);
    const answers: LedgerResult<Run>[] = new Array(asked.length);
    for (const [index, one] of asked.entries()) {
      if (one.kind !== 'book') {
        answers[index] = await this.#answer(orgState, one, nowMs);
      }
    }
    await this.#book(orgState, asked, answers, nowMs);
    await this.#write(orgState, nowMs);
    return answers;
  }

  async #limits(version: bigint): Promise<OrgLimits> {
    const remembered = this.#orgLimits.peek(this.#orgId);
    if (remembered?.version === version) {
      return remembered;
    }
    const limits = await readOrgLimits(this.#tx, this.#orgId);
    this.#orgLimits.remember(limits);
    return limits;
  }

  async #readHolds(
    orgState: OrgLedgerState,
    asked: readonly LedgerCommand<Run>[],
    nowMs: number,
  ): Promise<void> {
    const ids = asked.flatMap((one) => {
      switch (one.kind) {
        case 'hold':
        case 'look':
          return [];
        case 'book':
          return one.group.postings.flatMap(({ decisionId }) => decisionId ?? []);
        case 'expire':
          return one.holdIds;
        case 'adopt':
          return [one.hold.id];
        default:
          return [one.holdId];
      }
    });
    const digests = asked.flatMap((one) => {
      const key = one.kind === 'hold' ? one.request.key : one.kind === 'adopt' ? one.hold.idempotency : null;
      return key == null ? [] : [key.digest];
    });
    if (digests.length > 0) {
      for (const key of await findStoredKeys(this.#tx, this.#orgId, digests, nowMs)) {
        this.#usedKeys.set(key.digest, key);
      }
    }
    for (const hold of await selectHolds(this.#tx, this.#orgId, ids, digests)) {
      orgState.keep(hold);
      this.#useKey(hold);
    }
    const late = asked.flatMap((one) =>
      one.kind === 'book'
        ? one.group.postings.flatMap(({ kind, decisionId }) =>
            decisionId === null || kind === 'open' || orgState.holds.has(decisionId) ? [] : [decisionId],
          )
        : [],
    );
    this.#endedBefore = (await findEnds(this.#tx, [this.#orgId], late)).map(({ body }) => restoredHold(body));
  }

  /** All that the commands will look at: of what they ask for, and of the holds that they end. */
  async #readCounters(
    orgState: OrgLedgerState,
    asked: readonly LedgerCommand<Run>[],
    nowMs: number,
  ): Promise<void> {
    const wanted = new Map<string, MissingCounter | undefined>();
    for (const one of asked) {
      if (one.kind === 'hold' || one.kind === 'look') {
        for (const { scope, surface } of one.kind === 'hold' ? [one.request] : one.previews) {
          for (const limitWindow of applicableCounters(orgState.limits, scope, nowMs, surface).counters) {
            wanted.set(limitWindow.key, { window: limitWindow, scope });
          }
        }
      } else if (one.kind === 'adopt') {
        const { scope, admittedAtMs, surface } = one.hold;
        for (const met of applicableCounters(orgState.limits, scope, admittedAtMs, surface).counters) {
          wanted.set(met.key, { window: met, scope });
        }
      } else if (one.kind === 'book') {
        for (const { kind, scope, atMs } of one.group.postings) {
          const surface = kind === 'record' ? 'record' : 'run';
          for (const { key } of applicableCounters(orgState.limits, scope, atMs ?? nowMs, surface).counters) {
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
    const rows = await this.#tx.query<Counter & { key: string; window_end: Date }>(
      'SELECT key, settled, held, alerted, window_end FROM counters WHERE org_id = $1 AND key = ANY($2)',
      [this.#orgId, [...wanted.keys()]],
    );
    for (const { key, settled, held, alerted, window_end } of rows) {
      orgState.counters.set(key, { settled, held, alerted, endMs: window_end.getTime() });
      this.#read.set(key, { settled, held, alerted });
    }
    const missing = [...wanted.values()].filter(
      (one): one is MissingCounter => one !== undefined && !orgState.counters.has(one.window.key),
    );
    await this.#makeCounters(orgState, missing);
  }

  /** A new counter starts with what open holds take of it, so those have to be known, and to name it from now on. */
  async #makeCounters(orgState: OrgLedgerState, missing: readonly MissingCounter[]): Promise<void> {
    if (missing.length === 0) {
      return;
    }
    for (const hold of await selectHoldsSince(this.#tx, this.#orgId, missing)) {
      // Those that ended in this transaction are still there.
      if (!orgState.holds.has(hold.id) && !this.#endedHolds.has(hold.id)) {
        orgState.keep(hold);
      }
    }
    for (const hold of await addCounters(this.#tx, orgState, missing)) {
      this.#changedHolds.set(hold.id, hold);
    }
  }

  async #answer(
    orgState: OrgLedgerState,
    asked: Exclude<LedgerCommand<Run>, { kind: 'book' }>,
    nowMs: number,
  ): Promise<LedgerResult<Run>> {
    switch (asked.kind) {
      case 'hold':
        return this.#hold(orgState, asked.request, nowMs);
      case 'look':
        return asked.previews.map((one) => denialFor(orgState, one, nowMs));
      case 'adopt':
        return this.#adopt(orgState, asked.hold);
      case 'void':
        return this.#end(orgState, asked.holdId, 'voided', nowMs);
      case 'extend':
        return this.#extend(orgState, asked.holdId, asked.seconds, nowMs);
      case 'expire':
        for (const holdId of asked.holdIds) {
          const open = orgState.holds.get(holdId);
          if (open !== undefined && open.hold.expiresAtMs <= nowMs) {
            await this.#end(orgState, holdId, 'expired', nowMs);
          }
        }
        return undefined;
    }
  }

  #hold(orgState: OrgLedgerState, request: HoldRequest, nowMs: number): HoldResult {
    const replay = request.key && replayOf(this.#usedKeys.get(request.key.digest), request.key);
    if (replay !== undefined) {
      return replay;
    }
    const { scope, amounts, surface } = request;
    const charge = { scope, amounts, depth: null, atMs: nowMs };
    const applicable = applicableCounters(orgState.limits, scope, nowMs, surface);
    const admission = admit(orgState.counters, {
      limits: orgState.limits,
      charge,
      windows: applicable.counters,
      preFlight: true,
    });
    if (admission.kind === 'denied') {
      return admission;
    }
    const held: Held = takeHold(this.#options.ids, orgState, {
      request,
      charge,
      applicable,
      admission,
    });
    orgState.keep(held.hold);
    this.#newHolds.push(held.hold);
    this.#useKey(held.hold);
    return held;
  }

  async #adopt(orgState: OrgLedgerState, given: Hold): Promise<undefined> {
    const ended = await findEnds(this.#tx, [this.#orgId], [given.id]);
    if (ended.length === 0 && !orgState.holds.has(given.id)) {
      const applicable = applicableCounters(orgState.limits, given.scope, given.admittedAtMs, given.surface);
      // A key that was used before stays with the decision that it was used for.
      const isKeyFree = given.idempotency === null || !this.#usedKeys.has(given.idempotency.digest);
      const { hold } = importHold(orgState, isKeyFree ? given : { ...given, idempotency: null }, applicable);
      this.#newHolds.push(hold);
      this.#useKey(hold);
    }
    return undefined;
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
      const ends = await findEnds(this.#tx, [this.#orgId], [holdId]);
      return { kind: ends.length > 0 ? 'ended' : 'unknown' };
    }
    await insertEnds(this.#tx, [{ hold: open.hold, endedAs, runId: null }], nowMs);
    releaseReservation(orgState.counters, open.hold);
    orgState.holds.delete(holdId);
    this.#endedHolds.add(holdId);
    return { kind: 'changed', hold: open.hold };
  }

  async #extend(
    orgState: OrgLedgerState,
    holdId: string,
    seconds: number,
    nowMs: number,
  ): Promise<HoldChange> {
    const open = orgState.holds.get(holdId);
    if (open === undefined) {
      const ends = await findEnds(this.#tx, [this.#orgId], [holdId]);
      return { kind: ends.length > 0 ? 'ended' : 'unknown' };
    }
    open.hold = { ...open.hold, expiresAtMs: extendedTo(open.hold, nowMs, seconds) };
    this.#changedHolds.set(holdId, open.hold);
    return { kind: 'changed', hold: open.hold };
  }

  async #book(
    orgState: OrgLedgerState,
    asked: readonly LedgerCommand<Run>[],
    answers: LedgerResult<Run>[],
    nowMs: number,
  ): Promise<void> {
    const groups = asked.flatMap((one) => (one.kind === 'book' ? [one.group] : []));
    if (groups.length === 0) {
      return;
    }
    const batch = await decideBatch(this.#tx, this.#options, {
      groups,
      nowMs,
      bookOf: () => orgState,
      makeCounters: (_, missing) => this.#makeCounters(orgState, missing),
    });
    markAllAlerted(await writeBatch(this.#tx, this.#options, batch, nowMs));
    this.#newHolds.push(...batch.newHolds.map(({ hold }) => hold));
    for (const { posted, ends } of batch.prepared) {
      if (posted.charged !== null) {
        commitSettlement(orgState.counters, posted.charged);
      }
      if (ends !== null) {
        orgState.holds.delete(ends.hold.id);
        this.#endedHolds.add(ends.hold.id);
      }
    }
    for (const [index, one] of asked.entries()) {
      if (one.kind === 'book') {
        answers[index] = batch.results.get(one.group);
      }
    }
  }

  async #write(orgState: OrgLedgerState, nowMs: number): Promise<void> {
    const ended = this.#endedHolds;
    const changed = [...this.#changedHolds.values()].filter(({ id }) => !ended.has(id));
    // Sent one behind the other without waiting for each answer: others wait for this org's lock meanwhile.
    await Promise.all([
      insertHolds(
        this.#tx,
        this.#newHolds.filter(({ id }) => !ended.has(id)),
      ),
      updateHolds(this.#tx, this.#orgId, changed),
      deleteHolds(this.#tx, this.#orgId, [...ended]),
      this.#writeCounters(orgState, nowMs),
      this.#tx.query('UPDATE ledger_orgs SET last_at = greatest(last_at, $2) WHERE org_id = $1', [
        this.#orgId,
        new Date(nowMs),
      ]),
    ]);
  }

  async #writeCounters(orgState: OrgLedgerState, nowMs: number): Promise<void> {
    const changed = [...orgState.counters].filter(([key, { settled, held, alerted }]) => {
      const before = this.#read.get(key);
      return before?.settled !== settled || before.held !== held || before.alerted !== alerted;
    });
    if (changed.length === 0) {
      return;
    }
    await this.#tx.query(
      `INSERT INTO counters (org_id, key, limit_id, window_end, settled, held, alerted)
       SELECT $1, key, split_part(key, '@', 1), window_end, settled, held, alerted
         FROM unnest($2::text[], $3::timestamptz[], $4::int8[], $5::int8[], $6::int4[]) AS c(key, window_end, settled, held, alerted)
       ON CONFLICT (org_id, key) DO UPDATE SET settled = excluded.settled, held = excluded.held, alerted = excluded.alerted,
         window_end = excluded.window_end`,
      [
        this.#orgId,
        changed.map(([key]) => key),
        changed.map(([, { endMs }]) => new Date(neededUntil(endMs, nowMs))),
        changed.map(([, { settled }]) => settled),
        changed.map(([, { held }]) => held),
        changed.map(([, { alerted }]) => alerted),
      ],
    );
  }
}

/** A counter without a window, such as a chain's, is needed for as long as it is used. */
function neededUntil(endMs: number, nowMs: number): number {
  return endMs === lifetime.endMs ? nowMs : Math.max(endMs, nowMs);
}

interface LockedOrg {
  readonly version: bigint;
  readonly now: Date;
  readonly lastAt: Date;
}

/** Whoever has this lock decides for the org; what it reads afterwards is what the one before has written. */
export async function lockOrg(tx: Transaction, orgId: string): Promise<LockedOrg> {
  const statement = `SELECT limits_version AS version, clock_timestamp()::timestamptz(3) AS now, last_at AS "lastAt"
                       FROM ledger_orgs WHERE org_id = $1 FOR UPDATE`;
  const [row] = await tx.query<LockedOrg>(statement, [orgId]);
  if (row !== undefined) {
    return row;
  }
  await tx.query('INSERT INTO ledger_orgs (org_id) VALUES ($1) ON CONFLICT DO NOTHING', [orgId]);
  const [made] = await tx.query<LockedOrg>(statement, [orgId]);
  if (made === undefined) {
    throw new Error('the row of an org that was just made is missing');
  }
  return made;
}
