/**
 * `hold: paced` in real processes that share a budget, and are killed or stopped while 20 agents spend it. The output is hidden, and the provider,
 * which keeps its own bill, generates as fast as the pace allows.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import {
  type AgentOutput,
  agentBody,
  agentCostNanos,
  agentOutput,
  HiddenOutputProvider,
} from '../support/agent-calls.ts';
import { eventually } from '../support/eventually.ts';
import { addFigures } from '../support/figures.ts';
import { createGatewayProcesses, type GatewayProcesses } from '../support/gateway-processes.ts';
import { nanos, type SpendingOrg, spending, sum } from '../support/money.ts';
import { seedsOf } from '../support/seeds.ts';
import { seededRandom } from '../support/series.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { engine } from '../support/test-database.ts';

const { seeds } = seedsOf('gateway-agents-kill');

const sessions = 20;
/** Processes on PostgreSQL share their limits; the embedded engine has one. */
const processes = engine === 'postgres' ? 2 : 1;
/** A long lead, so that a busy machine is never later than it. */
const longLeadMs = 6_000;
const shortLeadMs = 1_000;
/** Longer than the short lead. */
const stoppedMs = 5_000;
const capUsd = '4';
/** Time for which a provider generates until it notices that its client has left. */
const noticeMs = 250;
const denialsToGiveUp = 2;

let world: GatewayProcesses | undefined;
let provider: HiddenOutputProvider | undefined;
afterEach(async () => {
  provider?.close();
  await world?.remove();
});

async function createAgentsOrg(url: string): Promise<SpendingOrg> {
  const { services, createOrg } = world as GatewayProcesses;
  const org = await createOrg({ hold: 'paced' });
  const money = spending(services[0] as ServiceProcess, org);
  const path = `/v1/orgs/${org.id}/connections`;
  const { json } = await money.send('GET', path);
  const { id } = json.data.find(({ kind }: { kind: string }) => kind === 'anthropic');
  const patched = await money.send('PATCH', `${path}/${id}`, { base_url: url, api_key: 'sk-mock' });
  expect(patched.status).toBe(200);
  expect((await money.cap(capUsd)).status).toBe(200);
  return org;
}

type Disturb = (services: ServiceProcess[], index: number, org: SpendingOrg) => Promise<void>;

interface Spent {
  readonly billedNanos: bigint;
  readonly disturbed: number;
}

/** Lets 20 agents spend a budget, while processes are disturbed twice. Checks that no call is charged less than it was billed. */
async function spend(seed: number, leadMs: number, disturb: Disturb): Promise<Spent> {
  const outputs = new Map<string, AgentOutput>();
  provider = new HiddenOutputProvider({
    nowMs: () => performance.now(),
    outputOf: (name) => outputs.get(name) as AgentOutput,
    noticeMs,
  });
  const { billed } = provider;
  const running = () => (provider as HiddenOutputProvider).running;
  world = await createGatewayProcesses(processes, { SVC_GATEWAY_HOLD_LEAD_MS: String(leadMs) });
  const { services } = world;
  const org = await createAgentsOrg(await provider.listen());
  const advance = setInterval(() => provider?.advance(), 20);
  const figures = { calls: 0, cut: 0, denied: 0, killed: 0 };
  let isOver = false;

  async function session(number: number): Promise<void> {
    const random = seededRandom(seed * sessions + number);
    await pause(random() * 1_000);
    let denials = 0;
    for (let call = 1; denials < denialsToGiveUp; call += 1) {
      const name = `session-${number}-call-${call}`;
      outputs.set(name, agentOutput(random, 150, 450));
      const service = services[number % services.length] as ServiceProcess;
      const text = await fetch(`${service.url}/anthropic/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': org.key, 'content-type': 'application/json', 'x-svc-workflow': name },
        body: agentBody(name),
      }).then(
        (response) => response.text().catch(() => 'killed'),
        () => 'killed',
      );
      const isDenied = !running().has(name) && !billed.has(name);
      denials = isDenied && text !== 'killed' && running().size === 0 ? denials + 1 : 0;
      figures.calls += isDenied ? 0 : 1;
      figures.denied += isDenied && text !== 'killed' ? 1 : 0;
      figures.killed += !isDenied && text === 'killed' ? 1 : 0;
      figures.cut += !isDenied && text.includes('hold_denied') ? 1 : 0;
      await pause(isDenied ? 1_000 : 200);
    }
  }

  async function disturbTwice(): Promise<void> {
    const random = seededRandom(seed * sessions);
    for (let time = 0; time < 2; time += 1) {
      await pause(2_000 + random() * 6_000);
      // On a busy machine, no call may have begun by then.
      await eventually(() => expect(isOver || running().size > 0).toBe(true));
      if (!isOver) {
        await disturb(services, Math.floor(random() * services.length), org);
      }
    }
  }

  const disturbing = disturbTwice();
  await Promise.all(Array.from({ length: sessions }, (_, index) => session(index + 1)));
  isOver = true;
  await disturbing;
  clearInterval(advance);
  expect(running().size).toBe(0);

  const billedNanos = sum([...billed.values()].map(agentCostNanos));
  await world.expireHolds(org);
  const money = () => spending(world?.services[0] as ServiceProcess, org);
  await eventually(async () => expect(await money().holds()).toEqual([]));
  const runs = await money().runs();
  for (const [name, outputTokens] of billed) {
    const posted = sum(
      runs.filter(({ workflow }) => workflow === name).map(({ cost_usd }) => nanos(cost_usd ?? '0')),
    );
    expect(posted, name).toBeGreaterThanOrEqual(agentCostNanos(outputTokens));
  }
  const unmarked = runs.filter(({ marks }) => !marks.includes('over_hold'));
  expect(sum(unmarked.map(({ cost_usd }) => nanos(cost_usd ?? '0')))).toBeLessThanOrEqual(nanos(capUsd));
  await money().balanced();
  addFigures({
    ...figures,
    'over hold': runs.length - unmarked.length,
    'billed nanos': billedNanos,
    'budget nanos': nanos(capUsd),
  });
  return { billedNanos, disturbed: figures.killed };
}

test.each(seeds)(
  '20 agents are never billed more than their budget, with kill -9 (seed %d)',
  async (seed) => {
    const { billedNanos, disturbed } = await spend(seed, longLeadMs, async (services, index, org) => {
      expect(await services[index]?.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
      services[index] = await (world as GatewayProcesses).start();
      // While the calls of other processes, and soon those of this one, change the counters.
      await spending(services[index] as ServiceProcess, org).balanced();
    });
    expect(disturbed).toBeGreaterThan(0);
    expect(billedNanos).toBeLessThanOrEqual(nanos(capUsd));
  },
);

test.each(seeds.slice(0, 1))(
  'calls of a process that was stopped for longer than the lead are charged in full (seed %d)',
  async (seed) => {
    const { billedNanos } = await spend(seed, shortLeadMs, async (services, index) => {
      const { child } = (services[index] as ServiceProcess).spawned;
      child.kill('SIGSTOP');
      await pause(stoppedMs);
      child.kill('SIGCONT');
    });
    expect(billedNanos).toBeGreaterThan(0n);
  },
);
