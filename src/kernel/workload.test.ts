/**
 * The kernel under a random workload, compared step by step with a model that recomputes every sum. Settlements are
 * in progress while charges are admitted, and some are rolled back.
 */
import { expect, test } from 'vitest';
import { Model, type ModelHold, type Surface } from '../../test/support/ledger-model.ts';
import { limitOf, limitsOf, Random, scopeOf, usd } from '../../test/support/ledger-values.ts';
import { rounds } from '../../test/support/rounds.ts';
import { hasFixedSeeds, seedsOf } from '../../test/support/seeds.ts';
import {
  admit,
  applicableCounters,
  type Counter,
  type LimitWindow,
  type Reservation,
  releaseReservation,
  reserve,
} from './admission.ts';
import { admitUpTo, type Fit } from './fit.ts';
import { admitIncrease, reserveIncrease, undoIncrease } from './increase.ts';
import { type Amounts, type Limit, type OrgLimits, type Scope, WILDCARD } from './limits.ts';
import {
  commitSettlement,
  correct,
  emptyReservation,
  type PendingSettlement,
  prepareSettlement,
  rollBackSettlement,
} from './settlement.ts';

const { seeds } = seedsOf('kernel-workload');
const workloads = rounds(4, 40);
const steps = 250;

const lifetime = { kind: 'lifetime' } as const;

interface Booked {
  readonly runId: string;
  readonly scope: Scope;
  readonly atMs: number;
  cost: bigint;
}

interface UnderWay {
  readonly settlement: PendingSettlement;
  readonly before: Reservation;
  finish(): void;
  undo(): void;
}

class Workload {
  readonly random: Random;
  readonly model = new Model();
  readonly counters = new Map<string, Counter>();
  readonly takesOf = new Map<string, Reservation>();
  readonly runs: Booked[] = [];
  readonly limits: OrgLimits;
  /** Settlements between preparation and commit. */
  underWay: UnderWay[] = [];
  nowMs: number;
  #ids = 0;

  constructor(workloadSeed: number) {
    this.random = new Random(workloadSeed);
    this.nowMs = Date.parse('2026-10-24T20:00:00Z') + this.random.int(3 * 86_400_000);
    this.model.timezone = this.random.of(['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu']);
    this.model.limits = this.#makeLimits();
    this.limits = limitsOf(this.model.limits, this.model.timezone);
  }

