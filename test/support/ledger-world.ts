/** A ledger of the engine under test on a real database, with a fake clock and an audit of its counters. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { noParts, readParts, sumOfParts } from '../../src/kernel/cost-parts.ts';
import {
  type Amounts,
  type Limit,
  type OnUnsettled,
  type Scope,
  shownKind,
  type Tags,
} from '../../src/kernel/limits.ts';
import { calendarWindow, fixedWindow, lifetime, type Window } from '../../src/kernel/windows.ts';
import { EmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { type Hold, runIdOf } from '../../src/ledger/holds/hold.ts';
import type { Held, HoldRequest, HoldResult } from '../../src/ledger/holds/hold-request.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { notifyLimitChanged, notifyLimitsChanged } from '../../src/ledger/limits/change-notifications.ts';
import { endRaiseEarly, insertRaise, type RaiseRow } from '../../src/ledger/limits/limit-raises.ts';
import { endLimit, insertLimit, type LimitRow, updateLimit } from '../../src/ledger/limits/limits.ts';
import { createPostgresLedger } from '../../src/ledger/postgres/postgres-ledger.ts';
import type { GroupResult, Posted, Posting } from '../../src/ledger/posting.ts';
import type { PaidSoFar } from '../../src/ledger/postings/existing-records.ts';
import type { UnsettledRuns } from '../../src/ledger/postings/unsettled-runs.ts';
import type { Database, Transaction } from '../../src/platform/db/database.ts';
import { createIds, type Ids } from '../../src/platform/ids.ts';
import { createLog, type Log } from '../../src/platform/log.ts';
import { FakeClock, seededBytes } from '../harness.ts';
import { amountsOf, scopeOf } from './ledger-values.ts';
import { engine, makePlace, openPlace, type Place } from './test-database.ts';

const silentLog = createLog('silent');

/** Returns what earlier entries of a run burned and left uncovered, from the entries only. */
export async function readPaid(tx: Transaction, orgId: string, runId: string): Promise<PaidSoFar> {
  const rows = await tx.query<{
    packs: [string, string][] | null;
    uncovered_nanos: bigint;
    prepaid_nanos: bigint;
    kind: string;
    parts: string;
  }>(
    'SELECT packs, uncovered_nanos, prepaid_nanos, kind, parts FROM ledger_entries WHERE org_id = $1 AND run_id = $2 ORDER BY booked_at, id',
    [orgId, runId],
  );
  const burned = new Map<string, bigint>();
  for (const [id, amount] of rows.flatMap(({ packs }) => packs ?? [])) {
    burned.set(`${id}@0`, (burned.get(`${id}@0`) ?? 0n) + BigInt(amount));
  }
  return {
    burned: [...burned].map(([key, amount]) => ({ key, amount })).filter(({ amount }) => amount > 0n),
    uncovered: rows.reduce((sum, { uncovered_nanos }) => sum + uncovered_nanos, 0n),
    prepaid: rows.reduce((sum, { prepaid_nanos }) => sum + prepaid_nanos, 0n),
    recorded: rows.some(({ kind }) => kind === 'record'),
    parts: sumOfParts(...rows.map(({ parts }) => readParts(parts))),
  };
}

/** Runs are not stored in these tests, so an unsettled run is known from its entries alone. */
function unsettledRunsOf(ids: Ids): UnsettledRuns<unknown> {
  return {
    async postingsFor(_, __, holds) {
      return holds.map((hold) => ({
        kind: 'expire',
        runId: runIdOf(hold) ?? ids.next('run'),
        ...(hold.runId !== null && { runExists: true }),
        externalId: null,
        entryId: ids.next('ent'),
        scope: hold.scope,
        depth: 1,
        amounts: { ...hold.amounts, tokens: 0n },
        parts: noParts,
        cacheSavings: 0n,
        decisionId: hold.id,
        holdSeconds: 0,
        atMs: hold.admittedAtMs,
        priceVersion: hold.priceVersion,
        usage: noUsage,
        run: null,
      }));
    },
    async read(tx, orgId, runIds) {
      const rows = await tx.query<EntryRow & { run_id: string; marks: string[] }>(
        'SELECT * FROM ledger_entries WHERE org_id = $1 AND run_id = ANY($2) ORDER BY booked_at, id',
        [orgId, runIds],
      );
      return Promise.all(
        [...new Set(rows.map(({ run_id }) => run_id))]
          .map((runId) => rows.filter(({ run_id }) => run_id === runId))
          .filter((own) => own.some(isUnsettled) && !own.some(({ marks }) => marks.includes('late')))
          .map(async (own) => {
            const first = own[0] as EntryRow & { run_id: string };
            return {
              runId: first.run_id,
              run: null,
              scope: { ...first, action: null },
              depth: 1,
              atMs: first.charged_at.getTime(),
              amounts: {
                usd: own.reduce((sum, { usd_nanos }) => sum + usd_nanos, 0n),
                tokens: own.reduce((sum, { tokens }) => sum + tokens, 0n),
                requests: own.reduce((sum, { requests }) => sum + requests, 0n),
              },
              paid: await readPaid(tx, orgId, first.run_id),
              usage: noUsage,
              reversalId: ids.next('ent'),
            };
          }),
      );
    },
  };
}

