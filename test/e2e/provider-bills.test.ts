/**
 * Random calls of two orgs that post unsettled holds, over HTTP, with crashed callers, late, unpriced and usage-less settlements
 * and restarts: the ledger never drifts, and posts what the providers billed, to the nanodollar.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatUsd, parseUsd } from '../../src/kernel/money.ts';
import { createWorld, type TestAnswer, type TestOrg, type World } from '../harness.ts';
import { Random } from '../support/ledger-values.ts';
import { type Call, ProviderBills } from '../support/provider-bills.ts';
import { rounds } from '../support/rounds.ts';
import { hasFixedSeeds, seedsOf } from '../support/seeds.ts';

const { seeds } = seedsOf('provider-bills');
const operations = rounds(200, 10_000);
const restartEvery = rounds(90, 1_000);
const reconcileEvery = rounds(100, 500);

/** Nanodollars per token, as the prices below say it. */
const nanosPerToken = { input: 2_000n, output: 8_000n };
const price = { input_usd_per_million: '2', output_usd_per_million: '8' };
const pricedModel = 'priced-model';
/** Gets its price only at the end. */
const unpricedModel = 'unpriced-model';

function costOf({ input, output }: Call['tokens']): bigint {
  return BigInt(input) * nanosPerToken.input + BigInt(output) * nanosPerToken.output;
}

class Customers {
  readonly bills = new ProviderBills();
  readonly budgets = new Map<string, (call: Call) => boolean>();
  constructor(readonly org: TestOrg) {}
}

class Simulation {
  readonly random: Random;
  readonly counts = new Map<string, number>();
  readonly all: Customers[] = [];
  #ids = 0;

  constructor(
    public world: World,
    seed: number,
  ) {
    this.random = new Random(seed);
  }

  send(org: TestOrg, method: string, path: string, body?: unknown): Promise<TestAnswer> {
    return this.world.request(method, path, { key: org.ownerKey, ...(body !== undefined && { body }) });
  }

  async begin(): Promise<void> {
    await this.#setPrice(pricedModel);
    for (let i = 0; i < 2; i += 1) {
      const org = await this.world.createOrg();
      const customers = new Customers(org);
      await this.send(org, 'PATCH', `/v1/orgs/${org.id}`, { on_unsettled: 'post_held' });
      const add = async (body: object, matches: (call: Call) => boolean) => {
        const budget = { name: `b${customers.budgets.size}`, period: 'month', ...body };
        const { json } = await this.send(org, 'POST', `/v1/orgs/${org.id}/budgets`, budget);
        customers.budgets.set(json.id, matches);
      };
      await add({ scope_kind: 'org', limit_usd: '100000' }, () => true);
      await add(
        { scope_kind: 'workflow', scope_id: 'a', limit_usd: '100000' },
        (call) => call.scope.workflow === 'a',
      );
      // Small enough to deny some requests.
      await add(
        { scope_kind: 'workflow', scope_id: 'b', limit_usd: String(operations / 2_000) },
        (call) => call.scope.workflow === 'b',
      );
      this.all.push(customers);
    }
  }

