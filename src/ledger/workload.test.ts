/**
 * A ledger on a real database under a random workload, compared step by step with a model that recomputes every
 * sum. Time advances across days and months, limits are created, changed and ended, and processes stop and crash.
 */
import { expect, test } from 'vitest';
import {
  type Entry,
  Model,
  type ModelHold,
  type ModelRaise,
  type Paid,
  type Verdict,
} from '../../test/support/ledger-model.ts';
import { limitOf, Random, scopeOf, usd } from '../../test/support/ledger-values.ts';
import { LedgerWorld, verdictOf } from '../../test/support/ledger-world.ts';
import { rounds } from '../../test/support/rounds.ts';
import { hasFixedSeeds, seedsOf } from '../../test/support/seeds.ts';
import { engine } from '../../test/support/test-database.ts';
import {
  type CostPart,
  type CostParts,
  codeOfUnit,
  nanosOfParts,
  readParts,
  sumOfParts,
  unsplitCode,
} from '../kernel/cost-parts.ts';
import type { Denial } from '../kernel/denial.ts';
import type { Fit } from '../kernel/fit.ts';
import {
  type Amounts,
  type CheckedKind,
  type Limit,
  type Match,
  type Scope,
  WILDCARD,
} from '../kernel/limits.ts';
import { parseUsd } from '../kernel/money.ts';
import { type Hold, holdIdOfCall, runIdOf } from './holds/hold.ts';
import type { HoldResult } from './holds/hold-request.ts';
import type { GroupResult, Posted, Posting } from './posting.ts';
import { findEnds } from './postings/ledger-writes.ts';

const { seeds } = seedsOf('ledger-workload');
/**
 * Few workloads, because the embedded database takes seconds to open. It also takes longer for each statement, so it
 * runs fewer steps.
 */
const workloads = rounds(1, 8);
const workloadsMax = 3 * workloads;
const steps = engine === 'embedded' ? 150 : 200;

const restartEvery = 70;

const lifetime = { kind: 'lifetime' } as const;
const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kathmandu',
  'Africa/Cairo',
  'Pacific/Chatham',
];
const noAmounts: Amounts = { usd: 0n, tokens: 0n, requests: 0n };
/** Outcomes of calls whose holds grow. */
const callWords = ['growing', 'grown', 'posted_at_expiry', ...(hasFixedSeeds ? ['kept_free'] : [])];
const onlyOne: readonly CheckedKind[] = [
  'spend_cap',
  'prepaid',
  'plan_runs',
  'plan_tokens',
  'chain_cost',
  'chain_depth',
  'chain_tokens',
];
const raisableKinds: readonly CheckedKind[] = ['spend_cap', 'budget', 'customer'];
const fixedByHold = ['workflow', 'deployment', 'department', 'customer_id'] as const;
const budgetMatches: readonly Match[] = [
  {},
  { department: 'd' },
  { workflow: 'w' },
  { department: 'e' },
  { department: WILDCARD },
  { team: 't' },
  { team: WILDCARD },
  { provider: 'p' },
  { member_id: WILDCARD },
  { key_id: 'key_1' },
  { model: WILDCARD },
  { 'tag:env': 'x' },
  { 'tag:env': WILDCARD },
  { 'tag:step': WILDCARD },
];
const openToRun = ['provider', 'action', 'team', 'chain_id', 'member_id'] as const;

/** The expected result of a posting, and its effect on the model. */
type Expected =
  | { readonly verdict: string; readonly denied?: Extract<Verdict, { allowed: false }> }
  | { readonly known: string }
  | {
      readonly posted: {
        readonly entry?: Entry;
        readonly surface?: 'run' | 'record';
        readonly marks: readonly string[];
      };
      apply(posted: Posted): void;
    };

class Workload {
  readonly random: Random;
  readonly model = new Model();
  readonly said = new Map<string, number>();
  /** Runs by their external id. */
  readonly external = new Map<string, string>();
  /** Runs in progress. */
  running: { runId: string; holdId: string; scope: Scope }[] = [];
  /** Posted runs that may be corrected. */
  readonly finished: { runId: string; scope: Scope; atMs: number; cost: bigint }[] = [];
  /** The parts that the entries of a run sum to: those of its charge and its corrections. */
  readonly #partsOfRuns = new Map<string, CostParts>();
  /** Ends each raise early. */
  readonly #ends = new Map<ModelRaise, () => Promise<void>>();
  #ids = 0;

  constructor(
    readonly world: LedgerWorld,
    readonly orgId: string,
    workloadSeed: number,
  ) {
    this.random = new Random(workloadSeed);
  }

  get nowMs(): number {
    return this.world.nowMs;
  }

