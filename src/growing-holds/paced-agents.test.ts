/**
 * `hold: paced` for agents that share a budget, over many seeds, in simulated time: with one process and with two, which may be killed
 * or stopped. `gateway/paced-budgets.test.ts` has the same with the whole gateway.
 */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { addFigures } from '../../test/support/figures.ts';
import {
  goOnMs,
  noticeMs,
  type SimulatedAgents,
  type SimulatedSpend,
  simulateAgents,
  timesOf,
} from '../../test/support/paced-simulation.ts';
import { rounds } from '../../test/support/rounds.ts';
import { seedsOf } from '../../test/support/seeds.ts';
import { seededRandom } from '../../test/support/series.ts';

const { seeds } = seedsOf('gateway-agents');
/** Runs of each seed and kind: 102 of all kinds in the soak run. */
const runsPerSeed = rounds(1, 7);
const cases = seeds.flatMap((seed) => Array.from({ length: runsPerSeed }, (_, run) => seed + run));
const undisturbed = { killedAtMs: [], stoppedAtMs: [], goesOnMs: noticeMs };

// The simulation makes the steps of the holds.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  return () => void vi.useRealTimers();
});

async function spend(agents: SimulatedAgents): Promise<SimulatedSpend> {
  const result = await simulateAgents(agents);
  const { budget, billed, charged, overHold, ...figures } = result;
  addFigures({
    ...figures,
    'over hold': overHold,
    'billed of the budgets, %': Math.round((100 * billed) / budget),
  });
  expect(result.undercharged).toBe(0);
  expect(charged - overHold).toBeLessThanOrEqual(budget);
  expect(result.cut).toBeGreaterThan(0);
  return result;
}

describe('20 agents on a budget', () => {
  test.each(cases)('of one process are never billed or charged beyond it (seed %d)', async (seed) => {
    const result = await spend({ seed, processes: 1, ...undisturbed });
    expect(result.overHold).toBe(0);
    expect(result.billed).toBeLessThanOrEqual(result.budget);
    expect(result.billed).toBeGreaterThan(result.budget * 0.75);
  });

  test.each(cases)('of two processes are never billed or charged beyond it (seed %d)', async (seed) => {
    const result = await spend({ seed, processes: 2, ...undisturbed });
    expect(result.overHold).toBe(0);
    expect(result.billed).toBeLessThanOrEqual(result.budget);
  });

  test.each(cases)('are not billed beyond it when processes are killed (seed %d)', async (seed) => {
    const killedAtMs = timesOf(seededRandom(seed + 1), 2);
    const result = await spend({ ...undisturbed, seed, processes: 2, killedAtMs });
    expect(result.killed).toBeGreaterThan(0);
    expect(result.billed).toBeLessThanOrEqual(result.budget);
  });

  test.each(cases)(
    'are charged what a provider adds after a kill, which is marked beyond the budget (seed %d)',
    async (seed) => {
      const killedAtMs = timesOf(seededRandom(seed + 1), 2);
      const result = await spend({ ...undisturbed, seed, processes: 1, killedAtMs, goesOnMs: goOnMs });
      expect(result.killed).toBeGreaterThan(0);
      expect(result.billed - result.overHold).toBeLessThanOrEqual(result.budget);
    },
  );

  test.each(cases)(
    'are charged in full when a process is stopped for longer than the lead (seed %d)',
    async (seed) => {
      const stoppedAtMs = timesOf(seededRandom(seed + 1), 2);
      const result = await spend({ ...undisturbed, seed, processes: 2, stoppedAtMs });
      expect(result.billed - result.overHold).toBeLessThanOrEqual(result.budget);
    },
  );
});