  async #setPrice(model: string): Promise<void> {
    const { status } = await this.world.request('PUT', `/v1/admin/models/${model}`, {
      key: this.world.operatorKey,
      body: price,
    });
    expect(status).toBe(200);
  }

  /** To add an operation, add a line. */
  async step(): Promise<void> {
    const customers = this.random.of(this.all);
    const [name, act] = this.random.weighted<[string, (of: Customers) => Promise<void>]>([
      [16, ['decide', (of) => this.#decide(of)]],
      [10, ['fit', (of) => this.#fit(of)]],
      [12, ['open', (of) => this.#open(of)]],
      [6, ['charge', (of) => this.#charge(of)]],
      [20, ['settle', (of) => this.#settle(of, 'open')]],
      [12, ['settle late', (of) => this.#settle(of, 'unsettled')]],
      [5, ['settle in bulk', (of) => this.#settleInBulk(of)]],
      [3, ['settle twice', (of) => this.#settleTwice(of)]],
      [4, ['void', (of) => this.#void(of)]],
      [3, ['extend', (of) => this.#extend(of)]],
      [8, ['increase', (of) => this.#increase(of)]],
      [5, ['adjust', (of) => this.#adjust(of)]],
      [10, ['expire', () => this.#expire()]],
    ]);
    await act(customers);
    this.#count(name);
    this.world.clock.advanceSeconds(1);
  }

  #newCall(): Call {
    const { random } = this;
    const tokens = { input: random.int(5_000), output: 1 + random.int(2_000) };
    const trueNanos = costOf(tokens);
    // Mostly enough, sometimes not: the real cost is posted whole either way.
    const heldNanos = (trueNanos * BigInt(80 + random.int(200))) / 100n + 1n;
    return {
      scope: {
        workflow: random.of(['a', 'a', 'b', null]),
        customer_id: random.of(['c', null]),
      },
      model: random.of([pricedModel, pricedModel, pricedModel, unpricedModel]),
      heldNanos,
      trueNanos,
      tokens,
      expiresAtMs: 0,
      decisionId: null,
      runId: null,
      state: 'open',
      postedNanos: 0n,
    };
  }

  #requestOf(call: Call) {
    return { ...this.#scopeOf(call), estimated_cost_usd: formatUsd(call.heldNanos) };
  }

  #scopeOf({ model, scope: { workflow, customer_id } }: Call) {
    return {
      model,
      expires_in_seconds: this.random.of([60, 120, 900]),
      ...(workflow !== null && { workflow }),
      ...(customer_id !== null && { customer_id }),
    };
  }

  #isDenied({ status, json }: TestAnswer): boolean {
    if (status !== 402) {
      return false;
    }
    expect(json.error.code).toBe('budget_exceeded');
    this.#count('denied');
    return true;
  }

  #count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  async #decide({ org, bills }: Customers): Promise<void> {
    const call = this.#newCall();
    const answer = await this.send(org, 'POST', '/v1/edge/decision', this.#requestOf(call));
    if (!this.#isDenied(answer)) {
      expect(answer.status).toBe(200);
      const { decision_id, expires_at } = answer.json;
      bills.add({ ...call, decisionId: decision_id, expiresAtMs: Date.parse(expires_at) });
    }
  }

  /** The provider stops at the number of output tokens that fits. */
  async #fit({ org, bills }: Customers): Promise<void> {
    const wish = { ...this.#newCall(), model: pricedModel };
    const answer = await this.send(org, 'POST', '/v1/edge/decision', {
      ...this.#scopeOf(wish),
      fit: true,
      input_tokens: wish.tokens.input,
      max_output_tokens: wish.tokens.output,
    });
    if (this.#isDenied(answer)) {
      return;
    }
    expect(answer.status).toBe(200);
    const { decision_id, expires_at, held_usd, max_output_tokens } = answer.json;
    this.#count(max_output_tokens < wish.tokens.output ? 'fitted' : 'fitted whole');
    const tokens = { input: wish.tokens.input, output: max_output_tokens };
    bills.add({
      ...wish,
      tokens,
      trueNanos: costOf(tokens),
      heldNanos: parseUsd(held_usd) as bigint,
      decisionId: decision_id,
      expiresAtMs: Date.parse(expires_at),
    });
  }

  async #increase({ org, bills }: Customers): Promise<void> {
    const call = this.#pick(bills, 'open');
    if (call === undefined) {
      return;
    }
    const nanos = BigInt(1 + this.random.int(20_000_000));
    const holds = this.random.of(['/v1/decisions', `/v1/orgs/${org.id}/holds`]);
    const path = `${holds}/${call.decisionId}/increase`;
    const answer = await this.send(org, 'POST', path, { cost_usd: formatUsd(nanos) });
    if (!this.#isDenied(answer)) {
      expect(answer.status, answer.text).toBe(200);
      call.heldNanos += nanos;
      expect(answer.json.held_usd).toBe(formatUsd(call.heldNanos));
    }
  }

  async #open({ org, bills }: Customers): Promise<void> {
    const call = this.#newCall();
    const body = { ...this.#requestOf(call), status: 'running' };
    const answer = await this.send(org, 'POST', '/v1/runs', body);
    if (!this.#isDenied(answer)) {
      expect(answer.status).toBe(201);
      const { id, decision_id, expires_at } = answer.json;
      bills.add({ ...call, runId: id, decisionId: decision_id, expiresAtMs: Date.parse(expires_at) });
    }
  }

  async #charge({ org, bills }: Customers): Promise<void> {
    const call = this.#newCall();
    const { estimated_cost_usd: _, expires_in_seconds: __, ...scope } = this.#requestOf(call);
    const body = { ...scope, cost_usd: formatUsd(call.trueNanos) };
    const answer = await this.send(org, 'POST', '/v1/runs', body);
    if (!this.#isDenied(answer)) {
      expect(answer.status).toBe(201);
      bills.add({ ...call, runId: answer.json.id, state: 'settled', postedNanos: call.trueNanos });
    }
  }

  /** Returns how a caller reports a call, and what is posted then. */
  #report(call: Call): { body: Record<string, unknown>; posted: Pick<Call, 'state' | 'postedNanos'> } {
    const settled = { state: 'settled', postedNanos: call.trueNanos } as const;
    const tokens = { input_tokens: call.tokens.input, output_tokens: call.tokens.output };
    const how = this.random.weighted([
      [5, 'cost'],
      [5, 'tokens'],
      [1, 'nothing'],
      [1, 'failed'],
    ]);
    switch (how) {
      case 'cost':
        return { body: { cost_usd: formatUsd(call.trueNanos) }, posted: settled };
      case 'tokens':
        return call.model === pricedModel
          ? { body: tokens, posted: settled }
          : { body: tokens, posted: { state: 'unpriced', postedNanos: call.heldNanos } };
      case 'nothing':
        // Nobody will ever know the real cost: the held amount stands for it.
        return { body: {}, posted: { state: 'settled', postedNanos: call.heldNanos } };
      default:
        return { body: { status: 'failed', cost_usd: '0' }, posted: { state: 'settled', postedNanos: 0n } };
    }
  }

  async #settle({ org, bills }: Customers, state: Call['state']): Promise<void> {
    const call = this.#pick(bills, state);
    if (call === undefined) {
      return;
    }
    const { body, posted } = this.#report(call);
    await this.#settleWith(org, call, body, posted);
  }

  async #settleWith(
    org: TestOrg,
    call: Call,
    body: Record<string, unknown>,
    posted: Pick<Call, 'state' | 'postedNanos'>,
  ): Promise<void> {
    const wasLate = call.state === 'unsettled';
    const answer =
      call.runId === null
        ? await this.send(org, 'POST', '/v1/runs', {
            model: call.model,
            decision_id: call.decisionId,
            ...(this.random.chance(50) && { external_id: this.#externalId() }),
            ...body,
          })
        : await this.send(org, 'POST', `/v1/runs/${call.runId}/complete`, body);
    expect(answer.status, answer.text).toBe(call.runId === null ? 201 : 200);
    expect(answer.json.cost_usd).toBe(formatUsd(posted.postedNanos));
    expect(answer.json.marks.includes('late')).toBe(wasLate);
    Object.assign(call, posted, { runId: answer.json.id });
  }

  #externalId(): string {
    this.#ids += 1;
    return `call-${this.#ids}`;
  }

  #pick(bills: ProviderBills, ...states: Call['state'][]): Call | undefined {
    const found = bills.in(...states);
    return found.length === 0 ? undefined : this.random.of(found);
  }

  async #settleInBulk({ org, bills }: Customers): Promise<void> {
    const calls = bills.in('open', 'unsettled').filter(({ runId }) => runId === null);
    const some = calls.filter(() => this.random.chance(30)).slice(0, 8);
    const reports = some.map((call) => this.#report(call));
    const runs: unknown[] = some.map(({ model, decisionId }, index) => ({
      model,
      decision_id: decisionId,
      ...reports[index]?.body,
    }));
    const bad = { model: 'm', decision_id: 'dec_unknown', cost_usd: '1' };
    const { json, status } = await this.send(org, 'POST', '/v1/runs/bulk?on_error=skip', {
      runs: [...runs, bad],
    });
    expect([status, json.accepted, json.errors.length]).toEqual([201, some.length, 1]);
    for (const [index, call] of some.entries()) {
      Object.assign(call, reports[index]?.posted, { runId: json.runs[index].id });
    }
  }

  async #settleTwice({ org, bills }: Customers): Promise<void> {
    const call = this.#pick(bills, 'settled', 'unpriced');
    if (call?.decisionId != null) {
      const body = { model: call.model, decision_id: call.decisionId, cost_usd: '1' };
      expect((await this.send(org, 'POST', '/v1/runs', body)).status).toBe(409);
    }
  }

  async #void({ org, bills }: Customers): Promise<void> {
    const call = bills.in('open').find(({ runId }) => runId === null);
    if (call !== undefined) {
      const path = `/v1/orgs/${org.id}/holds/${call.decisionId}`;
      expect((await this.send(org, 'DELETE', path)).status).toBe(204);
      // The call was never made.
      bills.calls.splice(bills.calls.indexOf(call), 1);
    }
  }

  async #extend({ org, bills }: Customers): Promise<void> {
    const call = this.#pick(bills, 'open');
    if (call !== undefined) {
      const path = `/v1/orgs/${org.id}/holds/${call.decisionId}/extend`;
      const { json, status } = await this.send(org, 'POST', path, { seconds: 300 });
      expect(status).toBe(200);
      call.expiresAtMs = Date.parse(json.expires_at);
    }
  }

  /** A correction by hand. If it corrects the held amount, the late settlement replaces it. */
  async #adjust({ org, bills }: Customers): Promise<void> {
    const call = this.#pick(bills, 'settled', 'unsettled');
    if (call?.runId != null) {
      const nanos = call.postedNanos / 2n;
      const path = `/v1/runs/${call.runId}/adjustments`;
      const body = { amount_usd: `-${formatUsd(nanos)}`, reason: 'a discount' };
      if (nanos > 0n) {
        expect((await this.send(org, 'POST', path, body)).status).toBe(201);
        call.postedNanos -= nanos;
      }
    }
  }

  async #expire(): Promise<void> {
    this.world.clock.advanceSeconds(this.random.of([20, 60, 120]));
    await this.world.runJob('expire-holds');
    for (const { bills } of this.all) {
      bills.expire(this.world.clock.now().getTime());
    }
  }

  async restart(): Promise<void> {
    this.world = await this.world.restart(this.random.of(['stop', 'crash']));
  }

  /** Settles most of what is open, sets the missing price and corrects what waited for it. */
  async end(): Promise<void> {
    this.world.clock.advanceSeconds(86_400);
    await this.world.runJob('expire-holds');
    await this.#setPrice(unpricedModel);
    for (const { org, bills } of this.all) {
      bills.expire(this.world.clock.now().getTime());
      expect(bills.in('open')).toEqual([]);
      for (const call of bills.in('unsettled').filter(() => this.random.chance(70))) {
        const cost_usd = formatUsd(call.trueNanos);
        await this.#settleWith(org, call, { cost_usd }, { state: 'settled', postedNanos: call.trueNanos });
      }
      for (const call of bills.in('unpriced')) {
        const { status, text } = await this.send(org, 'POST', `/v1/runs/${call.runId}/reprice`);
        expect(status, text).toBe(201);
        Object.assign(call, { state: 'settled', postedNanos: call.trueNanos });
      }
    }
  }

  async reconcile(): Promise<void> {
    for (const { org, bills, budgets } of this.all) {
      const { json } = await this.send(org, 'GET', `/v1/orgs/${org.id}/ledger/reconciliation`);
      expect(json).toMatchObject({ balanced: true, drift_usd: '0' });
      expect(json.totals.cost_usd.entries).toBe(formatUsd(bills.total()));
      const limits = await this.send(org, 'GET', `/v1/orgs/${org.id}/limits?kind=budget&limit=200`);
      for (const [id, matches] of budgets) {
        const limit = limits.json.data.find((one: { id: string }) => one.id === id);
        const open = bills.in('open').filter(matches);
        expect(limit.standing).toMatchObject({
          settled: formatUsd(bills.total(matches)),
          held: formatUsd(open.reduce((sum, { heldNanos }) => sum + heldNanos, 0n)),
        });
      }
    }
  }

  /** Compares each run with its call. */
  async compareRuns(): Promise<void> {
    for (const { org, bills } of this.all) {
      const posted = new Map<string, bigint>();
      let cursor: string | null = '';
      while (cursor !== null) {
        const page = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const { json } = await this.send(org, 'GET', `/v1/runs?limit=200${page}`);
        for (const run of json.data) {
          const adjusted = run.adjustment_usd as string;
          const sign = adjusted.startsWith('-') ? -1n : 1n;
          const nanos = (parseUsd(run.cost_usd) ?? 0n) + sign * (parseUsd(adjusted.replace('-', '')) ?? 0n);
          posted.set(run.decision_id ?? run.id, nanos);
        }
        cursor = json.next_cursor;
      }
      const billed = new Map(bills.calls.map((call) => [call.decisionId ?? call.runId, call.postedNanos]));
      expect(new Map([...posted].sort())).toEqual(new Map([...billed].sort()));
    }
  }
}

describe.each(seeds)('random calls (seed %d)', (seed) => {
  let simulation: Simulation;
  beforeAll(async () => {
    simulation = new Simulation(await createWorld(), seed);
    await simulation.begin();
  });
  afterAll(() => simulation.world.close());

  test('are posted as the providers billed them', async () => {
    for (let done = 1; done <= operations; done += 1) {
      await simulation.step();
      if (done % reconcileEvery === 0) {
        await simulation.reconcile();
      }
      if (done % restartEvery === 0) {
        await simulation.restart();
      }
    }
    await simulation.end();
    await simulation.reconcile();
    await simulation.compareRuns();
    // Each operation was really tried.
    const tried = [
      'settle late',
      'settle in bulk',
      'adjust',
      'void',
      'expire',
      'increase',
      'fitted',
      'denied',
    ];
    for (const name of hasFixedSeeds ? tried : []) {
      expect(simulation.counts.get(name) ?? 0, name).toBeGreaterThan(0);
    }
  });
});
