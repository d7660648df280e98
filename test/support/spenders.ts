/** Retrying clients that spend continuously through every operation, and record what was acknowledged. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { formatUsd } from '../../src/kernel/money.ts';
import { eventually } from './eventually.ts';
import { Random } from './ledger-values.ts';
import {
  countedBy,
  nanos,
  type OpenHoldView,
  type ReconciledView,
  type Spending,
  type SpendingOrg,
  spending,
  sum,
} from './money.ts';
import { type Patience, patientClients, retryAfterMs } from './patient-clients.ts';
import type { ServiceAnswer, ServiceProcess } from './service-process.ts';

export interface KnownHold {
  readonly id: string;
  readonly usd: bigint;
  expiresAtMs: number;
  /** The run that the hold was opened for or adopted by. */
  readonly runId: string | null;
  readonly customer: string | undefined;
}

export interface KnownRun {
  readonly id: string;
  readonly customer: string | undefined;
  /** Undefined while the run is in progress. */
  readonly usd: bigint | undefined;
}

/** Everything that the service acknowledged. */
export interface Acknowledged {
  /** Runs by external id. */
  readonly runs: Map<string, KnownRun>;
  /** Open holds that outlive the test. */
  readonly holds: Map<string, KnownHold>;
  /** Open holds that will expire. */
  readonly expiring: Map<string, KnownHold>;
  /** Decisions without a key whose response was lost, by workflow: their hold may exist. */
  readonly lost: Set<string>;
  readonly denials: Map<string, number>;
  /** Holds that were settled or voided. */
  readonly ended: Set<string>;
  /** Number of successful responses. */
  effects: number;
}

export interface Spenders extends Patience {
  readonly acknowledged: Acknowledged;
}

interface SpendersOptions {
  readonly org: SpendingOrg;
  readonly clients: number;
  readonly seed: number;
  /** The available services; each client prefers one of them. */
  readonly services: () => readonly ServiceProcess[];
  /** Passed to `patientClients`. */
  readonly tolerant?: boolean;
  /** Number of runs in a bulk request; by default there are no bulk requests. */
  readonly bulkRuns?: number;
}

const longSeconds = 3_600;

type Call = (through: ReturnType<typeof spending>) => Promise<ServiceAnswer>;