const isUnsettled = ({ marks }: { readonly marks: readonly string[] }) => marks.includes('unsettled');

const noUsage: Posting['usage'] = {
  status: 'running',
  inputTokens: 0n,
  cachedInputTokens: 0n,
  cacheWriteTokens: 0n,
  outputTokens: 0n,
  valueNanos: null,
  latencyMs: null,
};

/** The tests do not use permits. */
const permits = { read: async () => new Map<string, number>(), use: async () => undefined };

export interface LedgerOptions {
  readonly seed?: number;
  readonly holdsMax?: number;
  /** Wraps the database of the ledger. */
  readonly wrap?: (db: Database) => Database;
  /** Default: silent. */
  readonly log?: Log;
  /** Replaces the clock that measures rests between expiries (PostgreSQL), and lifetimes of holds ahead of the clock. */
  readonly monotonicMs?: () => number;
}

export async function openLedgerOn(
  db: Database,
  place: Place,
  clock: FakeClock,
  ids: Ids,
  {
    holdsMax = 100_000,
    log = silentLog,
    monotonicMs,
  }: Pick<LedgerOptions, 'holdsMax' | 'log' | 'monotonicMs'> = {},
): Promise<Ledger> {
  const deps = {
    db,
    clock,
    ids,
    log,
    writeRuns: async () => undefined,
    readPaid,
    permits,
    unsettledRuns: unsettledRunsOf(ids),
  };
  return engine === 'embedded'
    ? EmbeddedLedger.open({
        ...deps,
        directory: join(place.dataDir, 'holds'),
        durability: 'sync',
        holdsMax,
        ...(monotonicMs !== undefined && { monotonicMs }),
      })
    : createPostgresLedger({ ...deps, holdsMax, ...(monotonicMs !== undefined && { monotonicMs }) });
}

interface TestRaise {
  readonly limitId: string;
  readonly amount: bigint;
  readonly untilMs: number;
  readonly value?: string | null | undefined;
}

export class LedgerWorld {
  readonly clock = new FakeClock();
  readonly ids: Ids;
  readonly #options: LedgerOptions;
  #place: Place;
  #db: Database;
  #ledger: Ledger;
  #orgs = 0;

  static async open({ seed = 1, wrap, ...options }: LedgerOptions = {}): Promise<LedgerWorld> {
    const place = await makePlace({ migrated: true });
    const db = await openPlace(place);
    const world = new LedgerWorld(place, db, seed, options);
    world.#ledger = await openLedgerOn(wrap?.(db) ?? db, place, world.clock, world.ids, options);
    return world;
  }

  private constructor(place: Place, db: Database, seed: number, options: LedgerOptions) {
    this.ids = createIds(this.clock, seededBytes(seed));
    this.#place = place;
    this.#db = db;
    this.#options = options;
    this.#ledger = undefined as unknown as Ledger;
  }

  get db(): Database {
    return this.#db;
  }

  get ledger(): Ledger {
    return this.#ledger;
  }

  get place(): Place {
    return this.#place;
  }

  get nowMs(): number {
    return this.clock.now().getTime();
  }

