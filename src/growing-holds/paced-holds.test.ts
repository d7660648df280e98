import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { sampleWithSeed, seedsOf } from '../../test/support/seeds.ts';
import { tokensWithin } from '../kernel/pace.ts';
import type { StreamUsage } from '../kernel/providers/stream-usage.ts';
import type { PacedHold } from './paced-hold.ts';
import { PacedHolds } from './paced-holds.ts';

const { seeds } = seedsOf('gateway-pace');

const pace = { burstTokensPerSecond: 1_500, burstTokens: 2_000, sustainedTokensPerSecond: 500 };
const leadMs = 2_000;
const goOnMs = 30_000;
/** Time by which the process was stopped, which no timer has noticed. */
let stoppedMs = 0;
const nowMs = () => performance.now() + stoppedMs;

beforeEach(() => {
  stoppedMs = 0;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'performance'] });
});
afterEach(() => vi.useRealTimers());

/** A budget of output tokens, and the calls that run in it. */
class Budget {
  readonly holds = new PacedHolds({ leadMs, goOnMs, nowMs });
  readonly #tokens: number;
  readonly increaseMs: number;
  held = 0;
  settled = 0;
  increases = 0;

  constructor(tokens: number, increaseMs = 0) {
    this.#tokens = tokens;
    this.increaseMs = increaseMs;
  }

  take(tokens: number): boolean {
    const isAllowed = this.settled + this.held + tokens <= this.#tokens;
    this.held += isAllowed ? tokens : 0;
    return isAllowed;
  }

  /** Starts a call; returns undefined if it is denied. */
  start(maxOutputTokens: number, onDenied: () => void = () => undefined, answers = 1): PacedHold | undefined {
    const output = { pace, maxOutputTokens, answers };
    const heldTokens = this.holds.firstTokens(output);
    if (!this.take(heldTokens)) {
      return undefined;
    }
    const hold = this.holds.add({
      output,
      heldTokens,
      increase: async (tokens) => {
        this.increases += 1;
        if (this.increaseMs > 0) {
          await new Promise((resolve) => setTimeout(resolve, this.increaseMs));
        }
        return this.take(tokens);
      },
      onDenied,
    });
    hold.begin();
    return hold;
  }

  settle(hold: PacedHold, tokens: number): void {
    this.holds.remove(hold);
    this.held -= hold.heldTokens;
    this.settled += tokens;
  }
}

const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('a hold starts with the lead, follows the time by about one increase per second, and stops at the maximum', async () => {
  const budget = new Budget(1_000_000);
  const hold = budget.start(10_000) as PacedHold;
  expect(hold.heldTokens).toBe(3_000);
  await wait(10_000);
  expect(hold.heldTokens).toBeGreaterThanOrEqual(7_500);
  expect(hold.heldTokens).toBeLessThanOrEqual(8_000);
  expect(budget.increases).toBeLessThanOrEqual(10);
  await wait(60_000);
  expect(hold.heldTokens).toBe(10_000);
  expect(budget.held).toBe(10_000);
});

test('time before the call was sent does not count', async () => {
  const budget = new Budget(1_000_000);
  const hold = budget.holds.add({
    output: { pace, maxOutputTokens: 10_000, answers: 1 },
    heldTokens: 3_000,
    increase: async () => true,
    onDenied: () => undefined,
  });
  await wait(60_000);
  expect([hold.heldTokens, hold.generatedTokens]).toEqual([3_000, 0]);
  hold.begin();
  await wait(2_000);
  const held = hold.heldTokens;
  expect(held).toBeGreaterThanOrEqual(3_500);
  // Another attempt after one that was not charged: its time starts again.
  hold.begin();
  expect(hold.generatedTokens).toBe(3_000);
  // One in addition to an attempt that may be charged has a hold of its own.
  hold.addAttempt(3_000);
  expect(hold.heldTokens).toBe(held);
  hold.begin();
  expect(hold.heldTokens).toBe(3_000);
});

