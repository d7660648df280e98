import { expect, test } from 'vitest';
import type { StreamCoverage } from '../growing-holds/stream-coverage.ts';
import type { StreamUsage } from '../kernel/providers/stream-usage.ts';
import type { AdmittedCall } from './admit-call.ts';
import { createHoldCoverage } from './hold-coverage.ts';
import type { CallPlan } from './plan-call.ts';

const plan = {
  maxOutputTokens: 8_192,
  settings: { hold: 'expected' },
  call: { isStream: true },
  showsOutput: true,
} as unknown as CallPlan;
/** Tokens that may be on their way when a stream is ended. */
const inFlight = 512;

/** A stream with a first hold, under a limit that allows `available` more tokens. */
function stream(firstHold: number, available: number) {
  const usage = { outputBound: 0 };
  const increases: number[] = [];
  let left = available;
  const admitted = { runId: 'run_1', decisionId: 'dec_1', maxOutputTokens: firstHold } as AdmittedCall;
  const coverage = createHoldCoverage(async (_, __, by) => {
    const tokens = 'output_tokens' in by ? by.output_tokens : by.tokens;
    increases.push(tokens);
    const isAllowed = tokens <= left;
    left -= isAllowed ? tokens : 0;
    return isAllowed;
  })({ orgId: 'org_1', plan, admitted }, usage as StreamUsage) as StreamCoverage;
  return {
    increases,
    coverage,
    /** Returns false if the stream has to be ended. */
    async receive(tokens: number): Promise<boolean> {
      usage.outputBound += tokens;
      const isCovered = (await coverage.cover()) ?? true;
      // Increases ahead of the output end before the next chunk.
      await new Promise(setImmediate);
      return isCovered;
    },
    received: () => usage.outputBound,
  };
}

test('the hold is always ahead of what was received and what is on its way, with less than one increase per 1,000 tokens', async () => {
  for (const firstHold of [600, 1_000, 3_000]) {
    const { receive, received, coverage, increases } = stream(firstHold, 100_000);
    while (received() < 8_000) {
      expect(await receive(10)).toBe(true);
      const needed = Math.min(received() + inFlight, plan.maxOutputTokens);
      expect(coverage.heldTokens()).toBeGreaterThanOrEqual(needed);
    }
    expect(increases.length).toBeLessThanOrEqual(4);
    expect(coverage.heldTokens()).toBeLessThanOrEqual(plan.maxOutputTokens);
  }
});

test('a stream that needs what was expected is not increased', async () => {
  const { receive, received, increases } = stream(1_000 + inFlight, 100_000);
  while (received() < 600) {
    await receive(10);
  }
  expect(increases).toEqual([]);
});

test('near the limit the hold takes what is left, in smaller steps, before the stream is ended', async () => {
  const { receive, received, coverage, increases } = stream(1_000, 700);
  let isCovered = true;
  while (isCovered) {
    isCovered = await receive(10);
  }
  expect(coverage.heldTokens()).toBeGreaterThan(1_000 + 700 - 64);
  expect(received()).toBeGreaterThan(1_000 + 700 - 64 - inFlight);
  // What was received and is on its way exceeds the hold by no more than the last chunk.
  expect(received() + inFlight).toBeLessThanOrEqual(coverage.heldTokens() + 10);
  expect(increases.length).toBeLessThanOrEqual(20);
});
