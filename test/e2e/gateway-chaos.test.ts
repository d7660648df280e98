/**
 * Many calls through the gateway of real processes, with clients that leave, providers that fail and break off, and processes that
 * are stopped and killed. Each call is compared with the bill of the provider: equal if its usage was reported, never below.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { formatUsd } from '../../src/kernel/money.ts';
import { eventually } from '../support/eventually.ts';
import { type Outcome, type PlannedCall, planCalls, sendPlanned } from '../support/gateway-calls.ts';
import {
  billedByCall,
  createGatewayProcesses,
  type GatewayProcesses,
  numberOf,
  type PostedCall,
  postedByCall,
} from '../support/gateway-processes.ts';
import type { Fault } from '../support/mock-provider.ts';
import { type SpendingOrg, spending, sum } from '../support/money.ts';
import { rounds } from '../support/rounds.ts';
import { seedsOf } from '../support/seeds.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { engine } from '../support/test-database.ts';

const callCount = rounds(160, 10_000);
/** Alternately with SIGTERM and SIGKILL. */
const restarts = rounds(2, 20);
const callsAtOnce = 24;
const processes = engine === 'postgres' ? 2 : 1;
const { seeds } = seedsOf('gateway-chaos');

let world: GatewayProcesses;
afterEach(() => world?.remove());

test.each(seeds)(
  `of ${callCount} calls with aborts, faults and restarts none is charged less than the provider bills, and none that fits is refused (seed %d)`,
  async (seed) => {
    world = await createGatewayProcesses(processes);
    const orgs = {
      drain: await world.createOrg({ on_abort: 'drain' }),
      close: await world.createOrg({ on_abort: 'close' }),
    };
    for (const org of Object.values(orgs)) {
      expect((await spending(world.services[0] as ServiceProcess, org).cap('1000')).status).toBe(200);
    }
    const plans = planCalls(seed, callCount);
    const controllers = new Map<number, AbortController>();
    playPlans(plans, controllers);

    const waiting = [...plans];
    const outcomes = new Map<number, Outcome>();
    /** Calls whose process was killed while it may have worked on them. */
    const throughKilled = new Set<number>();
    const service = async (number: number) => {
      for (;;) {
        const found = world.services[number % world.services.length];
        if (found !== undefined) {
          return found;
        }
        await pause(10);
      }
    };
    const usedBy = new Map<ServiceProcess, Set<number>>();
    const work = async () => {
      for (let plan = waiting.shift(); plan !== undefined; plan = waiting.shift()) {
        const abort = new AbortController();
        controllers.set(plan.number, abort);
        const next = async () => {
          const chosen = await service(plan.number);
          expect(chosen.spawned.child.exitCode, chosen.spawned.stderr()).toBeNull();
          usedBy.set(chosen, (usedBy.get(chosen) ?? new Set()).add(plan.number));
          return chosen.url;
        };
        outcomes.set(plan.number, await sendPlanned(next, orgs[plan.onAbort], plan, abort));
      }
    };
    const working = Promise.all(Array.from({ length: callsAtOnce }, work));
    for (let restart = 1; restart <= restarts; restart += 1) {
      const left = callCount - (restart * callCount) / (restarts + 1);
      while (waiting.length > left) {
        await pause(5);
      }
      const signal = restart % 2 === 0 ? 'SIGTERM' : 'SIGKILL';
      const stopped = world.services.shift() as ServiceProcess;
      if (signal === 'SIGKILL') {
        // The settlement of a call is on disk before its response ends.
        const isOpen = (number: number) => outcomes.get(number)?.kind !== 'answered';
        for (const number of [...(usedBy.get(stopped) ?? [])].filter(isOpen)) {
          throughKilled.add(number);
        }
      }
      const ending = await stopped.end(signal);
      expect(ending).toEqual(signal === 'SIGTERM' ? { code: 0, signal: null } : { code: null, signal });
      world.services.push(await world.start());
    }
    await working;
    for (const org of Object.values(orgs)) {
      await settle(org);
    }

    const billed = billedByCall(world.provider.bill);
    const first = world.services[0] as ServiceProcess;
    const figures: string[] = [];
    for (const [onAbort, org] of Object.entries(orgs)) {
      const posted = await postedByCall(first, org);
      const ofOrg = plans.filter((plan) => plan.onAbort === onAbort);
      const problems = ofOrg.flatMap((plan) => {
        const { number } = plan;
        const isKilled = throughKilled.has(number);
        const problem = problemOf(
          plan,
          outcomes.get(number),
          posted.get(number),
          billed.get(number) ?? 0n,
          isKilled,
        );
        return problem === undefined ? [] : [{ problem, plan, outcome: outcomes.get(number) }];
      });
      expect(problems).toEqual([]);
      const { counters } = await spending(first, org).balanced();
      const postedNanos = sum([...posted.values()].map(({ costNanos }) => costNanos));
      expect(counters.map(({ settled, held }) => [settled, held])).toEqual([[formatUsd(postedNanos), '0']]);
      const billedNanos = sum(ofOrg.map(({ number }) => billed.get(number) ?? 0n));
      const count = (mark: string) => [...posted.values()].filter(({ marks }) => marks.includes(mark)).length;
      figures.push(
        `${onAbort}: ${ofOrg.length} calls, billed $${formatUsd(billedNanos)}, posted $${formatUsd(postedNanos)}, ` +
          `${count('usage_estimated')} estimated, ${count('unsettled')} at the held amount`,
      );
    }
    const kinds = [...outcomes.values()].map(({ kind }) => kind);
    const counted = ['answered', 'left', 'lost'].map(
      (kind) => `${kinds.filter((one) => one === kind).length} ${kind}`,
    );
    process.stdout.write(
      `gateway-chaos: ${counted.join(', ')}, ${restarts} restarts; ${figures.join('; ')}\n`,
    );
  },
  // Thousands of calls take longer than other tests on a busy machine.
  3_600_000,
);