export function startSpenders({
  org,
  clients,
  seed,
  services,
  tolerant = false,
  bulkRuns = 0,
}: SpendersOptions): Spenders {
  const drawn = new Random(seed);
  const random = (below: number) => drawn.int(below);
  const acknowledged: Acknowledged = {
    runs: new Map(),
    holds: new Map(),
    expiring: new Map(),
    lost: new Set(),
    denials: new Map(),
    ended: new Set(),
    effects: 0,
  };
  /** Holds that are settled later, perhaps after several crashes. */
  const openHolds: KnownHold[] = [];
  let names = 0;
  const patient = patientClients(services, { tolerant });

  /** Returns undefined if a limit denies the request. */
  async function send(client: number, expected: number, call: Call, onLost?: () => void) {
    const answer = await patient.send(client, (service) => call(spending(service, org)), onLost);
    if (answer.status === 402 && expected !== 204) {
      acknowledged.denials.set(answer.code ?? '', (acknowledged.denials.get(answer.code ?? '') ?? 0) + 1);
      await pause(retryAfterMs);
      return undefined;
    }
    expect(answer.status, answer.text).toBe(expected);
    acknowledged.effects += 1;
    return answer;
  }

  function noteEnd(holdId: string): void {
    acknowledged.holds.delete(holdId);
    acknowledged.ended.add(holdId);
  }

  const newName = (what: string) => `${what} ${names++}`;
  const amount = () => BigInt(1 + random(40_000_000));
  const atMost = (usd: bigint) => (usd * BigInt(50 + random(51))) / 100n;
  const someCustomer = () => [undefined, 'limited', 'prepaying'][random(3)];
  const maybe = (name: string) => (random(2) === 0 ? name : undefined);
  const ofCustomer = (customer: string | undefined) =>
    customer === undefined ? {} : { customer_id: customer };

  async function decide(client: number, seconds: number, keyed: boolean): Promise<KnownHold | undefined> {
    const workflow = newName('decision');
    const [usd, customer] = [amount(), someCustomer()];
    const body = {
      estimated_cost_usd: formatUsd(usd),
      workflow,
      expires_in_seconds: seconds,
      ...ofCustomer(customer),
    };
    const answer = await send(
      client,
      200,
      (through) => through.decide(body, keyed ? workflow : undefined),
      () => keyed || acknowledged.lost.add(workflow),
    );
    if (answer === undefined) {
      return undefined;
    }
    const { decision_id, held_usd, expires_at } = answer.json;
    expect(held_usd).toBe(formatUsd(usd));
    const hold = { id: decision_id, usd, customer, expiresAtMs: Date.parse(expires_at), runId: null };
    (seconds < longSeconds ? acknowledged.expiring : acknowledged.holds).set(hold.id, hold);
    return hold;
  }

  /** Posts a finished run, which settles the hold if there is one. */
  async function charge(client: number, hold?: KnownHold): Promise<void> {
    const name = newName('run');
    const usd = hold === undefined ? amount() : atMost(hold.usd);
    const customer = hold === undefined ? someCustomer() : hold.customer;
    const body = {
      external_id: name,
      cost_usd: formatUsd(usd),
      ...(hold === undefined ? ofCustomer(customer) : { decision_id: hold.id }),
    };
    const key = maybe(name);
    const answer = await send(client, 201, (through) => through.run(body, key));
    if (answer === undefined) {
      return;
    }
    expect(answer.json).toMatchObject({ external_id: name, cost_usd: formatUsd(usd), marks: [] });
    if (hold !== undefined) {
      noteEnd(hold.id);
    }
    acknowledged.runs.set(name, { id: answer.json.id, usd, customer });
    if (random(4) === 0) {
      // Repeats an acknowledged request, as some clients do.
      const second = await send(client, 201, (through) => through.run(body, key));
      expect(second?.json.id).toBe(answer.json.id);
    }
  }

  /** Opens a run in progress, with a new hold or an earlier decision. */
  async function open(client: number, hold?: KnownHold): Promise<void> {
    const name = newName('run');
    const usd = hold?.usd ?? amount();
    const customer = hold === undefined ? someCustomer() : hold.customer;
    const body = {
      external_id: name,
      status: 'running',
      estimated_cost_usd: formatUsd(usd),
      expires_in_seconds: longSeconds,
      ...(hold === undefined ? ofCustomer(customer) : { decision_id: hold.id }),
    };
    const key = maybe(name);
    const answer = await send(client, 201, (through) => through.run(body, key));
    if (answer === undefined) {
      return;
    }
    const { id: runId, decision_id } = answer.json;
    acknowledged.runs.set(name, { id: runId, usd: undefined, customer });
    const opened = { id: decision_id, usd, customer, expiresAtMs: Number.POSITIVE_INFINITY, runId };
    acknowledged.holds.set(decision_id, opened);
    if (random(2) === 0) {
      openHolds.push(opened);
    } else {
      await complete(client, opened);
    }
  }

  async function complete(client: number, { id, runId, usd, customer }: KnownHold): Promise<void> {
    const name = [...acknowledged.runs].find(([, run]) => run.id === runId)?.[0] ?? '';
    const real = atMost(usd);
    // Without a key, a second attempt would be a conflict.
    const answer = await send(client, 200, (through) =>
      through.complete(runId ?? '', { cost_usd: formatUsd(real) }, `complete ${name}`),
    );
    expect(answer?.json).toMatchObject({ id: runId, cost_usd: formatUsd(real), marks: [] });
    noteEnd(id);
    acknowledged.runs.set(name, { id: runId ?? '', usd: real, customer });
  }

  /** Posts several runs, all or none. A repetition gets the same response by its key, and posts none of them again. */
  async function chargeMany(client: number): Promise<void> {
    const charges = Array.from({ length: bulkRuns }, () => {
      const [external_id, usd, customer] = [newName('run'), amount(), someCustomer()];
      return {
        usd,
        customer,
        run: { model: 'm', external_id, cost_usd: formatUsd(usd), ...ofCustomer(customer) },
      };
    });
    const body = { runs: charges.map(({ run }) => run) };
    const key = newName('bulk');
    const answer = await send(client, 201, (through) => through.send('POST', '/v1/runs/bulk', body, key));
    if (answer !== undefined) {
      expect(answer.json).toMatchObject({ accepted: bulkRuns, known: [] });
      for (const [index, { run, usd, customer }] of charges.entries()) {
        acknowledged.runs.set(run.external_id, { id: answer.json.runs[index].id, usd, customer });
      }
    }
  }

  const operations: readonly ((client: number) => Promise<void>)[] = [
    (client) => charge(client),
    (client) => charge(client),
    (client) => open(client),
    async function settle(client) {
      const hold = await decide(client, longSeconds, random(2) === 0);
      await (hold && charge(client, hold));
    },
    async function adopt(client) {
      const hold = await decide(client, longSeconds, true);
      await (hold && open(client, hold));
    },
    async function leave(client) {
      const hold = await decide(client, longSeconds, true);
      if (hold !== undefined) {
        openHolds.push(hold);
      }
    },
    async function letExpire(client) {
      await decide(client, 1, true);
    },
    async function letGo(client) {
      const hold = await decide(client, longSeconds, true);
      if (hold !== undefined) {
        await send(client, 204, (through) => through.void(hold.id, `void ${hold.id}`));
        noteEnd(hold.id);
      }
    },
    async function prolong(client) {
      const hold = await decide(client, longSeconds, true);
      if (hold !== undefined) {
        const answer = await send(client, 200, (through) =>
          through.extend(hold.id, 2 * longSeconds, `extend ${hold.id}`),
        );
        hold.expiresAtMs = Date.parse(answer?.json.expires_at);
        openHolds.push(hold);
      }
    },
    async function settleLeft(client) {
      const [hold] = openHolds.splice(random(Math.max(1, openHolds.length)), 1);
      await (hold && (hold.runId === null ? charge(client, hold) : complete(client, hold)));
    },
    async function settleLeftToo(client) {
      const [hold] = openHolds.splice(0, 1);
      await (hold && (hold.runId === null ? charge(client, hold) : complete(client, hold)));
    },
    ...(bulkRuns > 0 ? [chargeMany] : []),
  ];

  patient.start(clients, async (client) => operations[random(operations.length)]?.(client));
  return { ...patient, acknowledged };
}