  async createOrg(timezone = 'UTC'): Promise<string> {
    this.#orgs += 1;
    const id = this.ids.next('org');
    await this.#db.query(
      `INSERT INTO orgs (id, name, slug, timezone, status, created_at, updated_at)
       VALUES ($1, $1, $1, $2, 'active', $3, $3)`,
      [id, timezone, this.clock.now()],
    );
    return id;
  }

  async changeTimezone(orgId: string, timezone: string): Promise<void> {
    await this.#db.transaction(async (tx) => {
      await tx.query('UPDATE orgs SET timezone = $2 WHERE id = $1', [orgId, timezone]);
      await notifyLimitsChanged(tx, orgId);
    });
  }

  async setOnUnsettled(orgId: string, treatment: OnUnsettled): Promise<void> {
    await this.#db.transaction(async (tx) => {
      await tx.query('UPDATE orgs SET on_unsettled = $2 WHERE id = $1', [orgId, treatment]);
      await notifyLimitChanged(tx, orgId);
    });
  }

  async insertLimit(orgId: string, limit: Limit): Promise<void> {
    await this.#db.transaction((tx) => insertLimit(tx, rowOf(orgId, limit)));
  }

  async updateLimit(orgId: string, limit: Limit): Promise<void> {
    await this.#db.transaction((tx) => updateLimit(tx, rowOf(orgId, limit)));
  }

  async endLimit(orgId: string, limit: Limit): Promise<void> {
    await this.#db.transaction((tx) => endLimit(tx, rowOf(orgId, limit), this.clock.now()));
  }

  /** Raises a limit and returns a function that ends the raise early. */
  async raise(
    orgId: string,
    { limitId, amount, untilMs, value = null }: TestRaise,
  ): Promise<() => Promise<void>> {
    const row: RaiseRow = {
      org_id: orgId,
      id: this.ids.next('rse'),
      limit_id: limitId,
      value,
      amount,
      until: new Date(untilMs),
      reason: 'a test',
      created_by: 'key_1',
      created_at: this.clock.now(),
      ended_at: null,
      ended_by: null,
      request_id: null,
    };
    await this.#db.transaction((tx) => insertRaise(tx, row));
    return () =>
      this.#db.transaction((tx) =>
        endRaiseEarly(tx, { ...row, ended_at: this.clock.now(), ended_by: 'key_1' }),
      );
  }

  /** Creates an org with these limits. */
  async orgWith(...limits: readonly Limit[]): Promise<string> {
    const orgId = await this.createOrg();
    for (const limit of limits) {
      await this.insertLimit(orgId, limit);
    }
    return orgId;
  }

  requestOf(orgId: string, dollars: string, fields: Partial<HoldRequest> = {}): HoldRequest {
    return {
      orgId,
      surface: 'edge',
      scope: scopeOf(),
      amounts: amountsOf(dollars),
      holdSeconds: 900,
      priceVersion: null,
      ...fields,
    };
  }

  hold(orgId: string, dollars: string, fields: Partial<HoldRequest> = {}): Promise<HoldResult> {
    return this.#ledger.hold(this.requestOf(orgId, dollars, fields));
  }

  async held(orgId: string, dollars: string, fields: Partial<HoldRequest> = {}): Promise<Hold> {
    return heldOf(await this.hold(orgId, dollars, fields)).hold;
  }

  postingOf(dollars: string, fields: Partial<Posting> = {}): Posting {
    const amounts: Amounts = fields.amounts ?? amountsOf(dollars);
    return {
      kind: 'charge',
      runId: this.ids.next('run'),
      externalId: null,
      entryId: this.ids.next('ent'),
      scope: scopeOf(),
      depth: 1,
      amounts,
      parts: noParts,
      cacheSavings: 0n,
      decisionId: null,
      holdSeconds: 900,
      atMs: null,
      priceVersion: null,
      usage: {
        status: 'succeeded',
        inputTokens: amounts.tokens,
        cachedInputTokens: 0n,
        cacheWriteTokens: 0n,
        outputTokens: 0n,
        valueNanos: 0n,
        latencyMs: null,
      },
      run: null,
      ...fields,
    };
  }

  post(orgId: string, dollars: string, fields: Partial<Posting> = {}): Promise<GroupResult> {
    return this.#ledger.post({ orgId, postings: [this.postingOf(dollars, fields)] });
  }

  async posted(orgId: string, dollars: string, fields: Partial<Posting> = {}): Promise<Posted> {
    return postedOf(await this.post(orgId, dollars, fields));
  }

  async expireAll(): Promise<void> {
    while (await this.#ledger.expiry.expireDue()) {
      await pause(this.#ledger.expiry.restMs());
    }
  }

  /** Closes the ledger and opens another one on the same database; does something in between, if given. */
  async reopen(between?: () => Promise<void>): Promise<void> {
    await this.#ledger.close();
    await between?.();
    this.#ledger = await openLedgerOn(this.#db, this.#place, this.clock, this.ids, this.#options);
  }

  /** Closes the ledger and its database, and opens both again. */
  async restart(): Promise<void> {
    await this.#ledger.close();
    await this.#db.close();
    await this.restartFromDisk();
  }

  /** Opens the database and the ledger after a clean or unclean end. */
  async restartFromDisk(): Promise<void> {
    const db = await openPlace(this.#place);
    try {
      this.#ledger = await openLedgerOn(db, this.#place, this.clock, this.ids, this.#options);
      this.#db = db;
    } catch (error) {
      await db.close();
      throw error;
    }
  }

  /** Continues from a copy of the directory, as a crash would leave it. Embedded only. */
  async crash(): Promise<void> {
    const copy = await makePlace({ migrated: false });
    cpSync(this.#place.dataDir, copy.dataDir, { recursive: true });
    await this.#ledger.close();
    await this.#db.close();
    await this.#place.remove();
    this.#place = copy;
    await this.restartFromDisk();
  }

  async close(): Promise<void> {
    await this.#ledger.close();
    await this.#db.close();
    await this.#place.remove();
  }

  /** Returns the counters of an org as `settled+held`, by counter key. */
  async counters(orgId: string): Promise<Record<string, string>> {
    const { counters } = await this.#ledger.reads.inspect(orgId, async () => undefined);
    return Object.fromEntries(counters.map(({ key, settled, held }) => [key, `${settled}+${held}`]).sort());
  }

  /** Returns a message for each counter that is not the sum of the entries and open holds. */
  audit(orgId: string): Promise<string[]> {
    return auditCounters(this.#ledger, orgId);
  }
}

export function heldOf(result: HoldResult): Held {
  if (result.kind !== 'held') {
    throw new Error(`not held: ${JSON.stringify(result)}`);
  }
  return result;
}

export function postedOf(result: GroupResult): Posted {
  const [outcome] = result.kind === 'done' ? result.outcomes : [];
  if (outcome?.kind !== 'posted') {
    throw new Error(`not posted: ${JSON.stringify(result)}`);
  }
  return outcome;
}

/** Returns the code of a denial, or the kind of any other result. */
export function verdictOf(result: HoldResult | GroupResult): string {
  return result.kind === 'denied' ? result.denial.code : result.kind;
}

export function rowOf(orgId: string, limit: Limit): LimitRow {
  const { span } = limit;
  return {
    org_id: orgId,
    id: limit.id,
    kind: shownKind(limit).kind,
    name: null,
    unit: limit.unit,
    match: limit.match,
    period: span.kind === 'calendar' ? span.period : null,
    window_seconds: span.kind === 'fixed' ? span.seconds : null,
    timezone: span.kind === 'calendar' ? span.timezone : null,
    capacity: limit.capacity,
    burst: null,
    enforcement: limit.enforcement,
    alert_thresholds: limit.thresholds,
    expires_at: limit.expiresAtMs === null ? null : new Date(limit.expiresAtMs),
    owner: null,
    created_at: new Date(limit.createdAtMs),
    updated_at: new Date(limit.createdAtMs),
  };
}

interface EntryRow extends Omit<Scope, 'action'> {
  readonly charged_at: Date;
  readonly usd_nanos: bigint;
  readonly tokens: bigint;
  readonly requests: bigint;
  readonly prepaid_nanos: bigint;
  readonly packs: [string, string][] | null;
}

/** The kinds that the edge checks. Duplicated on purpose, independent of the code under test. */
const edgeKinds = ['prepaid', 'quota', 'spend_cap', 'budget', 'customer'];

async function auditCounters(ledger: Ledger, orgId: string): Promise<string[]> {
  const { counters, holds, result } = await ledger.reads.inspect(orgId, async (tx) => ({
    entries: await tx.query<EntryRow>('SELECT * FROM ledger_entries WHERE org_id = $1', [orgId]),
    limits: await tx.query<LimitRow>('SELECT * FROM limits WHERE org_id = $1 AND ended_at IS NULL', [orgId]),
    org: await tx.query<{ timezone: string }>('SELECT timezone FROM orgs WHERE id = $1', [orgId]),
    tallies: await tx.query<{ limit_id: string; settled: bigint }>(
      'SELECT limit_id, settled FROM limit_tallies WHERE org_id = $1',
      [orgId],
    ),
  }));
  const { entries, limits } = result;
  const timezone = result.org[0]?.timezone ?? 'UTC';
  const mismatches: string[] = [];
  for (const { key, settled, held, growth } of counters) {
    const expected = holds.reduce((sum, hold) => {
      const share = hold.shares.find((one) => one.key === key);
      return sum + (share === undefined ? 0n : (hold.growth?.[share.unit] ?? 0n));
    }, 0n);
    if (growth !== expected) {
      mismatches.push(`${key}: the growth is ${growth}, the holds say ${expected}`);
    }
    const [, id = '', start = '', value] = /^([^@]*)@(\d+)(?::([\s\S]*))?$/.exec(key) ?? [];
    const limit = limits.find((one) => one.id === id);
    if (limit === undefined) {
      continue;
    }
    const window = windowAt(limit, timezone, Number(start));
    if (window.startMs !== Number(start)) {
      mismatches.push(`${key}: no window of its limit begins there`);
      continue;
    }
    const matches = (scope: { readonly [field: string]: unknown; readonly tags: Tags | null }) =>
      Object.entries(limit.match).every(([field, wanted]) => {
        const found = field.startsWith('tag:') ? scope.tags?.[field.slice('tag:'.length)] : scope[field];
        return found === (wanted === '*' ? value : wanted);
      });
    const inside = (ms: number) => window.startMs <= ms && ms < window.endMs;
    const isConcurrency = limit.kind === 'rate' && limit.window_seconds === null;
    const spent = (isConcurrency ? [] : entries)
      .filter((entry) => inside(entry.charged_at.getTime()) && matches({ ...entry }))
      .map((entry) => spentOf(limit, entry))
      .reduce((sum, amount) => sum + amount, 0n);
    const counts = (hold: Hold) => hold.surface === 'run' || isConcurrency || edgeKinds.includes(limit.kind);
    const heldByHolds = holds
      .map((hold) =>
        limit.kind === 'credits'
          ? (hold.packs.find((pack) => pack.key === key)?.amount ?? 0n)
          : counts(hold) && inside(hold.admittedAtMs) && matches({ ...hold.scope })
            ? hold.amounts[limit.unit]
            : 0n,
      )
      .reduce((sum, amount) => sum + amount, 0n);
    const hasOwnLimit =
      value !== '*' && limits.some((one) => one.kind === 'customer' && one.match.customer_id === value);
    const overridden = limit.kind === 'customer' && limit.match.customer_id === '*' && hasOwnLimit;
    if (!overridden && limit.kind !== 'prepaid' && settled !== spent) {
      mismatches.push(`${key} (${limit.kind}): settled is ${settled}, the entries say ${spent}`);
    }
    const tally = result.tallies.find(({ limit_id }) => limit_id === id)?.settled ?? 0n;
    if ((limit.kind === 'prepaid' || limit.kind === 'credits') && settled !== tally) {
      mismatches.push(`${key} (${limit.kind}): settled is ${settled}, its tally ${tally}`);
    }
    if (!overridden && held !== heldByHolds) {
      mismatches.push(`${key} (${limit.kind}): held is ${held}, the open holds say ${heldByHolds}`);
    }
  }
  return mismatches;
}

function spentOf(limit: LimitRow, entry: EntryRow): bigint {
  if (limit.kind === 'credits') {
    return (entry.packs ?? [])
      .filter(([id]) => id === limit.id)
      .reduce((sum, [, amount]) => sum + BigInt(amount), 0n);
  }
  return { usd: entry.usd_nanos, tokens: entry.tokens, requests: entry.requests }[limit.unit];
}

function windowAt({ period, window_seconds, timezone }: LimitRow, orgTimezone: string, atMs: number): Window {
  if (period !== null) {
    return calendarWindow(period, timezone ?? orgTimezone, atMs);
  }
  return window_seconds === null ? lifetime : fixedWindow(window_seconds, atMs);
}
