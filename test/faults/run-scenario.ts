/** Runs one scenario: clients spend, the fault is injected, the clients recover, and the ledger is compared with what they know. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { Random } from '../support/ledger-values.ts';
import { createSpendingOrg, nanos, spending } from '../support/money.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { limitSpenders, startSpenders } from '../support/spenders.ts';
import { churnCap, startChurners } from './churners.ts';
import type { FaultScenario, FaultWorld } from './fault-scenario.ts';
import type { SharedWorld } from './fault-worlds.ts';
import { compareChurn, compareSpending, type Differences } from './ledger-check.ts';

const clients = { spending: 8, churning: 6 };
const bulkRuns = 5;
/** The limits of a customer are reached soon, the others are not, so that the load goes on. */
const limits = { budget: nanos('4000'), customer: nanos('1'), credits: nanos('1') };
const capUsd = '5000';
const answersBefore = 60;
const answersAfter = 100;

export interface FaultFigures extends Differences {
  readonly acknowledged: number;
  readonly denied: number;
  /** Requests that were cut off without a response. */
  readonly cutOff: number;
  readonly internalErrors: number;
  readonly secondsUnavailable: number;
}

export interface Repetition {
  readonly rounds: number;
  readonly seed: number;
}

export async function runScenario<World extends FaultWorld>(
  shared: SharedWorld<World>,
  scenario: FaultScenario<World>,
  { rounds, seed }: Repetition,
): Promise<FaultFigures> {
  let services: readonly ServiceProcess[] = await alive(shared);
  const [first] = services as [ServiceProcess];
  const [org, churned] = [await createSpendingOrg(first), await createSpendingOrg(first, 'Churner')];
  expect((await spending(first, org).cap(capUsd)).status).toBe(200);
  expect((await spending(first, churned).cap(churnCap)).status).toBe(200);
  await limitSpenders(spending(first, org), org.id, limits);
  const current = () => services;
  const spenders = startSpenders({
    org,
    clients: clients.spending,
    seed,
    services: current,
    tolerant: true,
    bulkRuns,
  });
  const churners = startChurners(churned, clients.churning, current);
  const answers = () => {
    const crashed = services.find(({ spawned: { child } }) => child.exitCode !== null);
    if (crashed !== undefined) {
      throw new Error(`a process ended by itself: ${crashed.spawned.stderr().slice(-2_000)}`);
    }
    return spenders.answers() + churners.answers();
  };
  const answersMore = async (count: number) => {
    const enough = answers() + count;
    while (answers() < enough) {
      await pause(5);
    }
  };
  const world = {
    ...shared.parts,
    rounds,
    random: new Random(seed),
    orgId: org.id,
    answersMore,
    allRefused: () => spenders.allRefused(),
    get services() {
      return services;
    },
    set services(changed) {
      services = [...changed];
      shared.services.splice(0, shared.services.length, ...changed);
    },
  } as unknown as World;

  try {
    await answersMore(answersBefore);
    await scenario.inject(world);
    await answersMore(answersAfter);
    await Promise.all([spenders.quiet(), churners.quiet()]);
    const [through] = services as [ServiceProcess];
    const capacities = { spend_cap: nanos(capUsd), ...limits };
    const spent = await compareSpending(spending(through, org), spenders.acknowledged, capacities);
    const churn = await compareChurn(spending(through, churned), churners, nanos(churnCap));
    const denied = [...spenders.acknowledged.denials.values()].reduce((sum, count) => sum + count, 0);
    return {
      acknowledged: spenders.acknowledged.effects + churners.effects(),
      denied: denied + churners.denials(),
      lost: spent.lost + churn.lost,
      doubled: spent.doubled + churn.doubled,
      overspent: spent.overspent + churn.overspent,
      driftUsd: spent.driftUsd === '0' ? churn.driftUsd : spent.driftUsd,
      cutOff: spenders.cutOff() + churners.cutOff(),
      internalErrors: spenders.internalErrors() + churners.internalErrors(),
      secondsUnavailable: Math.max(spenders.longestWaitMs(), churners.longestWaitMs()) / 1_000,
    };
  } catch (error) {
    // The next scenario gets new processes: these may be frozen, or have a shifted clock.
    await Promise.all(services.map((service) => service.end('SIGKILL')));
    throw error;
  } finally {
    await Promise.all([spenders.abandon(), churners.abandon()]);
  }
}

/** Replaces processes that an earlier scenario has lost. */
async function alive<World extends FaultWorld>({
  services,
  parts,
}: SharedWorld<World>): Promise<readonly ServiceProcess[]> {
  for (const [index, { spawned }] of services.entries()) {
    if (spawned.child.exitCode !== null || spawned.child.signalCode !== null) {
      services[index] = await parts.start();
    }
  }
  return [...services];
}