  #makeLimits(): Limit[] {
    const { random } = this;
    const dollars = () => usd(String(8 + random.int(60)));
    const period = () => random.of(['day', 'week', 'month', 'quarter', 'year'] as const);
    const all: Limit[] = [
      limitOf({ id: 'cap', kind: 'spend_cap', capacity: dollars() }),
      limitOf({ id: 'ppd', kind: 'prepaid', capacity: usd('300'), span: lifetime }),
      limitOf({
        id: 'rlp',
        kind: 'quota',
        unit: random.of(['tokens', 'requests']),
        capacity: BigInt(20 + random.int(400)),
        span: { kind: 'fixed', seconds: random.of([60, 3_600, 86_400]) },
      }),
      limitOf({ id: 'pln', kind: 'plan_runs', unit: 'requests', capacity: BigInt(4 + random.int(30)) }),
      limitOf({ id: 'all', kind: 'customer', match: { customer_id: WILDCARD }, capacity: dollars() }),
      limitOf({ id: 'own', kind: 'customer', match: { customer_id: 'a' }, capacity: dollars() }),
      limitOf({
        id: 'chc',
        kind: 'chain_cost',
        match: { chain_id: WILDCARD },
        capacity: dollars(),
        span: lifetime,
      }),
      limitOf({
        id: 'chd',
        kind: 'chain_depth',
        match: { chain_id: WILDCARD },
        capacity: 3n,
        span: lifetime,
      }),
      limitOf({
        id: 'cht',
        kind: 'chain_tokens',
        unit: 'tokens',
        match: { chain_id: WILDCARD },
        capacity: 300n,
        span: lifetime,
      }),
    ];
    for (let i = 0; i < 5; i += 1) {
      const match = random.of([
        {},
        { department: 'd' },
        { workflow: 'w' },
        { deployment: 'x' },
        { model: 'm' },
      ]);
      const timezone = random.of([null, 'Pacific/Chatham', 'America/Havana']);
      all.push(
        limitOf({
          id: `bud${i}`,
          kind: 'budget',
          match,
          span: { kind: 'calendar', period: period(), timezone },
          capacity: dollars() * 2n,
          enforcement: random.chance(15) ? 'alert' : 'block',
        }),
      );
    }
    for (let i = 0; i < 7; i += 1) {
      all.push(
        limitOf({
          id: `crp${i}`,
          kind: 'credits',
          match: { customer_id: random.of(['b', 'c']) },
          span: lifetime,
          capacity: usd(String(1 + random.int(4))),
          createdAtMs: random.int(3),
          expiresAtMs: random.chance(60) ? null : this.nowMs + random.int(40) * 3_600_000,
        }),
      );
    }
    return all.filter(() => random.chance(75));
  }

  #scope(): Scope {
    const maybe = (...values: string[]) => (this.random.chance(50) ? this.random.of(values) : null);
    return scopeOf({
      model: this.random.of(['m', 'n']),
      department: maybe('d', 'e'),
      workflow: maybe('w'),
      deployment: maybe('x'),
      customer_id: maybe('a', 'b', 'b', 'c', 'c', 'z', WILDCARD),
      chain_id: maybe('1', '2', WILDCARD),
    });
  }

  #amounts(): Amounts {
    const { random } = this;
    const dollars = random.weighted([
      [1, 0n],
      [2, 1n],
      [12, BigInt(random.int(2_000_000_000))],
      [3, usd(String(random.int(8)))],
    ]);
    return { usd: dollars, tokens: BigInt(random.int(40)), requests: random.chance(90) ? 1n : 0n };
  }

  /** All limits exist from the start, so a window without a counter is empty. */
  #meet(surface: Surface, scope: Scope, atMs: number): readonly LimitWindow[] {
    const { counters: windows } = applicableCounters(this.limits, scope, atMs, surface);
    for (const { key, window } of windows) {
      if (!this.counters.has(key)) {
        this.counters.set(key, { settled: 0n, held: 0n, growth: 0n, alerted: 0, endMs: window.endMs });
      }
    }
    return windows;
  }

  /** No settlement may be in progress during a comparison, because the model has no intermediate state. */
  #land(): void {
    for (const one of this.underWay.splice(0)) {
      if (this.random.chance(75)) {
        commitSettlement(this.counters, one.settlement);
        one.finish();
      } else {
        rollBackSettlement(this.counters, one.settlement, one.before);
        one.undo();
      }
    }
  }

  step(): string {
    return this.random.weighted<() => string>([
      [10, () => this.#admit(this.random.of(['edge', 'run'] as const))],
      [6, () => this.#charge()],
      [8, () => this.#settle()],
      [3, () => this.#end()],
      [2, () => this.#record()],
      [3, () => this.#adjust()],
      [4, () => this.#wait()],
      [3, () => this.#overlap()],
      [5, () => this.#admitUpTo()],
      [5, () => this.#increase()],
    ])();
  }

  #decide(surface: 'edge' | 'run', scope: Scope, amounts: Amounts): { taken?: Reservation; said: string } {
    const depth = surface === 'run' ? 1 + this.random.int(4) : null;
    const charge = { scope, amounts, depth, atMs: this.nowMs };
    const windows = this.#meet(surface, scope, this.nowMs);
    const admission = admit(this.counters, {
      limits: this.limits,
      charge,
      windows,
      preFlight: true,
    });
    const expected = this.model.decide(surface, scope, amounts, depth, this.nowMs);
    if (admission.kind === 'denied') {
      expect(expected).toMatchObject({ allowed: false, code: admission.denial.code });
      return { said: admission.denial.code };
    }
    expect(expected).toEqual({
      allowed: true,
      packs: admission.packs.map(({ key, amount }) => [key.slice(0, -2), amount]),
    });
    const { shares } = applicableCounters(this.limits, scope, this.nowMs, surface);
    const taken = { shares, amounts, packs: admission.packs };
    reserve(this.counters, taken);
    for (const { limit, key } of windows) {
      const { settled, held } = this.counters.get(key) as Counter;
      if (limit.enforcement === 'block' && limit.kind !== 'credits' && amounts[limit.unit] > 0n) {
        expect(settled + held, `${key} after an admission`).toBeLessThanOrEqual(limit.capacity);
      }
    }
    return { taken, said: 'allowed' };
  }

  #admit(surface: 'edge' | 'run'): string {
    const [scope, amounts] = [this.#scope(), this.#amounts()];
    const { taken, said } = this.#decide(surface, scope, amounts);
    if (taken !== undefined) {
      this.#remember(surface, scope, taken);
    }
    return `${surface} ${amounts.usd}: ${said}`;
  }

  /** Admits as many units as fit, and expects the number that the model finds by trying each. */
  #admitUpTo(): string {
    const { random } = this;
    const surface = random.of(['edge', 'run'] as const);
    const scope = this.#scope();
    const [base, each] = [this.#amounts(), BigInt(random.int(300_000_000))];
    const atLeast = BigInt(random.int(4));
    const fit: Fit = {
      atLeast,
      atMost: atLeast + BigInt(random.int(60)),
      amountsOf: (units) => ({ ...base, usd: base.usd + units * each, tokens: base.tokens + units }),
    };
    const fitted = admitUpTo(
      this.counters,
      {
        limits: this.limits,
        charge: { scope, amounts: base, depth: null, atMs: this.nowMs },
        windows: this.#meet(surface, scope, this.nowMs),
        preFlight: true,
      },
      fit,
    );
    let expected = this.model.decide(surface, scope, fit.amountsOf(atLeast), null, this.nowMs);
    let most = atLeast;
    for (let units = atLeast + 1n; expected.allowed && units <= fit.atMost; units += 1n) {
      const verdict = this.model.decide(surface, scope, fit.amountsOf(units), null, this.nowMs);
      if (!verdict.allowed) {
        break;
      }
      [expected, most] = [verdict, units];
    }
    if (fitted.kind === 'denied') {
      expect(expected).toMatchObject({ allowed: false, code: fitted.denial.code });
      return `fit nothing: ${fitted.denial.code}`;
    }
    const packs = fitted.packs.map(({ key, amount }) => [key.slice(0, -2), amount] as const);
    expect([fitted.amounts, expected]).toEqual([fit.amountsOf(most), { allowed: true, packs }]);
    const { shares } = applicableCounters(this.limits, scope, this.nowMs, surface);
    const taken = { shares, amounts: fitted.amounts, packs: fitted.packs };
    reserve(this.counters, taken);
    this.#remember(surface, scope, taken);
    return `fit ${most} of ${fit.atMost}: ${most < fit.atMost ? 'reduced' : 'whole'}`;
  }

  #remember(surface: 'edge' | 'run', scope: Scope, taken: Reservation): void {
    this.#ids += 1;
    const id = `hold${this.#ids}`;
    this.takesOf.set(id, taken);
    this.model.holds.set(id, {
      id,
      runId: null,
      surface,
      scope,
      amounts: taken.amounts,
      growth: undefined,
      isPostedAtExpiry: false,
      atMs: this.nowMs,
      packs: taken.packs.map(({ key, amount }) => [key.slice(0, -2), amount]),
      expiresAtMs: 0,
      endedAs: undefined,
      settledBy: undefined,
    });
  }

  /** Increases an open hold, and undoes some of the increases, as if they could not be stored. */
  #increase(): string {
    const open = this.model.openHolds;
    if (open.length === 0) {
      return 'nothing to increase';
    }
    const hold = this.random.of(open);
    const { surface, scope, atMs } = hold;
    const before = this.takesOf.get(hold.id) as Reservation;
    const by = { ...this.#amounts(), requests: 0n };
    this.#meet(surface, scope, atMs);
    const admission = admitIncrease(this.counters, {
      limits: this.limits,
      scope,
      reservation: before,
      by,
      atMs,
      applicable: applicableCounters(this.limits, scope, atMs, surface),
    });
    const expected = this.model.decideIncrease(hold, by, this.nowMs);
    if (admission.kind === 'denied') {
      expect(expected).toMatchObject({ allowed: false, code: admission.denial.code });
      return `increase ${hold.id} by ${by.usd}: ${admission.denial.code}`;
    }
    reserveIncrease(this.counters, before, admission);
    if (this.random.chance(30)) {
      expect(undoIncrease(this.counters, admission.reservation, admission).amounts).toEqual(before.amounts);
      return `increase ${hold.id} by ${by.usd}: undone`;
    }
    this.takesOf.set(hold.id, admission.reservation);
    hold.amounts = admission.reservation.amounts;
    hold.packs = admission.reservation.packs.map(({ key, amount }) => [key.slice(0, -2), amount]);
    expect(expected).toEqual({ allowed: true, packs: hold.packs });
    return `increase ${hold.id} by ${by.usd}: increased`;
  }

  #charge(): string {
    const [scope, amounts] = [this.#scope(), this.#amounts()];
    const { taken, said } = this.#decide('run', scope, amounts);
    if (taken !== undefined) {
      const windows = this.#meet('run', scope, this.nowMs);
      const settlement = prepareSettlement(this.counters, {
        reservation: taken,
        windows,
        amounts,
        atMs: this.nowMs,
      });
      const runId = this.#run(scope, this.nowMs, amounts.usd);
      // The new charge is not among the holds of the model: live packs pay all of it, as admitted.
      const entry = this.model.entryFor('run', { runId, atMs: this.nowMs, scope, amounts }, []);
      this.#expectPaid(settlement, entry);
      commitSettlement(this.counters, settlement);
      this.model.post([{ entry, surface: 'run' }], this.nowMs);
    }
    return `charge ${amounts.usd}: ${said}`;
  }

  #run(scope: Scope, atMs: number, cost: bigint): string {
    this.#ids += 1;
    const runId = `run${this.#ids}`;
    this.runs.push({ runId, scope, atMs, cost });
    return runId;
  }

  #expectPaid(settlement: PendingSettlement, entry: ReturnType<Model['entryFor']>): void {
    expect(settlement.burned.map(({ key, amount }) => [key.slice(0, -2), amount]).sort()).toEqual(
      [...entry.packs].sort(),
    );
    expect(settlement.uncovered).toBe(entry.uncovered);
    expect(settlement.prepaid).toBe(entry.prepaid?.[1] ?? 0n);
  }

  #costOf({ amounts }: ModelHold): Amounts {
    const dollars = this.random.weighted([
      [3, amounts.usd],
      [5, amounts.usd / BigInt(1 + this.random.int(5))],
      [4, amounts.usd + BigInt(this.random.int(3_000_000_000))],
      [1, 0n],
    ]);
    return { ...this.#amounts(), usd: dollars };
  }

  #begin(hold: ModelHold): { settlement: PendingSettlement; amounts: Amounts } {
    const amounts = this.#costOf(hold);
    const reservation = this.takesOf.get(hold.id) as Reservation;
    const windows = this.#meet('run', hold.scope, hold.atMs);
    const settlement = prepareSettlement(this.counters, {
      reservation,
      windows,
      amounts,
      atMs: hold.atMs,
    });
    return { settlement, amounts };
  }

  #settle(): string {
    const open = this.model.openHolds;
    if (open.length === 0) {
      return 'nothing to settle';
    }
    const hold = this.random.of(open);
    const { settlement, amounts } = this.#begin(hold);
    const runId = this.#run(hold.scope, hold.atMs, amounts.usd);
    const entry = this.model.entryFor(
      'run',
      { runId, atMs: hold.atMs, scope: hold.scope, amounts },
      hold.packs,
    );
    this.#expectPaid(settlement, entry);
    commitSettlement(this.counters, settlement);
    hold.endedAs = 'settled';
    this.model.post([{ entry, surface: 'run' }], this.nowMs);
    return `settle ${hold.id} of ${hold.amounts.usd} at ${amounts.usd}`;
  }

  #end(): string {
    const open = this.model.openHolds;
    if (open.length === 0) {
      return 'nothing to end';
    }
    const hold = this.random.of(open);
    releaseReservation(this.counters, this.takesOf.get(hold.id) as Reservation);
    hold.endedAs = 'voided';
    return `void ${hold.id}`;
  }

  #record(): string {
    const [scope, amounts] = [this.#scope(), this.#amounts()];
    const atMs = this.nowMs - this.random.int(60 * 86_400_000);
    const windows = this.#meet('record', scope, atMs);
    const settlement = prepareSettlement(this.counters, {
      reservation: emptyReservation,
      windows,
      amounts,
      atMs,
    });
    const entry = this.model.entryFor('record', { runId: 'record', atMs, scope, amounts }, []);
    this.#expectPaid(settlement, entry);
    commitSettlement(this.counters, settlement);
    this.model.post([{ entry, surface: 'record' }], this.nowMs);
    return `record ${amounts.usd} at ${new Date(atMs).toISOString()}`;
  }

  #adjust(): string {
    if (this.runs.length === 0) {
      return 'nothing to adjust';
    }
    const run = this.random.of(this.runs);
    const delta = this.random.chance(60)
      ? -(run.cost / BigInt(1 + this.random.int(3)))
      : BigInt(this.random.int(2_000_000_000));
    const entry = this.model.correctionFor(run.runId, run.scope, delta, run.atMs);
    const earlier = this.model.entries.filter(({ runId }) => runId === run.runId);
    const burned = new Map<string, bigint>();
    for (const [id, amount] of earlier.flatMap(({ packs }) => packs)) {
      burned.set(`${id}@0`, (burned.get(`${id}@0`) ?? 0n) + amount);
    }
    const settlement = correct(this.counters, {
      windows: this.#meet('run', run.scope, run.atMs),
      amounts: { usd: delta, tokens: 0n, requests: 0n },
      atMs: run.atMs,
      burned: [...burned].map(([key, amount]) => ({ key, amount })).filter(({ amount }) => amount > 0n),
      uncovered: earlier.reduce((total, { uncovered }) => total + uncovered, 0n),
      prepaid: earlier.reduce((total, { prepaid }) => total + (prepaid?.[1] ?? 0n), 0n),
    });
    this.#expectPaid(settlement, entry);
    commitSettlement(this.counters, settlement);
    this.model.post([{ entry, surface: 'run' }], this.nowMs);
    run.cost += delta;
    return `adjust ${run.runId} by ${delta}`;
  }

  #wait(): string {
    const { random } = this;
    this.nowMs += random.weighted([
      [6, random.int(60_000)],
      [4, random.int(3_600_000)],
      [3, random.int(20 * 3_600_000)],
      [1, random.int(40 * 86_400_000)],
    ]);
    return `now ${new Date(this.nowMs).toISOString()}`;
  }

  /** Several concurrent settlements, with decisions in between that must see at least the final amounts as used. */
  #overlap(): string {
    const open = this.model.openHolds;
    const chosen = [...new Set([0, 1, 2].map(() => this.random.int(Math.max(1, open.length))))].flatMap(
      (index) => open[index] ?? [],
    );
    for (const hold of chosen) {
      const before = this.takesOf.get(hold.id) as Reservation;
      const { settlement, amounts } = this.#begin(hold);
      this.underWay.push({
        settlement,
        before,
        finish: () => {
          hold.endedAs = 'settled';
          const runId = this.#run(hold.scope, hold.atMs, amounts.usd);
          // The packs that pay were determined when the settlement was prepared.
          const packs = settlement.burned.map(({ key, amount }) => [key.slice(0, -2), amount] as const);
          const ppd = this.model.limits.find(({ kind }) => kind === 'prepaid');
          const entry = {
            runId,
            atMs: hold.atMs,
            scope: hold.scope,
            amounts,
            packs,
            uncovered: settlement.uncovered,
            prepaid: ppd && ([ppd.id, amounts.usd] as const),
          };
          this.model.post([{ entry, surface: 'run' as const }], this.nowMs);
        },
        undo: () => undefined,
      });
    }
    // A charge admitted now must fit whether the pending settlements commit or roll back.
    for (let i = 0; i < 3; i += 1) {
      const [scope, amounts] = [this.#scope(), this.#amounts()];
      const charge = { scope, amounts, depth: null, atMs: this.nowMs };
      const windows = this.#meet('run', scope, this.nowMs);
      const admission = admit(this.counters, {
        limits: this.limits,
        charge,
        windows,
        preFlight: true,
      });
      if (admission.kind === 'allowed') {
        expect(this.model.decide('run', scope, amounts, null, this.nowMs).allowed).toBe(true);
      }
    }
    this.#land();
    return `overlap of ${chosen.map(({ id }) => id).join()}`;
  }

  /** Every counter equals the sum of all events, to the nanodollar. */
  check(): void {
    for (const [key, { settled, held }] of this.counters) {
      const [, id, start, value] = /^([^@]*)@(\d+)(?::(.*))?$/.exec(key) ?? [];
      const limit = this.model.limits.find((one) => one.id === id) as Limit;
      const window = this.model.window(limit, Number(start));
      const expected = [this.model.settled(limit, value, window), this.model.held(limit, value, window)];
      if (settled !== expected[0] || held !== expected[1]) {
        expect([key, settled, held]).toEqual([key, ...expected]);
      }
    }
  }
}