/**
 * Checks, while nothing is spent, that the ledger is balanced and matches what was acknowledged. Returns the
 * reconciliation.
 */
export async function expectAcknowledged(
  through: Spending,
  { runs, holds, expiring, lost }: Acknowledged,
): Promise<ReconciledView> {
  const zeroRuns = await touchEveryCounter(through);
  const open = await withoutOverdue(through);
  const byId = new Map(open.map((hold) => [hold.decision_id, hold]));
  for (const { id, expiresAtMs } of holds.values()) {
    expect([...byId.keys()], 'an acknowledged hold').toContain(id);
    if (Number.isFinite(expiresAtMs)) {
      expect(Date.parse(byId.get(id)?.expires_at ?? ''), 'its expiry').toBe(expiresAtMs);
    }
  }
  for (const { decision_id, workflow, run_id } of open) {
    if (!holds.has(decision_id) && !expiring.has(decision_id)) {
      expect([...lost], `somebody knows of ${decision_id}, ${run_id}`).toContain(workflow);
    }
  }

  const view = await through.balanced();
  const spent = settledOf(runs.values());
  const of = (customer: string) => settledOf([...runs.values()].filter((run) => run.customer === customer));
  const ended = [...runs.values()].filter(({ usd }) => usd !== undefined).length;
  expect(view.totals.cost_usd.entries).toBe(formatUsd(spent));
  expect(view.totals.runs.entries).toBe(String(ended + zeroRuns));
  expect(countedBy(view, 'spend_cap').settled).toBe(spent);
  expect(countedBy(view, 'budget').settled).toBe(spent);
  expect(countedBy(view, 'customer').settled).toBe(of('limited'));
  // Decisions do not check credits, so a run that settles one may find none left.
  const uncovered = nanos(view.totals.uncovered_usd.entries);
  expect(countedBy(view, 'credits').settled + uncovered).toBe(of('prepaying'));
  expect(countedBy(view, 'spend_cap').held).toBeGreaterThanOrEqual(heldOf(holds.values()));
  return view;
}