test('a denied increase is repeated while the hold suffices, and then ends the call within its hold', async () => {
  const onDenied = vi.fn();
  const budget = new Budget(4_000);
  const hold = budget.start(128_000, onDenied) as PacedHold;
  const startedMs = nowMs();
  while (onDenied.mock.calls.length === 0) {
    await wait(10);
  }
  expect(nowMs() - startedMs).toBeGreaterThan(2_000);
  expect(budget.held).toBeGreaterThan(3_800);
  expect(hold.generatedTokens).toBeLessThanOrEqual(hold.heldTokens);
  // The hold covers what the provider generates until it notices.
  await wait(500);
  expect(hold.generatedTokens).toBeLessThanOrEqual(hold.heldTokens);
  expect(onDenied).toHaveBeenCalledTimes(1);
});

test('a call continues if another one ends before its hold is used up', async () => {
  const onDenied = vi.fn();
  const budget = new Budget(6_100);
  const hold = budget.start(128_000, onDenied) as PacedHold;
  const other = budget.start(128_000) as PacedHold;
  await wait(1_100);
  budget.settle(other, 100);
  await wait(2_000);
  expect(onDenied).not.toHaveBeenCalled();
  expect(hold.heldTokens).toBeGreaterThan(4_000);
});

test('after the process was stopped for ten seconds, what may have been generated is charged, and the lead is longer', async () => {
  const budget = new Budget(3_500);
  const hold = budget.start(128_000) as PacedHold;
  stoppedMs = 10_000;
  expect(hold.generatedTokens).toBe(7_000);
  await wait(250);
  expect(budget.holds.leadMs).toBeGreaterThan(11_000);
  expect(budget.holds.firstTokens({ pace, maxOutputTokens: 128_000, answers: 1 })).toBeGreaterThan(7_500);
  await wait(60_000);
  expect(budget.holds.leadMs).toBeLessThan(2_200);
});

test('the hold and the bound of what follows a kill cover a provider that continues, whenever the process was killed', async () => {
  const budget = new Budget(1_000_000);
  const output = { pace, maxOutputTokens: 128_000, answers: 1 };
  const hold = budget.start(output.maxOutputTokens) as PacedHold;
  const unwatched = budget.holds.unwatchedTokens(output);
  for (let elapsedMs = 0; elapsedMs < 60_000; elapsedMs += 10) {
    expect(hold.heldTokens + unwatched).toBeGreaterThanOrEqual(tokensWithin(output, elapsedMs + goOnMs));
    await wait(10);
  }
});

test('output that arrives faster than the pace is held at once, and ends the stream if that is denied', async () => {
  const budget = new Budget(9_000);
  const hold = budget.start(128_000) as PacedHold;
  const usage = { outputBound: 0 };
  const { cover } = hold.coverageOf(usage as StreamUsage, () => false);
  expect(cover()).toBeUndefined();
  usage.outputBound = 8_000;
  expect(await cover()).toBe(true);
  expect(hold.heldTokens).toBe(8_000);
  usage.outputBound = 9_500;
  expect(await cover()).toBe(false);
});

test('output that can have been generated since the last arrived may be on its way', async () => {
  const hold = new Budget(100_000).start(128_000) as PacedHold;
  const usage = { outputBound: 0 };
  const { cover } = hold.coverageOf(usage as StreamUsage, () => false);
  await wait(2_000);
  const output = { pace, maxOutputTokens: 128_000, answers: 1 };
  expect(hold.outputBounds.unsentOutputTokens).toBe(tokensWithin(output, 2_000));
  usage.outputBound = 10;
  cover();
  expect(hold.outputBounds.unsentOutputTokens).toBe(0);
  await wait(500);
  // Nothing new has arrived.
  cover();
  expect(hold.outputBounds.unsentOutputTokens).toBe(tokensWithin(output, 500));
});

test('output that is always faster than the pace is held by the lead, not chunk by chunk', async () => {
  const budget = new Budget(1_000_000);
  const hold = budget.start(128_000) as PacedHold;
  const usage = { outputBound: 0 };
  const { cover } = hold.coverageOf(usage as StreamUsage, () => false);
  for (let chunks = 0; chunks < 1_000; chunks += 1) {
    usage.outputBound += 50;
    expect((await cover()) ?? true).toBe(true);
  }
  expect(hold.heldTokens).toBeGreaterThanOrEqual(50_000);
  expect(budget.increases).toBeLessThanOrEqual(20);
  // The provider may be as far ahead of what was received as it is usually.
  expect(hold.generatedTokens).toBeGreaterThanOrEqual(50_000);
  await wait(1_000);
  expect(hold.heldTokens).toBeGreaterThanOrEqual(50_500);
});