  #id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}${this.#ids}`;
  }

  /** Posts these with a split that leaves a part of the cost unsplit, and remembers the split that counts. */
  async #post(postings: readonly Posting[]): Promise<GroupResult> {
    const split = postings.map((posting) => ({ ...posting, parts: splitOf(posting) }));
    const result = await this.world.ledger.post({ orgId: this.orgId, postings: split });
    for (const outcome of result.kind === 'done' ? result.outcomes : []) {
      if (outcome.kind === 'posted' && outcome.charged !== null) {
        const { kind, runId, parts } = outcome.posting;
        const before = kind === 'adjust' ? (this.#partsOfRuns.get(runId) ?? []) : [];
        this.#partsOfRuns.set(runId, sumOfParts(before, parts));
      }
    }
    return result;
  }

  async begin(): Promise<void> {
    await this.#changeZone(this.random.of(zones));
    for (const customer of ['a', 'b']) {
      const pack = limitOf({
        id: this.#id('crp'),
        kind: 'credits',
        match: { customer_id: customer },
        span: lifetime,
        capacity: usd(String(1 + this.random.int(6))),
        createdAtMs: this.nowMs,
        expiresAtMs: this.nowMs + this.random.int(30 * 86_400) * 1_000,
      });
      await this.world.insertLimit(this.orgId, pack);
      this.model.limits.push(pack);
    }
    for (let i = 0; i < 6; i += 1) {
      await this.#insertLimit();
    }
  }

  async step(): Promise<string> {
    const { random } = this;
    const act = random.weighted<() => Promise<string>>([
      [18, () => this.#hold()],
      [10, () => this.#charge()],
      [7, () => this.#open()],
      [4, () => this.#adopt()],
      [16, () => this.#settle()],
      [10, () => this.#complete()],
      [6, () => this.#record()],
      [7, () => this.#adjust()],
      [6, () => this.#bulk()],
      [4, () => this.#void()],
      [4, () => this.#extend()],
      [9, () => this.#holdUpTo()],
      [9, () => this.#increase()],
      [10, () => this.#call()],
      [12, () => this.#grow()],
      [6, () => this.#finishCall()],
      [7, () => this.#expire()],
      [4, () => this.#race()],
      [4, () => this.#burst()],
      [14, () => this.#wait()],
      [7, () => this.#insertLimit()],
      [8, () => this.#updateLimit()],
      [3, () => this.#endLimit()],
      [6, () => this.#raise()],
      [2, () => this.#endRaise()],
      [2, () => this.#changeZone(random.of(zones))],
      [3, () => this.#reopen()],
      [3, () => this.#tidy()],
    ]);
    const what = await act();
    this.#count(what.split(' ')[0] ?? '');
    // Ensures that no two steps have the same time.
    this.world.clock.advanceSeconds(1);
    return what;
  }

  #count(word: string): void {
    this.said.set(word, (this.said.get(word) ?? 0) + 1);
  }

  #scope(): Scope {
    const maybe = (...values: string[]) => (this.random.chance(50) ? this.random.of(values) : null);
    return scopeOf({
      model: this.random.of(['m', 'n']),
      provider: maybe('p'),
      team: maybe('t', 'u'),
      department: maybe('d', 'e'),
      workflow: maybe('w'),
      customer_id: maybe('a', 'a', 'b', 'b', 'z', WILDCARD),
      chain_id: maybe('1', '2'),
      member_id: maybe('i', 'j'),
      tags: this.random.of([null, null, { env: 'x' }, { env: 'y', step: '1' }, { step: WILDCARD }]),
    });
  }

  #amounts(): Amounts {
    const { random } = this;
    const dollars = random.weighted([
      [1, 0n],
      [1, 1n],
      [10, BigInt(random.int(2_000_000_000))],
      [3, usd(String(random.int(5)))],
    ]);
    return { usd: dollars, tokens: BigInt(random.int(40)), requests: 1n };
  }

  #expectDenied(denial: Denial, expected: Verdict | Extract<Expected, { verdict: string }>['denied']): void {
    const details = denial.details as Record<string, string | number>;
    const used = details.spent_usd ?? details.used ?? details.current ?? details.available_usd;
    expect(expected).toMatchObject({
      allowed: false,
      code: denial.code,
      ...('budget_id' in details && { limitId: details.budget_id }),
      used: typeof used === 'string' ? parseUsd(used) : BigInt(used ?? -1),
    });
    this.#count(denial.code);
  }

  #remember(hold: Hold): ModelHold {
    const known: ModelHold = {
      id: hold.id,
      runId: hold.postIfUnsettled === true ? runIdOf(hold) : hold.runId,
      surface: hold.surface,
      scope: hold.scope,
      amounts: hold.amounts,
      growth: hold.growth,
      isPostedAtExpiry: hold.postIfUnsettled === true,
      atMs: hold.admittedAtMs,
      packs: paidOf(hold.packs),
      expiresAtMs: hold.expiresAtMs,
      endedAs: undefined,
      settledBy: undefined,
    };
    this.model.holds.set(hold.id, known);
    return known;
  }

  /** Expects that no admission makes settled + held exceed a limit. */
  async #expectWithinLimits(
    surface: 'edge' | 'run',
    scope: Scope,
    amounts: Amounts,
    atMs: number,
  ): Promise<void> {
    const counters = await this.world.counters(this.orgId);
    for (const limit of this.model.limitsOf(surface, scope)) {
      if (limit.enforcement === 'block' && limit.kind !== 'chain_depth' && amounts[limit.unit] > 0n) {
        const sums = counters[this.model.keyOf(limit, scope, atMs)]?.split('+').map(BigInt);
        expect(sums, `the counter of ${limit.id}`).toBeDefined();
        // A pack is only checked for the amount that the charge takes from it.
        if (limit.kind !== 'credits') {
          expect((sums?.[0] ?? 0n) + (sums?.[1] ?? 0n)).toBeLessThanOrEqual(
            this.model.capacityOf(limit, scope, this.nowMs),
          );
        }
      }
    }
  }

  async #hold(): Promise<string> {
    const [scope, amounts] = [this.#scope(), this.#amounts()];
    const surface = this.random.of(['edge', 'edge', 'run'] as const);
    const holdSeconds = this.random.of([60, 900, 900, 86_400]);
    const expected = this.model.decide(surface, scope, amounts, null, this.nowMs);
    const result = await this.world.hold(this.orgId, '0', { scope, amounts, surface, holdSeconds });
    await this.#admitted(result, expected);
    return `hold ${surface} ${amounts.usd} ${brief(scope)}: ${verdictOf(result)}`;
  }

  async #admitted(result: HoldResult, expected: Verdict): Promise<void> {
    if (result.kind === 'denied') {
      this.#expectDenied(result.denial, expected);
      return;
    }
    if (result.kind !== 'held') {
      throw new Error(`a hold without a key was ${result.kind}`);
    }
    const { hold } = result;
    expect(expected).toEqual({ allowed: true, packs: paidOf(hold.packs) });
    this.#remember(hold);
    await this.#expectWithinLimits(hold.surface, hold.scope, hold.amounts, hold.admittedAtMs);
  }

  /** Takes the largest hold that fits, and expects the one that the model finds by trying each. */
  async #holdUpTo(): Promise<string> {
    const { random } = this;
    const [scope, base] = [this.#scope(), this.#amounts()];
    const surface = random.of(['edge', 'edge', 'run'] as const);
    const each = BigInt(random.int(random.of([100_000_000, 3_000_000_000])));
    const atLeast = BigInt(random.int(4));
    const fit: Fit = {
      atLeast,
      atMost: atLeast + BigInt(random.int(40)),
      amountsOf: (units) => ({ ...base, usd: base.usd + units * each, tokens: base.tokens + units }),
    };
    const decide = (units: bigint) =>
      this.model.decide(surface, scope, fit.amountsOf(units), null, this.nowMs);
    let most = atLeast;
    while (most < fit.atMost && decide(most + 1n).allowed) {
      most += 1n;
    }
    const expected = decide(most);
    const result = await this.world.hold(this.orgId, '0', {
      scope,
      surface,
      amounts: fit.amountsOf(fit.atMost),
      fit,
    });
    if (result.kind === 'held') {
      expect(result.hold.amounts).toEqual(fit.amountsOf(most));
      this.#count(most < fit.atMost ? 'reduced' : 'whole');
    }
    await this.#admitted(result, expected);
    return `fit ${most} of ${fit.atMost} ${brief(scope)}: ${verdictOf(result)}`;
  }

  /**
   * Takes the hold of a call of the gateway, which usually has a growth. It may be reduced to what fits, and then has none. Some calls
   * need all that is left for another one to grow: one that is given, or any.
   */
  async #call(before?: ModelHold): Promise<string> {
    const { random, world } = this;
    const growing = this.model.openHolds.filter((hold) => hold.growth !== undefined);
    const rival = before ?? (growing.length > 0 && random.chance(50) ? random.of(growing) : undefined);
    const scope = rival?.scope ?? this.#scope();
    const growth = random.chance(80) ? this.#growth() : undefined;
    const atMost = BigInt(1 + random.int(30));
    const room = rival === undefined ? 0n : this.#smallestRoom(scope);
    const base = room > 0n ? room : 1n + BigInt(random.int(900_000_000));
    const each = room > 0n ? 0n : BigInt(1 + random.int(80_000_000));
    const fit: Fit = {
      atLeast: 1n,
      atMost,
      amountsOf: (units) => ({ usd: base + units * each, tokens: 1n + units, requests: 1n }),
    };
    const mayFit = random.chance(40);
    const amounts = fit.amountsOf(atMost);
    const decide = (units: bigint) =>
      this.model.decide('run', scope, fit.amountsOf(units), 1, this.nowMs, true);
    let most = mayFit ? fit.atLeast : atMost;
    while (most < atMost && decide(most + 1n).allowed) {
      most += 1n;
    }
    const expected = decide(most);
    const call = { holdId: holdIdOfCall(world.ids.next('run')), depth: 1, growth };
    const holdSeconds = random.of([60, 900, 86_400]);
    const request = { scope, surface: 'run', amounts, call, holdSeconds, ...(mayFit && { fit }) } as const;
    const result = await world.hold(this.orgId, '0', request);
    if (result.kind === 'held') {
      expect(result.hold.amounts).toEqual(fit.amountsOf(most));
      expect(result.hold.growth).toEqual(most < atMost ? undefined : growth);
      this.#count(growth === undefined ? 'ungrowing' : 'growing');
    } else if (this.model.decide('run', scope, fit.amountsOf(most), 1, this.nowMs).allowed) {
      this.#count('kept_free');
    }
    await this.#admitted(result, expected);
    const said = `call ${amounts.usd} growth ${growth?.usd} ${brief(scope)}: ${verdictOf(result)}`;
    const held = result.kind === 'held' ? this.model.holds.get(result.hold.id) : undefined;
    return held?.growth !== undefined && before === undefined && random.chance(50)
      ? `${said}, ${await this.#call(held)}`
      : said;
  }

  #smallestRoom(scope: Scope): bigint {
    const rooms = this.model
      .limitsOf('run', scope)
      .filter(
        ({ unit, kind, enforcement }) => unit === 'usd' && kind !== 'credits' && enforcement === 'block',
      )
      .map(
        (limit) =>
          this.model.capacityOf(limit, scope, this.nowMs) - this.model.used(limit, scope, this.nowMs),
      );
    return rooms.reduce((least, room) => (room < least ? room : least), rooms[0] ?? 0n);
  }

  #growth(): Amounts {
    return { usd: BigInt(this.random.int(3_000_000_000)), tokens: BigInt(this.random.int(60)), requests: 0n };
  }

  #openCall(): ModelHold | undefined {
    const calls = this.model.openHolds.filter(({ isPostedAtExpiry }) => isPostedAtExpiry);
    return calls.length === 0 ? undefined : this.random.of(calls);
  }

  /** Increases the hold of a call, which replaces its growth, sometimes by concurrent requests that raise and lower it. */
  async #grow(): Promise<string> {
    const { random } = this;
    const hold = this.#openCall();
    if (hold === undefined) {
      return 'idle, no call is open';
    }
    const requests = Array.from({ length: random.of([1, 1, 2, 3]) }, () => ({
      by: { ...this.#amounts(), requests: 0n },
      requestId: null,
      ...(random.chance(85) && { growth: random.chance(20) ? noAmounts : this.#growth() }),
    }));
    const results = await Promise.all(
      requests.map((request) => this.world.ledger.increase(this.orgId, hold.id, request)),
    );
    for (const [index, request] of requests.entries()) {
      const result = results[index];
      const expected = this.model.decideIncrease(hold, request.by, this.nowMs);
      if (result?.kind === 'denied') {
        this.#expectDenied(result.denial, expected);
      } else if (result?.kind === 'changed') {
        expect(expected).toEqual({ allowed: true, packs: paidOf(result.hold.packs) });
        hold.amounts = result.hold.amounts;
        hold.packs = paidOf(result.hold.packs);
        hold.growth = request.growth ?? hold.growth;
        expect(result.hold.growth).toEqual(hold.growth);
        this.#count('grown');
      } else {
        throw new Error(`increase of an open call: ${result?.kind}`);
      }
    }
    return `grow ${hold.id} ${requests.length} times`;
  }

  /** Settles a call by its own run. */
  async #finishCall(): Promise<string> {
    const hold = this.#openCall();
    if (hold === undefined) {
      return 'idle, no call is open';
    }
    const posting = this.world.postingOf('0', {
      runId: hold.runId ?? '',
      scope: hold.scope,
      amounts: this.#costOf(hold),
      decisionId: hold.id,
    });
    const said = await this.#book(posting, this.#expectSettle(posting));
    return `finish ${hold.id} of ${hold.amounts.usd} at ${posting.amounts.usd}: ${said}`;
  }

  /** Increases a hold, sometimes by two requests at once and sometimes by a retry of the last one. */
  async #increase(): Promise<string> {
    const { random, orgId } = this;
    const hold = random.chance(30) ? random.of([...this.model.openHolds, undefined]) : this.#someHold();
    const by = { ...this.#amounts(), requests: 0n };
    const requestId = random.chance(50) ? this.#id('request') : null;
    const repeats = requestId === null ? 1 : 1 + random.int(3);
    const [result, ...others] = await Promise.all(
      Array.from({ length: repeats }, () =>
        this.world.ledger.increase(orgId, hold?.id ?? 'dec_unknown', { by, requestId }),
      ),
    );
    if (hold === undefined || hold.endedAs !== undefined) {
      expect(result?.kind).toBe(hold === undefined ? 'unknown' : 'ended');
      return `increase ${hold?.id}: ${result?.kind}`;
    }
    const expected = this.model.decideIncrease(hold, by, this.nowMs);
    if (result?.kind === 'denied') {
      this.#expectDenied(result.denial, expected);
    } else if (result?.kind === 'changed') {
      const { amounts, packs } = result.hold;
      expect(expected).toEqual({ allowed: true, packs: paidOf(packs) });
      expect(amounts).toEqual({
        usd: hold.amounts.usd + by.usd,
        tokens: hold.amounts.tokens + by.tokens,
        requests: hold.amounts.requests,
      });
      hold.amounts = amounts;
      hold.packs = paidOf(packs);
      this.#count('increased');
      await this.#expectWithinLimits(hold.surface, hold.scope, by, hold.atMs);
    } else {
      throw new Error(`increase of an open hold: ${result?.kind}`);
    }
    for (const other of others) {
      expect(other.kind).toBe(result.kind);
    }
    return `increase ${hold.id} by ${by.usd} ${repeats} times: ${result.kind}`;
  }

  /** Posts and compares the result with the expectation. */
  async #book(posting: Posting, expected: Expected): Promise<string> {
    const result = await this.#post([posting]);
    this.#compare(result, posting, expected);
    if (result.kind === 'done' && 'posted' in expected) {
      const { entry, surface = 'run' } = expected.posted;
      if (entry !== undefined) {
        this.model.noteAlerts([{ entry, surface }], this.nowMs);
      }
      if (posting.kind === 'open' || (posting.kind === 'charge' && posting.decisionId === null)) {
        await this.#expectWithinLimits('run', posting.scope, posting.amounts, this.nowMs);
      }
    }
    return result.kind === 'done' ? (result.outcomes[0]?.kind ?? 'nothing') : verdictOf(result);
  }

  #compare(result: GroupResult, posting: Posting, expected: Expected): void {
    if (result.kind !== 'done') {
      expect(expected).toMatchObject({ verdict: verdictOf(result) });
      if (result.kind === 'denied' && 'verdict' in expected) {
        this.#expectDenied(result.denial, expected.denied);
      }
      this.#count(result.kind);
      return;
    }
    const [outcome] = result.outcomes;
    if (outcome?.kind === 'existing') {
      expect(expected).toEqual({ known: outcome.runId });
      this.#count('existing');
    } else if (outcome?.kind === 'posted') {
      this.#apply(outcome, posting, expected);
    }
  }

  #apply(outcome: Posted, posting: Posting, expected: Expected): void {
    if (!('posted' in expected)) {
      throw new Error(`posted, but expected ${JSON.stringify(expected)}`);
    }
    const { entry, marks } = expected.posted;
    expect(outcome.marks).toEqual(marks);
    for (const mark of marks) {
      this.#count(mark);
    }
    if (entry === undefined) {
      expect(outcome.charged).toBeNull();
    } else {
      if (entry.uncovered !== 0n) {
        this.#count('uncovered');
      }
      if (entry.packs.length > 0) {
        this.#count('credits');
      }
      expect(outcome.chargedAtMs).toBe(entry.atMs);
      expect(outcome.scope).toEqual(entry.scope);
      expect({
        packs: paidOf(outcome.charged?.burned ?? []).sort(),
        uncovered: outcome.charged?.uncovered,
        prepaid: outcome.charged?.prepaid,
      }).toEqual({
        packs: [...entry.packs].sort(),
        uncovered: entry.uncovered,
        prepaid: entry.prepaid?.[1] ?? 0n,
      });
      this.model.entries.push(entry);
    }
    if (posting.externalId !== null) {
      this.external.set(posting.externalId, posting.runId);
    }
    expected.apply(outcome);
  }

  #knownOr(posting: Posting, expected: () => Expected): Expected {
    const known = posting.externalId === null ? undefined : this.external.get(posting.externalId);
    return known === undefined ? expected() : { known };
  }

  #externalId(): string | null {
    return this.random.chance(30) ? `x${this.random.int(40)}` : null;
  }

  #chargeBooking(): Posting {
    return this.world.postingOf('0', {
      scope: this.#scope(),
      amounts: this.#amounts(),
      depth: 1 + this.random.int(4),
      externalId: this.#externalId(),
    });
  }

  #expectCharge(posting: Posting): Expected {
    return this.#knownOr(posting, () => {
      const { scope, amounts, depth, runId } = posting;
      const verdict = this.model.decide('run', scope, amounts, depth, this.nowMs);
      if (!verdict.allowed) {
        return { verdict: verdict.code, denied: verdict };
      }
      const entry = this.model.entryFor('run', { runId, atMs: this.nowMs, scope, amounts }, []);
      return {
        posted: { entry, marks: [] },
        apply: () => this.#finish(runId, scope, this.nowMs, amounts.usd),
      };
    });
  }

  #finish(runId: string, scope: Scope, atMs: number, cost: bigint): void {
    this.running = this.running.filter((run) => run.runId !== runId);
    this.finished.push({ runId, scope, atMs, cost });
  }

  async #charge(): Promise<string> {
    const posting = this.#chargeBooking();
    const said = await this.#book(posting, this.#expectCharge(posting));
    return `charge ${posting.amounts.usd} ${brief(posting.scope)}: ${said}`;
  }

  #expectOpen(posting: Posting): Expected {
    return this.#knownOr(posting, () => {
      const { scope, amounts, depth, runId } = posting;
      const verdict = this.model.decide('run', scope, amounts, depth, this.nowMs);
      if (!verdict.allowed) {
        return { verdict: verdict.code, denied: verdict };
      }
      return {
        posted: { marks: [] },
        apply: ({ hold }) => {
          expect(paidOf(hold?.packs ?? [])).toEqual(verdict.packs);
          this.running.push({ runId, holdId: this.#remember(hold as Hold).id, scope });
        },
      };
    });
  }

  async #open(): Promise<string> {
    const charge = this.#chargeBooking();
    const holdSeconds = this.random.of([60, 900, 86_400]);
    const posting: Posting = { ...charge, kind: 'open', decisionId: this.world.ids.next('dec'), holdSeconds };
    const said = await this.#book(posting, this.#expectOpen(posting));
    return `open ${posting.amounts.usd} ${brief(posting.scope)}: ${said}`;
  }

  /**
   * The scope of a run that names a decision: mostly that of the decision, sometimes fewer, more or different
   * fields.
   */
  #saidScope(hold: ModelHold | undefined): Scope {
    const held = hold?.scope ?? this.#scope();
    if (this.random.chance(12)) {
      return { ...held, [this.random.of([...fixedByHold, ...openToRun, 'model'])]: 'other' };
    }
    return this.random.weighted([
      [2, held],
      [2, { ...held, provider: null, team: null, workflow: null, customer_id: null }],
      [1, { ...held, provider: held.provider ?? 'q', chain_id: held.chain_id ?? '2' }],
      [1, { ...held, tags: this.random.of([null, { env: 'other' }, { step: '2' }]), member_id: null }],
    ]);
  }

  /** Returns a hold, usually an open one without a run. */
  #someHold(): ModelHold | undefined {
    const all = [...this.model.holds.values()];
    const free = all.filter(({ endedAs, runId }) => endedAs === undefined && runId === null);
    const ended = all.filter(({ endedAs }) => endedAs !== undefined);
    const from = this.random.weighted([
      [14, free],
      [4, ended],
      [1, all],
      [1, []],
    ]);
    return from.length === 0 ? undefined : this.random.of(from);
  }

  #costOf(hold: ModelHold | undefined): Amounts {
    const held = hold?.amounts.usd ?? 1n;
    const dollars = this.random.weighted([
      [3, held],
      [5, held / BigInt(1 + this.random.int(5))],
      [4, held + BigInt(this.random.int(3_000_000_000))],
      [1, 0n],
    ]);
    return { ...this.#amounts(), usd: dollars };
  }

  /** Ends a decision by a run that names it, or by the run that was opened with it. */
  #expectSettle(posting: Posting): Expected {
    return this.#knownOr(posting, () => {
      const { decisionId, runId, scope: said, amounts, kind } = posting;
      const hold = this.model.holds.get(decisionId ?? '');
      if (hold === undefined) {
        return { verdict: 'unknown_decision' };
      }
      const ofAnother = hold.settledBy !== undefined || (hold.runId !== null && hold.runId !== runId);
      if (ofAnother && kind !== 'complete') {
        return { verdict: 'settled_already' };
      }
      const { scope: held } = hold;
      const contradicts =
        fixedByHold.some((field) => said[field] !== null && said[field] !== held[field]) ||
        openToRun.some(
          (field) => said[field] !== null && held[field] !== null && said[field] !== held[field],
        );
      if (contradicts) {
        return { verdict: 'contradiction' };
      }
      const scope = { ...held };
      for (const field of openToRun) {
        Object.assign(scope, { [field]: held[field] ?? said[field] });
      }
      if (said.tags !== null) {
        Object.assign(scope, { tags: { ...said.tags, ...held.tags } });
      }
      const isOpen = hold.endedAs === undefined;
      if (kind === 'adopt') {
        return {
          posted: { marks: [] },
          apply: (posted) => {
            expect(posted.hold?.id).toBe(isOpen ? hold.id : undefined);
            expect(posted.scope).toEqual(scope);
            this.running.push({ runId, holdId: hold.id, scope });
          },
        };
      }
      const marks = !isOpen ? ['late'] : amounts.usd > hold.amounts.usd ? ['over_hold'] : [];
      const entry = this.model.entryFor(
        'run',
        { runId, atMs: hold.atMs, scope, amounts },
        isOpen ? hold.packs : [],
      );
      return {
        posted: { entry, marks },
        apply: () => {
          hold.endedAs ??= 'settled';
          hold.settledBy ??= runId;
          this.#finish(runId, scope, hold.atMs, amounts.usd);
        },
      };
    });
  }

  #settleBooking(hold: ModelHold | undefined): Posting {
    return this.world.postingOf('0', {
      scope: this.#saidScope(hold),
      amounts: this.#costOf(hold),
      decisionId: hold?.id ?? 'dec_unknown',
      externalId: this.#externalId(),
    });
  }

  async #settle(): Promise<string> {
    const hold = this.#someHold();
    const posting = this.#settleBooking(hold);
    const said = await this.#book(posting, this.#expectSettle(posting));
    return `settle ${hold?.id} of ${hold?.amounts.usd} at ${posting.amounts.usd}: ${said}`;
  }

  async #adopt(): Promise<string> {
    const hold = this.#someHold();
    const posting: Posting = { ...this.#settleBooking(hold), kind: 'adopt' };
    const said = await this.#book(posting, this.#expectSettle(posting));
    return `adopt ${hold?.id}: ${said}`;
  }

  async #complete(): Promise<string> {
    if (this.running.length === 0) {
      return 'idle, nothing is running';
    }
    const run = this.random.of(this.running);
    const posting = this.world.postingOf('0', {
      kind: 'complete',
      runId: run.runId,
      decisionId: run.holdId,
      scope: run.scope,
      amounts: this.#costOf(this.model.holds.get(run.holdId)),
    });
    const said = await this.#book(posting, this.#expectSettle(posting));
    return `complete ${run.runId} at ${posting.amounts.usd}: ${said}`;
  }

  async #record(): Promise<string> {
    const [scope, amounts] = [this.#scope(), this.#amounts()];
    const atMs =
      this.nowMs +
      this.random.weighted([
        [2, 0],
        [3, -this.random.int(3_600) * 1_000],
        [4, -this.random.int(40 * 86_400) * 1_000],
        [2, this.random.int(300) * 1_000],
      ]);
    const posting = this.world.postingOf('0', { kind: 'record', scope, amounts, atMs });
    const entry = this.model.entryFor('record', { runId: posting.runId, atMs, scope, amounts }, []);
    await this.#book(posting, {
      posted: { entry, surface: 'record', marks: ['backfill'] },
      apply: () => undefined,
    });
    return `record ${amounts.usd} at ${new Date(atMs).toISOString()} ${brief(scope)}`;
  }

  async #adjust(): Promise<string> {
    if (this.finished.length === 0) {
      return 'idle, nothing to adjust';
    }
    const run = this.random.of(this.finished);
    const delta = this.random.chance(60)
      ? -(run.cost / BigInt(1 + this.random.int(3)))
      : BigInt(this.random.int(2_000_000_000));
    const { runId, scope, atMs } = run;
    const amounts = { usd: delta, tokens: 0n, requests: 0n };
    const posting = this.world.postingOf('0', { kind: 'adjust', runId, scope, atMs, amounts });
    const entry = this.model.correctionFor(runId, scope, delta, atMs);
    await this.#book(posting, {
      posted: { entry, marks: [] },
      apply: () => {
        run.cost += delta;
      },
    });
    return `adjust ${runId} by ${delta}`;
  }

  /**
   * Posts several postings together, all or none. A settlement comes last, because the amounts it releases are only
   * available after the commit.
   */
  async #bulk(): Promise<string> {
    const { model, random } = this;
    const postings: Posting[] = Array.from({ length: 1 + random.int(4) }, () => {
      const charge = this.#chargeBooking();
      return random.chance(30)
        ? { ...charge, kind: 'open' as const, decisionId: this.world.ids.next('dec') }
        : charge;
    });
    if (random.chance(50)) {
      postings.push(this.#settleBooking(this.#someHold()));
    }
    const result = await this.#post(postings);
    const before = {
      entries: model.entries.length,
      holds: new Map([...model.holds].map(([id, hold]) => [id, { ...hold }])),
      external: new Map(this.external),
      running: [...this.running],
      finished: this.finished.length,
    };
    for (const [index, posting] of postings.entries()) {
      const expected =
        posting.kind === 'open'
          ? this.#expectOpen(posting)
          : posting.decisionId === null
            ? this.#expectCharge(posting)
            : this.#expectSettle(posting);
      if ('verdict' in expected) {
        expect([verdictOf(result), result.kind === 'done' ? undefined : result.index]).toEqual([
          expected.verdict,
          index,
        ]);
        model.entries.length = before.entries;
        model.holds.clear();
        for (const [id, hold] of before.holds) {
          model.holds.set(id, hold);
        }
        this.external.clear();
        for (const [externalId, runId] of before.external) {
          this.external.set(externalId, runId);
        }
        this.running = before.running;
        this.finished.length = before.finished;
        return `bulk of ${postings.length}: ${expected.verdict} at ${index}`;
      }
      const outcome = result.kind === 'done' ? result.outcomes[index] : undefined;
      if (outcome !== undefined) {
        this.#compare({ kind: 'done', outcomes: [outcome] }, posting, expected);
      } else if ('posted' in expected) {
        // A later posting is denied: continue as if this one had been posted.
        this.#pretend(posting, expected);
      }
    }
    expect(verdictOf(result)).toBe('done');
    const entries = model.entries.slice(before.entries).map((entry) => ({ entry, surface: 'run' as const }));
    model.noteAlerts(entries, this.nowMs);
    return `bulk of ${postings.length}: done`;
  }

  #pretend(posting: Posting, expected: Extract<Expected, { posted: object }>): void {
    const { runId, scope, amounts, decisionId, externalId } = posting;
    if (externalId !== null) {
      this.external.set(externalId, runId);
    }
    if (expected.posted.entry !== undefined) {
      this.model.entries.push(expected.posted.entry);
    }
    if (posting.kind === 'open') {
      const verdict = this.model.decide('run', scope, amounts, posting.depth, this.nowMs);
      this.model.holds.set(decisionId ?? '', {
        id: decisionId ?? '',
        runId,
        surface: 'run',
        scope,
        amounts,
        growth: undefined,
        isPostedAtExpiry: false,
        atMs: this.nowMs,
        packs: verdict.allowed ? verdict.packs : [],
        expiresAtMs: 0,
        endedAs: undefined,
        settledBy: undefined,
      });
    }
  }

  async #void(): Promise<string> {
    const hold = this.#someHold();
    const { kind } = await this.world.ledger.void(this.orgId, hold?.id ?? 'dec_unknown');
    expect(kind).toBe(hold === undefined ? 'unknown' : hold.endedAs === undefined ? 'changed' : 'ended');
    if (hold !== undefined) {
      hold.endedAs ??= 'voided';
    }
    return `void ${hold?.id}: ${kind}`;
  }

  async #extend(): Promise<string> {
    const hold = this.#someHold();
    const seconds = this.random.of([30, 600, 5_000, 86_400]);
    const change = await this.world.ledger.extend(this.orgId, hold?.id ?? 'dec_unknown', seconds);
    if (change.kind === 'changed' && hold !== undefined) {
      const latest = Math.min(this.nowMs + seconds * 1_000, hold.atMs + 86_400_000);
      hold.expiresAtMs = Math.max(hold.expiresAtMs, latest);
      expect([change.hold.expiresAtMs, hold.endedAs]).toEqual([hold.expiresAtMs, undefined]);
    } else {
      expect(change.kind).toBe(hold === undefined ? 'unknown' : 'ended');
      expect(hold?.endedAs === undefined).toBe(hold === undefined);
    }
    return `extend ${hold?.id} by ${seconds}: ${change.kind}`;
  }

  async #expire(): Promise<string> {
    await this.world.expireAll();
    const due = this.model.openHolds.filter(({ expiresAtMs }) => expiresAtMs <= this.nowMs);
    for (const hold of due) {
      hold.endedAs = 'expired';
      if (hold.isPostedAtExpiry) {
        this.#postExpired(hold);
      }
    }
    return `expire ${due.length}`;
  }

  #postExpired(hold: ModelHold): void {
    const { scope, atMs, packs } = hold;
    const runId = hold.runId ?? '';
    // `LedgerWorld` posts the cost alone.
    const amounts = { ...hold.amounts, tokens: 0n };
    hold.settledBy = runId;
    const entry = this.model.entryFor('run', { runId, atMs, scope, amounts }, packs);
    this.model.post([{ entry, surface: 'run' }], this.nowMs);
    this.#count('posted_at_expiry');
  }

  /**
   * Settles, voids and expires one hold concurrently: the ledger decides which one wins, and the model follows. No
   * other hold is due then, because the order in which packs are released and burned would be undefined.
   */
  async #race(): Promise<string> {
    await this.#expire();
    const hold = this.random.of([...this.model.openHolds.filter(({ runId }) => runId === null), undefined]);
    if (hold === undefined) {
      return 'idle, nothing to race for';
    }
    if (this.random.chance(50)) {
      await this.#waitUntilDue(hold);
    }
    const posting = this.world.postingOf('0', {
      scope: hold.scope,
      amounts: this.#costOf(hold),
      decisionId: hold.id,
    });
    const [settled] = await Promise.all([
      this.#post([posting]),
      this.world.ledger.void(this.orgId, hold.id),
      this.world.ledger.expiry.expireDue(),
    ]);
    await this.#expire();
    const [end] = await findEnds(this.world.db, [this.orgId], [hold.id]);
    hold.endedAs = end?.ended_as === 'settled' ? undefined : end?.ended_as;
    const expected = this.#expectSettle(posting);
    this.#compare(settled, posting, expected);
    if ('posted' in expected && expected.posted.entry !== undefined) {
      this.model.noteAlerts([{ entry: expected.posted.entry, surface: 'run' }], this.nowMs);
    }
    return `race for ${hold.id}: ${end?.ended_as}`;
  }

  /** Advances the time until the hold is due, unless other holds are due at the same time. */
  async #waitUntilDue({ expiresAtMs }: ModelHold): Promise<void> {
    const together = this.model.openHolds.filter((other) => other.expiresAtMs === expiresAtMs);
    if (together.length === 1) {
      this.world.clock.advanceSeconds((expiresAtMs - this.nowMs) / 1_000 - 1);
      await this.#expire();
      this.world.clock.advanceSeconds(1);
    }
  }

  /** Sends the same request many times concurrently: as many are allowed as if they were sequential. */
  async #burst(): Promise<string> {
    const [scope, amounts] = [this.#scope(), this.#amounts()];
    const count = 5 + this.random.int(20);
    const results = await Promise.all(
      Array.from({ length: count }, () => this.world.hold(this.orgId, '0', { scope, amounts })),
    );
    const held = results.filter(({ kind }) => kind === 'held');
    for (const result of [...held, ...results.filter(({ kind }) => kind !== 'held')]) {
      await this.#admitted(result, this.model.decide('edge', scope, amounts, null, this.nowMs));
    }
    return `burst of ${count}: ${held.length} pass`;
  }

  async #wait(): Promise<string> {
    const { random } = this;
    this.world.clock.advanceSeconds(
      random.weighted([
        [6, random.int(120)],
        [5, random.int(3_600)],
        [4, random.int(20 * 3_600)],
        [1, random.int(35 * 86_400)],
      ]),
    );
    return `now ${this.world.clock.now().toISOString()}`;
  }

  #newLimit(): Limit {
    const { random } = this;
    const capacity = usd(String(4 + random.int(60)));
    const span = {
      kind: 'calendar',
      period: random.of(['day', 'day', 'week', 'month', 'quarter', 'year'] as const),
      timezone: random.of([null, null, ...zones]),
    } as const;
    const thresholds = random.chance(60) ? [50, 80, 100] : [];
    const common = { createdAtMs: this.nowMs, thresholds, capacity };
    return random.weighted<() => Limit>([
      [
        2,
        () =>
          limitOf({ ...common, id: this.#id('cap'), kind: 'spend_cap', span: { ...span, period: 'day' } }),
      ],
      [
        2,
        () =>
          limitOf({
            ...common,
            id: this.#id('ppd'),
            kind: 'prepaid',
            capacity: capacity * 3n,
            span: lifetime,
          }),
      ],
      [
        3,
        () =>
          limitOf({
            ...common,
            id: this.#id('rlp'),
            kind: 'quota',
            unit: random.of(['tokens', 'requests'] as const),
            match: random.of([{}, { model: 'm' }, { key_id: 'key_1', department: 'd' }]),
            span: { kind: 'fixed', seconds: random.of([100, 3_600, 86_400]) },
            capacity: BigInt(20 + random.int(300)),
          }),
      ],
      [
        1,
        () =>
          limitOf({
            ...common,
            id: this.#id('plm'),
            kind: 'plan_runs',
            unit: 'requests',
            span: { ...span, period: 'month' },
            capacity: BigInt(20 + random.int(40)),
          }),
      ],
      [
        1,
        () =>
          limitOf({
            ...common,
            id: this.#id('plm'),
            kind: 'plan_tokens',
            unit: 'tokens',
            span: { ...span, period: 'month' },
            capacity: BigInt(300 + random.int(900)),
          }),
      ],
      [
        7,
        () =>
          limitOf({
            ...common,
            id: this.#id('bud'),
            kind: 'budget',
            match: random.of(budgetMatches),
            span,
            capacity: capacity * 2n,
            enforcement: random.chance(20) ? 'alert' : 'block',
          }),
      ],
      [
        4,
        () =>
          limitOf({
            ...common,
            id: this.#id('clm'),
            kind: 'customer',
            match: { customer_id: random.of([WILDCARD, WILDCARD, 'a', 'b']) },
            span,
          }),
      ],
      [
        1,
        () =>
          limitOf({
            ...common,
            id: this.#id('chn'),
            kind: 'chain_cost',
            match: { chain_id: WILDCARD },
            span: lifetime,
          }),
      ],
      [
        1,
        () =>
          limitOf({
            ...common,
            id: this.#id('chn'),
            kind: 'chain_depth',
            unit: 'requests',
            match: { chain_id: WILDCARD },
            span: lifetime,
            capacity: 3n,
            thresholds: [],
          }),
      ],
      [
        1,
        () =>
          limitOf({
            ...common,
            id: this.#id('chn'),
            kind: 'chain_tokens',
            unit: 'tokens',
            match: { chain_id: WILDCARD },
            span: lifetime,
            capacity: 500n,
          }),
      ],
      [
        6,
        () =>
          limitOf({
            ...common,
            id: this.#id('crp'),
            kind: 'credits',
            match: { customer_id: random.of(['a', 'b']) },
            span: lifetime,
            capacity: capacity / 12n,
            expiresAtMs: random.chance(40) ? null : this.nowMs + (60 + random.int(40 * 3_600)) * 1_000,
          }),
      ],
    ])();
  }

  async #insertLimit(): Promise<string> {
    const limit = this.#newLimit();
    const taken = this.model.limits.some(
      ({ kind, match, span }) =>
        kind === limit.kind &&
        (onlyOne.includes(kind) ||
          (kind === 'customer' &&
            match.customer_id === limit.match.customer_id &&
            JSON.stringify(span).split('"period"')[1]?.slice(0, 8) ===
              JSON.stringify(limit.span).split('"period"')[1]?.slice(0, 8))),
    );
    if (taken || this.model.limits.length >= 14) {
      return 'idle, no room for such a limit';
    }
    await this.world.insertLimit(this.orgId, limit);
    this.model.limits.push(limit);
    return `insert ${describe(limit)}`;
  }

  async #updateLimit(): Promise<string> {
    const { random } = this;
    if (this.model.limits.length === 0) {
      return 'idle, no limit to change';
    }
    const limit = random.of(this.model.limits);
    const scaled = (limit.capacity * BigInt(20 + random.int(250))) / 100n;
    const changed: Limit = random.weighted<Limit>([
      [5, { ...limit, capacity: scaled > 0n ? scaled : 1n }],
      [
        2,
        limit.kind === 'budget' ? { ...limit, enforcement: random.of(['block', 'alert'] as const) } : limit,
      ],
      [
        4,
        limit.kind === 'budget' && limit.span.kind === 'calendar'
          ? {
              ...limit,
              span: {
                ...limit.span,
                period: random.of(['day', 'week', 'month'] as const),
                timezone: random.of([null, 'UTC', 'Asia/Kathmandu']),
              },
            }
          : limit,
      ],
      [
        1,
        limit.kind === 'credits' ? { ...limit, expiresAtMs: this.nowMs + random.int(7_200) * 1_000 } : limit,
      ],
    ]);
    await this.world.updateLimit(this.orgId, changed);
    this.model.limits = this.model.limits.map((one) => (one.id === limit.id ? changed : one));
    return `update ${describe(changed)}`;
  }

  async #endLimit(): Promise<string> {
    if (this.model.limits.length === 0) {
      return 'idle, no limit to end';
    }
    const limit = this.random.of(this.model.limits);
    await this.world.endLimit(this.orgId, limit);
    this.model.limits = this.model.limits.filter(({ id }) => id !== limit.id);
    return `end ${limit.id}`;
  }

  /** Raises a limit, or one value of a limit with a wildcard, for a time that may end between two steps. */
  async #raise(): Promise<string> {
    const { random, nowMs } = this;
    const raisable = this.model.limits.filter(({ kind }) => raisableKinds.includes(kind));
    if (raisable.length === 0) {
      return 'idle, no limit to raise';
    }
    const limit = random.of(raisable);
    const amount = usd(String(1 + random.int(30)));
    const untilMs =
      nowMs + 1_000 * random.of([1, random.int(600), random.int(7_200), random.int(90 * 3_600)]);
    const value = this.model.valueOf(limit, this.#scope());
    const raise = { limitId: limit.id, amount, untilMs, value: random.chance(70) ? value : undefined };
    const end = await this.world.raise(this.orgId, raise);
    this.model.raises.push(raise);
    this.#ends.set(raise, end);
    this.#count('raised');
    return `raise ${limit.id} by ${amount} for ${raise.value} until ${untilMs}`;
  }

  async #endRaise(): Promise<string> {
    const active = this.model.raises.filter(({ untilMs }) => untilMs > this.nowMs);
    if (active.length === 0) {
      return 'idle, no raise to end';
    }
    const raise = this.random.of(active);
    await this.#ends.get(raise)?.();
    this.model.raises = this.model.raises.filter((one) => one !== raise);
    return `end the raise of ${raise.limitId}`;
  }

  async #changeZone(timezone: string): Promise<string> {
    await this.world.changeTimezone(this.orgId, timezone);
    this.model.timezone = timezone;
    return `zone ${timezone}`;
  }

  async #reopen(): Promise<string> {
    await this.world.reopen();
    return 'reopen';
  }

  async #tidy(): Promise<string> {
    await this.world.ledger.maintenance.evictCounters();
    return 'tidy';
  }

  /**
   * Restarts the ledger and its database: after a clean shutdown; on the embedded engine, all but the first time, after
   * a crash.
   */
  async restart(index: number): Promise<string> {
    if (engine === 'embedded' && index > 0) {
      await this.world.crash();
      return 'crash';
    }
    await this.world.restart();
    return 'restart';
  }

  /** The counters, holds and entries equal those of the model and are consistent with each other. */
  async check(): Promise<void> {
    const { model } = this;
    const { counters, holds } = await this.world.ledger.reads.inspect(this.orgId, async () => undefined);
    for (const { key, settled, held, growth } of counters) {
      const [, id, start, value] = /^([^@]*)@(\d+)(?::(.*))?$/.exec(key) ?? [];
      const limit = model.limits.find((one) => one.id === id);
      const isDefault = limit?.kind === 'customer' && limit.match.customer_id === WILDCARD;
      if (limit !== undefined && !(isDefault && model.hasOwnLimit(value))) {
        const window = model.window(limit, Number(start));
        const expected = [model.settled, model.held, model.growth].map((sum) =>
          sum.call(model, limit, value, window),
        );
        if (settled !== expected[0] || held !== expected[1] || growth !== expected[2]) {
          expect([key, settled, held, growth]).toEqual([key, ...expected]);
        }
      }
    }
    const open = (all: readonly { id: string; expiresAtMs: number; amounts: Amounts }[]) =>
      all
        .map(({ id, expiresAtMs, amounts }) => `${id} ${expiresAtMs} ${amounts.usd} ${amounts.tokens}`)
        .sort();
    expect(open(holds)).toEqual(open(model.openHolds));
    expect(await this.world.audit(this.orgId)).toEqual([]);
  }

  /** The entries of each run, and all usage, sum to the parts that were posted; what is left is unsplit. */
  async #checkParts(): Promise<void> {
    const { db } = this.world;
    const entries = await db.query<{ run_id: string; parts: string }>(
      `SELECT run_id, string_agg(parts, '') AS parts FROM ledger_entries WHERE org_id = $1 GROUP BY run_id`,
      [this.orgId],
    );
    for (const { run_id, parts } of entries) {
      expect(inOrder(sumOfParts(readParts(parts))), run_id).toEqual(
        inOrder(this.#partsOfRuns.get(run_id) ?? []),
      );
    }
    const all = sumOfParts(...this.#partsOfRuns.values());
    for (const table of ['ledger_entries', 'usage_rollups', 'usage_days', 'usage_totals']) {
      const kinds = await db.query<{ code: string; quantity: string; nanos: string }>(
        `SELECT split.code, sum(split.quantity) AS quantity, sum(split.nanos) AS nanos
           FROM ${table} CROSS JOIN LATERAL cost_parts(parts, usd_nanos) AS split
          WHERE org_id = $1 GROUP BY 1 HAVING sum(split.quantity) <> 0 OR sum(split.nanos) <> 0`,
        [this.orgId],
      );
      const read = kinds.map(({ code, quantity, nanos }) => ({
        code,
        quantity: BigInt(quantity),
        nanos: BigInt(nanos),
      })) as CostPart[];
      const usd = this.model.entries.reduce((sum, { amounts }) => sum + amounts.usd, 0n);
      expect(nanosOfParts(read), table).toBe(usd);
      expect(inOrder(read.filter(({ code }) => (code as string) !== unsplitCode)), table).toEqual(
        inOrder(all),
      );
    }
  }

  async checkFacts(): Promise<void> {
    const { db } = this.world;
    await this.#checkParts();
    const [sums] = await db.query<Record<string, bigint>>(
      `SELECT count(*) AS entries, coalesce(sum(usd_nanos), 0)::int8 AS usd, coalesce(sum(tokens), 0)::int8 AS tokens,
              coalesce(sum(uncovered_nanos), 0)::int8 AS uncovered, coalesce(sum(prepaid_nanos), 0)::int8 AS prepaid
         FROM ledger_entries WHERE org_id = $1`,
      [this.orgId],
    );
    const sum = (of: (entry: Entry) => bigint) =>
      this.model.entries.reduce((total, one) => total + of(one), 0n);
    expect(sums).toEqual({
      entries: BigInt(this.model.entries.length),
      usd: sum(({ amounts }) => amounts.usd),
      tokens: sum(({ amounts }) => amounts.tokens),
      uncovered: sum(({ uncovered }) => uncovered),
      prepaid: sum(({ prepaid }) => prepaid?.[1] ?? 0n),
    });
    for (const table of ['usage_rollups', 'usage_days', 'usage_totals']) {
      const [usage] = await db.query<Record<string, bigint>>(
        `SELECT coalesce(sum(usd_nanos), 0)::int8 AS usd, coalesce(sum(input_tokens + output_tokens), 0)::int8 AS tokens
           FROM ${table} WHERE org_id = $1`,
        [this.orgId],
      );
      expect(usage, table).toEqual({ usd: sums?.usd, tokens: sums?.tokens });
    }
    const rows = await db.query<{ counter_key: string; threshold: number }>(
      'SELECT counter_key, threshold FROM limit_alerts WHERE org_id = $1',
      [this.orgId],
    );
    const alerts = rows.map(({ counter_key, threshold }) => `${counter_key} ${threshold}`);
    const [events] = await db.query<{ count: bigint }>(
      `SELECT count(*) AS count FROM outbox WHERE tenant_id = $1 AND type = 'limit.threshold_reached'`,
      [this.orgId],
    );
    expect([...this.model.alertsDue].filter((alert) => !alerts.includes(alert))).toEqual([]);
    expect(alerts.filter((alert) => !this.model.alertsAllowed.has(alert))).toEqual([]);
    expect(events?.count).toBe(BigInt(alerts.length));
  }
}