/** Returns the open holds once overdue holds have been released. */
async function withoutOverdue(through: Spending): Promise<OpenHoldView[]> {
  return eventually(async () => {
    const open = await through.holds();
    const overdue = open.filter(({ expires_at }) => Date.parse(expires_at) < Date.now());
    expect(overdue, 'holds past their time').toEqual([]);
    return open;
  });
}

/** Checks that every acknowledged run is stored once and unchanged. */
export async function expectRuns(through: Spending, { runs }: Acknowledged): Promise<void> {
  const stored = (await through.runs()).filter(({ external_id }) => !external_id.startsWith(zeroRun));
  expect(stored.length).toBe(runs.size);
  for (const { id, external_id, cost_usd, status, marks } of stored) {
    const expected = runs.get(external_id);
    const usd = cost_usd === null ? undefined : nanos(cost_usd);
    expect({ id, usd, marks }).toEqual({ id: expected?.id, usd: expected?.usd, marks: [] });
    expect(status).toBe(expected?.usd === undefined ? 'running' : 'succeeded');
  }
}

const zeroRun = 'nothing of ';

/**
 * Posts zero-cost runs, which are always allowed, to create every counter; otherwise counters are created when needed.
 * Returns the number of runs.
 */
async function touchEveryCounter(through: Spending): Promise<number> {
  const customers = ['limited', 'prepaying'];
  for (const customer_id of customers) {
    const external_id = `${zeroRun}${customer_id}`;
    const { status, text } = await through.run({ external_id, cost_usd: '0', customer_id });
    expect(status, text).toBe(201);
  }
  return customers.length;
}

export function settledOf(runs: Iterable<KnownRun>): bigint {
  return sum([...runs].map(({ usd }) => usd ?? 0n));
}

export function heldOf(holds: Iterable<KnownHold>): bigint {
  return sum([...holds].map(({ usd }) => usd));
}

export interface SpendersLimits {
  readonly budget: bigint;
  readonly customer: bigint;
  readonly credits: bigint;
}

/** Creates the limits of these clients, in addition to a spend cap. */
export async function limitSpenders(through: Spending, orgId: string, limits: SpendersLimits): Promise<void> {
  const base = `/v1/orgs/${orgId}`;
  const made = [
    await through.send('POST', `${base}/budgets`, {
      name: 'all',
      scope_kind: 'org',
      period: 'year',
      limit_usd: formatUsd(limits.budget),
    }),
    await through.send('POST', `${base}/customer-limits`, {
      customer_id: 'limited',
      period: 'year',
      limit_usd: formatUsd(limits.customer),
    }),
    await through.send('POST', `${base}/credit-packs`, {
      customer_id: 'prepaying',
      amount_usd: formatUsd(limits.credits),
    }),
  ];
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
}