/** Lets the provider follow the plan of each call, by the number in its prompt. */
function playPlans(plans: readonly PlannedCall[], controllers: ReadonlyMap<number, AbortController>): void {
  const { provider } = world;
  const byNumber = new Map(plans.map((plan) => [plan.number, plan]));
  const attempts = new Map<number, number>();
  provider.outputOf = (request) => byNumber.get(numberOf(request))?.output ?? 0;
  provider.beforeChunk = (index) => (index % 5 === 0 ? pause(2) : Promise.resolve());
  provider.fault = (request): Fault | undefined => {
    const number = numberOf(request);
    const plan = byNumber.get(number);
    const attempt = (attempts.get(number) ?? 0) + 1;
    attempts.set(number, attempt);
    if (plan?.leaves === 'before') {
      controllers.get(number)?.abort();
    }
    return plan === undefined || attempt > plan.faultyAttempts ? undefined : plan.fault;
  };
}

/** Waits until the calls in progress have ended; then lets the holds of killed processes expire. */
async function settle(org: SpendingOrg): Promise<void> {
  for (const service of world.services) {
    await eventually(async () =>
      expect((await service.request('GET', '/metrics')).text).toMatch(
        /svc_gateway_calls_in_progress 0\n.*svc_gateway_settlements_pending 0\n/s,
      ),
    );
  }
  await world.expireHolds(org);
}

/** Returns a text about what is wrong with a call; undefined if nothing is. */
function problemOf(
  plan: PlannedCall,
  outcome: Outcome | undefined,
  posted: PostedCall | undefined,
  billedNanos: bigint,
  isThroughKilled: boolean,
): string | undefined {
  const { status, costNanos, marks } = posted ?? { status: 'none', costNanos: 0n, marks: [] };
  if (status === 'running' && !marks.includes('unsettled')) {
    return 'still running';
  }
  if (costNanos < billedNanos) {
    return `posted ${costNanos}, billed ${billedNanos}`;
  }
  if (marks.includes('unsettled')) {
    return isThroughKilled ? undefined : 'posted at the held amount although its process was not killed';
  }
  const isEstimable = plan.isBrokenOff || (plan.onAbort === 'close' && plan.leaves !== undefined);
  if (marks.includes('usage_estimated')) {
    return isEstimable ? undefined : 'estimated although the usage was reported';
  }
  if (costNanos !== billedNanos) {
    return `posted ${costNanos}, billed ${billedNanos}, without a mark`;
  }
  if (outcome?.kind === 'lost') {
    // A process that stops may close a kept connection while a request is on its way.
    return undefined;
  }
  return outcome?.kind === 'answered' && outcome.status !== plan.status
    ? `answered ${outcome.status} ${outcome.text}, expected ${plan.status}`
    : undefined;
}
