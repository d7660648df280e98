/**
 * `kill -9` again and again on the same data, while money is spent through every operation and orgs and keys are
 * created. After every kill, acknowledged and retried effects exist exactly once, holds stay held, no limit is
 * exceeded, and the ledger balances to the last digit.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { formatUsd } from '../../src/kernel/money.ts';
import { type Administrators, startAdministrators } from '../support/administrators.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { Random } from '../support/ledger-values.ts';
import {
  createSpendingOrg,
  nanos,
  type ReconciledView,
  type SpendingOrg,
  spending,
} from '../support/money.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { seedsOf } from '../support/seeds.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import {
  expectAcknowledged,
  expectRuns,
  heldOf,
  limitSpenders,
  type Spenders,
  settledOf,
  startSpenders,
} from '../support/spenders.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

/** On PostgreSQL half of the kills end one of two processes while the other keeps running. */
const kills = engine === 'postgres' ? 10 : rounds(2, 20);
const killsOfOneOfTwo = rounds(1, 10);
const clients = { spending: 8, administrating: 4 };

/**
 * A seed determines the actions of clients and the times of kills. The order of concurrent requests depends on the
 * machine.
 */
const { seeds } = seedsOf('kill-nine');

/** Small enough to be reached. The cap grows with every round, the other limits do not. */
const capPerRound = nanos('0.3');
const limits = { budget: nanos('5'), customer: nanos('0.8'), credits: nanos('0.8') };

let place: Place;
let settings: Record<string, string>;
let services: ServiceProcess[] = [];
let org: SpendingOrg;
let spenders: Spenders;
let administrators: Administrators;
let cap = 0n;
let random: Random;

const first = () => services[0] as ServiceProcess;
const through = () => spending(first(), org);

async function begin(seed: number): Promise<void> {
  random = new Random(seed);
  place = await makePlace({ migrated: true });
  settings = { ...settingsOf(place), SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS: '1' };
  services = [await startPurser(settings)];
  org = await createSpendingOrg(first());
  await limitSpenders(through(), org.id, limits);
  cap = 0n;
  await raiseCap();
  spenders = startSpenders({ org, clients: clients.spending, seed, services: () => services });
  administrators = startAdministrators(clients.administrating, () => services);
}
afterEach(async () => {
  await endAllProcesses();
  await place?.remove();
});

async function raiseCap(): Promise<void> {
  cap += capPerRound;
  expect((await through().cap(formatUsd(cap))).status).toBe(200);
}

const quiet = () => Promise.all([spenders.quiet(), administrators.quiet()]);

function goOn(): void {
  spenders.goOn();
  administrators.goOn();
}

/** Waits for this many more responses to the spenders, and for a third as many to the administrators. */
async function answersMore(count: number): Promise<void> {
  const enough = spenders.answers() + count;
  const made = administrators.answers() + count / 3;
  // This loop has no deadline: if responses stop, the timeout of the test ends it.
  while (spenders.answers() < enough || administrators.answers() < made) {
    await pause(2);
  }
}

const title = `every acknowledged effect survives ${kills} kills, once, and no limit is overrun (seed %d)`;
// On PostgreSQL the test of two processes kills as well; the soak run has both.
test.runIf(engine === 'embedded' || isSoak).each(seeds)(title, async (seed) => {
  await begin(seed);
  for (let kill = 0; kill < kills; kill += 1) {
    await answersMore(15 + random.int(40));
    expect(await first().end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
    services = [];
    const isQuiet = quiet();
    services = [await startPurser(settings)];
    await isQuiet;
    await expectExactBooks();
    await raiseCap();
    goOn();
  }
  expect(spenders.cutOff(), 'requests that a kill cut off').toBeGreaterThanOrEqual(kills);
  expect(administrators.cutOff(), 'writes that a kill cut off').toBeGreaterThanOrEqual(kills);
  await finish();
});

describe.runIf(engine === 'postgres')('two processes on one database', () => {
  test.each(seeds)(`go on while one of them is killed, ${killsOfOneOfTwo} times (seed %d)`, async (seed) => {
    await begin(seed);
    services.push(await startPurser(settings));
    for (let kill = 0; kill < killsOfOneOfTwo; kill += 1) {
      await answersMore(15 + random.int(30));
      const dead = services.shift() as ServiceProcess;
      expect(await dead.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
      const restarted = startPurser(settings);
      // The remaining process serves all requests, and its ledger balances meanwhile.
      await answersMore(15);
      expectWithin(await through().balanced());
      await raiseCap();
      services.push(await restarted);
    }
    await quiet();
    await expectExactBooks();
    goOn();
    await finish();
  });
});

/**
 * Checks that settled plus held amounts are within every limit. No client here settles late or for more than its hold.
 */
function expectWithin(view: ReconciledView): void {
  const capacities: Record<string, bigint> = { spend_cap: cap, ...limits };
  for (const { kind, settled, held } of view.counters) {
    expect(nanos(settled) + nanos(held), kind).toBeLessThanOrEqual(capacities[kind] ?? 0n);
  }
}

async function expectExactBooks(): Promise<void> {
  expectWithin(await expectAcknowledged(through(), spenders.acknowledged));
  await administrators.expectAcknowledged(first());
}

/** Checks that every run is stored once, and that exactly the settled and held amounts are missing from the cap. */
async function finish(): Promise<void> {
  await Promise.all([spenders.stop(), administrators.stop()]);
  const { runs, holds, expiring, lost, denials: refusals } = spenders.acknowledged;
  process.stdout.write(
    `kill-nine: ${runs.size} runs, ${holds.size} open holds, ${administrators.answers()} orgs and keys, ` +
      `${spenders.cutOff()} and ${administrators.cutOff()} requests cut off, ` +
      `refused: ${JSON.stringify(Object.fromEntries(refusals))}\n`,
  );
  const isExpiring = ({ decision_id }: { decision_id: string }) => expiring.has(decision_id);
  const expired = async () => expect((await through().holds()).filter(isExpiring)).toEqual([]);
  await eventually(expired);
  for (const { decision_id, workflow } of await through().holds()) {
    if (lost.has(workflow ?? '') && !holds.has(decision_id)) {
      expect((await through().void(decision_id)).status).toBe(204);
    }
  }
  await expectExactBooks();
  await expectRuns(through(), spenders.acknowledged);

  const taken = settledOf(runs.values()) + heldOf(holds.values());
  const rest = nanos('0.01');
  expect((await through().cap(formatUsd(taken + rest))).status).toBe(200);
  const decide = (usd: bigint) => through().decide({ estimated_cost_usd: formatUsd(usd) });
  expect(await decide(rest + 1n)).toMatchObject({ status: 402, code: 'spend_cap_exceeded' });
  expect((await decide(rest)).json.limits).toMatchObject([{ kind: 'spend_cap', remaining: '0' }, {}]);
  expect(await decide(1n)).toMatchObject({ status: 402, code: 'spend_cap_exceeded' });
  await through().balanced();
  for (const service of services) {
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  }
  await administrators.expectExactBooks(place, org);
}