const title = `${workloads} workloads of ${steps} steps agree with the model (seed %d)`;
test.each(seeds)(title, (seed) => {
  const said = new Map<string, number>();
  for (let i = 0; i < workloads; i += 1) {
    const workload = new Workload(seed + i);
    const done: string[] = [];
    try {
      for (let step = 0; step < steps; step += 1) {
        const what = workload.step();
        done.push(what);
        const verdict = what.split(' ')[0] ?? '';
        said.set(verdict, (said.get(verdict) ?? 0) + 1);
        for (const word of what.split(': ').slice(1)) {
          said.set(word, (said.get(word) ?? 0) + 1);
        }
        workload.check();
      }
    } catch (error) {
      process.stderr.write(`seed ${seed}, workload ${i}, after:\n${done.slice(-12).join('\n')}\n`);
      throw error;
    }
  }
  // The workload reached every kind of limit.
  const reached = [
    'allowed',
    'plan_limit_exceeded',
    'quota_exhausted',
    'spend_cap_exceeded',
    'budget_exceeded',
    'chain_budget_exceeded',
    'credits_exhausted',
    'settle',
    'adjust',
    'overlap',
    'reduced',
    'increased',
    'undone',
  ];
  expect([...said.keys()]).toEqual(expect.arrayContaining(hasFixedSeeds ? reached : []));
  process.stdout.write(`kernel workload: ${JSON.stringify(Object.fromEntries(said))}\n`);
});
