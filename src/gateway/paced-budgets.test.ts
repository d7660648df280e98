/**
 * `hold: paced` for 20 agents whose output is hidden, on a budget that ends in the middle, with the real gateway and the real ledger.
 * Time is simulated: it passes once the gateway has done all work that is due.
 */
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  type AgentOutput,
  agentBody,
  agentCostNanos,
  agentOutput,
  HiddenOutputProvider,
} from '../../test/support/agent-calls.ts';
import { eventually } from '../../test/support/eventually.ts';
import { addFigures } from '../../test/support/figures.ts';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { sum } from '../../test/support/money.ts';
import { seedsOf } from '../../test/support/seeds.ts';
import { seededRandom } from '../../test/support/series.ts';

const { seeds } = seedsOf('gateway-budgets');
const gateway = useGatewayWorld();

const sessions = 20;
const tickMs = 125;
const budgetUsd = 1.5;
/** A session gives up when it was denied as often in a row, and no call is running. */
const denialsToGiveUp = 2;
/** Time for which a provider generates until it notices that its client has left. */
const noticeMs = 250;

let nowMs = 0;
const sleeping = new Set<{ readonly untilMs: number; readonly wake: () => void }>();
const intervals = new Set<{ readonly everyMs: number; readonly run: () => void; dueMs: number }>();
let increasing = 0;
let outputs = new Map<string, AgentOutput>();
const provider = new HiddenOutputProvider({
  nowMs: () => nowMs,
  outputOf: (name) => outputs.get(name) as AgentOutput,
  noticeMs,
});
const usual = { set: globalThis.setInterval, clear: globalThis.clearInterval };

beforeAll(async () => {
  const url = await provider.listen();
  gateway.connections = [connectionTo(url, 'anthropic')];
  gateway.settings = { ...gateway.settings, hold: 'paced' };
  const { ledger } = gateway.world.services;
  const increase = ledger.increase.bind(ledger);
  ledger.increase = async (...call) => {
    increasing += 1;
    try {
      return await increase(...call);
    } finally {
      increasing -= 1;
    }
  };
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  globalThis.setInterval = ((run: () => void, everyMs: number) => {
    const interval = { run, everyMs, dueMs: nowMs + everyMs, unref: () => interval };
    intervals.add(interval);
    return interval;
  }) as unknown as typeof setInterval;
  globalThis.clearInterval = ((interval: never) => {
    if (!intervals.delete(interval)) {
      usual.clear(interval);
    }
  }) as typeof clearInterval;
});
afterAll(() => {
  vi.restoreAllMocks();
  [globalThis.setInterval, globalThis.clearInterval] = [usual.set, usual.clear];
  provider.close();
});

const wait = (ms: number) => new Promise<void>((wake) => sleeping.add({ untilMs: nowMs + ms, wake }));

function passTime(): void {
  nowMs += tickMs;
  provider.advance();
  for (const interval of intervals) {
    if (interval.dueMs <= nowMs) {
      interval.dueMs += interval.everyMs;
      interval.run();
    }
  }
  for (const sleeper of sleeping) {
    if (sleeper.untilMs <= nowMs) {
      sleeping.delete(sleeper);
      sleeper.wake();
    }
  }
}

/** Turns of the event loop without work after which all work that is due is done. */
const quietTurns = 4;

test.each(seeds)('20 agents are never billed more than their budget (seed %d)', async (seed) => {
  const random = seededRandom(seed);
  // A connection that no seed has learned about.
  gateway.connections = gateway.connections.map((one) => ({ ...one, id: `con_${seed}` }));
  gateway.world.clock.advanceSeconds(1);
  await gateway.capAbove(budgetUsd);
  const before = await gateway.spentNanos();
  outputs = new Map();
  const streaming = new Set<string>();
  const figures = { calls: 0, cut: 0, denied: 0 };
  let sending = 0;

  async function send(name: string): Promise<'whole' | 'cut' | 'denied'> {
    sending += 1;
    const response = await fetch(`${gateway.url}/anthropic/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.key, 'content-type': 'application/json', 'x-svc-workflow': name },
      body: agentBody(name),
    }).finally(() => {
      sending -= 1;
    });
    if (response.status === 402 && !provider.running.has(name) && !provider.billed.has(name)) {
      await response.text();
      return 'denied';
    }
    streaming.add(name);
    const text = await response.text().finally(() => streaming.delete(name));
    return text.includes('"end_turn"') ? 'whole' : 'cut';
  }

  async function session(number: number): Promise<void> {
    await wait(random() * 5_000);
    let denials = 0;
    for (let call = 1; denials < denialsToGiveUp || provider.running.size > 0; call += 1) {
      const name = `seed-${seed}-session-${number}-call-${call}`;
      outputs.set(name, agentOutput(random, 60, 150));
      const end = await send(name);
      denials = end === 'denied' ? denials + 1 : 0;
      figures.calls += end === 'denied' ? 0 : 1;
      figures.cut += end === 'cut' ? 1 : 0;
      figures.denied += end === 'denied' ? 1 : 0;
      await wait(end === 'denied' ? 10_000 : 1_000 + random() * 4_000);
    }
  }

  const isQuiet = () =>
    increasing === 0 &&
    sending === 0 &&
    streaming.size === provider.running.size &&
    [...streaming].every((name) => provider.running.has(name));
  let isOver = false;
  const ended = Promise.all(Array.from({ length: sessions }, (_, index) => session(index + 1))).then(() => {
    isOver = true;
  });
  while (!isOver) {
    for (let turns = 0; turns < quietTurns; turns = isQuiet() ? turns + 1 : 0) {
      await setImmediate();
    }
    passTime();
  }
  await ended;
  await eventually(async () => expect(await gateway.holds()).toBe(0));

  const billed = sum([...outputs.keys()].map(billedNanos));
  const budget = BigInt(Math.round(budgetUsd * 1e9));
  const runs = await gateway.world.db.query<{ workflow: string; marks: string[]; cost_nanos: string }>(
    'SELECT workflow, marks, cost_nanos::text FROM runs WHERE org_id = $1 AND starts_with(workflow, $2)',
    [gateway.org.id, `seed-${seed}-`],
  );
  for (const { workflow, cost_nanos } of runs) {
    expect(BigInt(cost_nanos), workflow).toBeGreaterThanOrEqual(billedNanos(workflow));
  }
  expect(runs.filter(({ marks }) => marks.includes('over_hold'))).toEqual([]);
  const charged = (await gateway.spentNanos()) - before;
  expect(charged).toBeLessThanOrEqual(budget);
  expect(billed).toBeLessThanOrEqual(budget);
  // The budget ended in the middle, and was used.
  expect(figures.denied).toBeGreaterThanOrEqual(sessions);
  expect(figures.cut).toBeGreaterThan(0);
  expect(Number(charged) / Number(budget)).toBeGreaterThan(0.9);
  addFigures({ ...figures, 'billed nanos': billed, 'charged nanos': charged, 'budget nanos': budget });
});

function billedNanos(name: string): bigint {
  const tokens = provider.billed.get(name);
  return tokens === undefined ? 0n : agentCostNanos(tokens);
}