test('time between two attempts does not count', async () => {
  const onDenied = vi.fn();
  const budget = new Budget(4_000);
  const hold = budget.start(128_000, onDenied) as PacedHold;
  await wait(100);
  hold.fail();
  await wait(10_000);
  expect([hold.heldTokens, onDenied.mock.calls.length]).toEqual([3_000, 0]);
  hold.begin();
  await wait(10_000);
  expect(onDenied).toHaveBeenCalledTimes(1);
});

test('a call ends while the ledger does not answer, once its hold is used up', async () => {
  const onDenied = vi.fn();
  const output = { pace, maxOutputTokens: 128_000, answers: 1 };
  const holds = new PacedHolds({ leadMs, goOnMs, nowMs });
  let answer: (isIncreased: boolean) => void = () => undefined;
  const hold = holds.add({
    output,
    heldTokens: holds.firstTokens(output),
    increase: () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
    onDenied,
  });
  hold.begin();
  await wait(10_000);
  expect(onDenied).toHaveBeenCalledTimes(1);
  // Late, because the ledger was locked.
  answer(true);
  await wait(1_000);
  expect(onDenied).toHaveBeenCalledTimes(1);
  holds.remove(hold);
});

test('with fail open, a call continues while the ledger does not answer, and is charged what it can have generated', async () => {
  const onDenied = vi.fn();
  const output = { pace, maxOutputTokens: 128_000, answers: 1 };
  const holds = new PacedHolds({ leadMs, goOnMs, nowMs, isFailOpen: true });
  const heldTokens = holds.firstTokens(output);
  const hold = holds.add({ output, heldTokens, increase: () => new Promise(() => undefined), onDenied });
  hold.begin();
  await wait(10_000);
  expect([onDenied.mock.calls.length, hold.heldTokens]).toEqual([0, heldTokens]);
  expect(hold.generatedTokens).toBe(tokensWithin(output, 10_000));
  holds.remove(hold);
});

interface RunningCall {
  readonly hold: PacedHold;
  readonly denial: { readonly isDenied: boolean };
  readonly sentMs: number;
  readonly tokens: number;
  readonly perSecond: number;
}

describe('calls of all lengths, under a budget that ends in the middle', () => {
  test.each(seeds)('are never charged beyond it, nor less than was generated (seed %d)', async (seed) => {
    const values = fc.noBias(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }));
    const random = sampleWithSeed(seed, values, 20_000);
    let drawn = 0;
    const draw = () => random[drawn++ % random.length] as number;
    const budgetTokens = 30_000 + Math.floor(draw() * 30_000);
    const budget = new Budget(budgetTokens, 40);
    const running = new Set<RunningCall>();
    let cut = 0;
    for (let tick = 0; tick < 2_000; tick += 1) {
      if (running.size < 8 && draw() < 0.5) {
        const denial = { isDenied: false };
        const hold = budget.start(128_000, () => {
          denial.isDenied = true;
        });
        if (hold !== undefined) {
          running.add({
            hold,
            denial,
            sentMs: nowMs(),
            tokens: Math.ceil(200 * 300 ** draw()),
            // The fastest are as fast as the pace allows.
            perSecond: 50 + Math.floor(450 * draw() ** 3),
          });
        }
      }
      await wait(50);
      for (const call of running) {
        const { isDenied } = call.denial;
        // The provider continues for a moment after its connection was closed.
        const untilMs = nowMs() + (isDenied ? 200 : 0);
        const bill = Math.min(call.tokens, Math.ceil(((untilMs - call.sentMs) * call.perSecond) / 1_000));
        if (bill === call.tokens || isDenied) {
          const charged = isDenied ? call.hold.generatedTokens : bill;
          expect(charged).toBeGreaterThanOrEqual(bill);
          budget.settle(call.hold, charged);
          running.delete(call);
          cut += isDenied ? 1 : 0;
        }
      }
      expect(budget.settled + budget.held).toBeLessThanOrEqual(budgetTokens);
    }
    for (const { hold } of running) {
      budget.holds.remove(hold);
    }
    expect(cut).toBeGreaterThan(0);
    expect(budget.settled).toBeGreaterThan(budgetTokens * 0.9);
  });
});