/** Uneven parts, also of negative amounts. */
function splitOf({ amounts: { usd, tokens }, kind }: Posting): CostParts {
  if (kind === 'adjust') {
    return [{ code: 'j', quantity: 1n, nanos: usd }];
  }
  return [
    { code: 'i', quantity: tokens, nanos: usd / 3n },
    { code: 'o', quantity: tokens / 2n, nanos: usd / 7n },
    { code: codeOfUnit(`tool:${tokens % 4n}`), quantity: 1n, nanos: usd / 11n },
  ];
}

function inOrder(parts: CostParts): CostPart[] {
  return parts.toSorted((a, b) => (a.code < b.code ? -1 : 1));
}

function paidOf(takes: readonly { readonly key: string; readonly amount: bigint }[]): Paid[] {
  return takes.map(({ key, amount }): Paid => [key.slice(0, key.indexOf('@')), amount]);
}

function brief(scope: Scope): string {
  return Object.entries(scope)
    .filter(([name, value]) => value !== null && name !== 'key_id')
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(',');
}

function describe({ id, kind, match, span, capacity, enforcement }: Limit): string {
  return `${id} ${kind} ${JSON.stringify({ match, span, enforcement })} ${capacity}`;
}

const title = `${workloads} workloads of ${steps} steps agree with the model (seed %d)`;
test.each(seeds)(title, async (seed) => {
  const world = await LedgerWorld.open({ seed });
  const said = new Map<string, number>();
  let operations = 0;
  try {
    const missing = () =>
      [
        'credits',
        'late',
        'backfill',
        'denied',
        'bulk',
        'reduced',
        'increased',
        'raised',
        ...callWords,
      ].filter((word) => !said.has(word));
    // Adds seeds if a kind of outcome does not occur by chance.
    for (let i = 0; i < workloads || (i < workloadsMax && missing().length > 0); i += 1) {
      const workload = new Workload(world, await world.createOrg(), seed + i);
      await workload.begin();
      const done: string[] = [];
      try {
        for (let step = 0; step < steps; step += 1) {
          done.push(await workload.step());
          await workload.check();
          if (step % restartEvery === restartEvery - 1) {
            done.push(await workload.restart(Math.floor(step / restartEvery)));
            await workload.check();
          }
        }
        await workload.checkFacts();
      } catch (error) {
        process.stderr.write(`seed ${seed}, workload ${i}, after:\n${done.join('\n')}\n`);
        throw error;
      }
      operations += done.length;
      for (const [word, count] of workload.said) {
        said.set(word, (said.get(word) ?? 0) + count);
      }
    }
    // Every kind of outcome occurred: the workload did not only consist of denials.
    expect(missing()).toEqual([]);
    const outcomes = JSON.stringify(Object.fromEntries(said));
    process.stdout.write(
      `ledger workload on ${engine}, seed ${seed}: ${operations} operations, ${outcomes}\n`,
    );
  } finally {
    await world.close();
  }
});
