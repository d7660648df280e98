import { expect, test } from 'vitest';
import { createOpenIncreases } from './open-increases.ts';

const outage = new Error('away');
const denial = new Error('denied');

function createIncreases() {
  const increased: unknown[] = [];
  const state: { error: Error | undefined } = { error: undefined };
  const increase = createOpenIncreases(
    async (_orgId, _decisionId, by, more) => {
      if (state.error !== undefined) {
        throw state.error;
      }
      increased.push(more === undefined ? by : { ...by, ...more });
    },
    (error) => error === outage,
  );
  return { increase, increased, state };
}

test('an outage allows increases, and the next one adds what the ledger missed', async () => {
  const { increase, increased, state } = createIncreases();
  state.error = outage;
  expect(await increase('org', 'dec_1', { cost_usd: '0.01', tokens: 1_000 })).toBe(true);
  const attempt = { attemptMaxNanos: 7n };
  expect(await increase('org', 'dec_1', { cost_usd: '0.02', tokens: 2_000 }, attempt)).toBe(true);
  expect(await increase('org', 'dec_2', { output_tokens: 64 })).toBe(true);
  state.error = undefined;
  expect(await increase('org', 'dec_1', { cost_usd: '0.005', tokens: 500 })).toBe(true);
  expect(await increase('org', 'dec_2', { output_tokens: 1 })).toBe(true);
  expect(await increase('org', 'dec_1', { cost_usd: '0.005', tokens: 500 })).toBe(true);
  expect(increased).toEqual([
    { cost_usd: '0.035', tokens: 3_500, attemptMaxNanos: 7n },
    { output_tokens: 65 },
    { cost_usd: '0.005', tokens: 500 },
  ]);
});

test('a limit denies an increase with what the ledger missed, until it has room', async () => {
  const { increase, increased, state } = createIncreases();
  state.error = outage;
  expect(await increase('org', 'dec_1', { output_tokens: 100 })).toBe(true);
  state.error = denial;
  expect(await increase('org', 'dec_1', { output_tokens: 50 })).toBe(false);
  state.error = undefined;
  expect(await increase('org', 'dec_1', { output_tokens: 10 })).toBe(true);
  expect(increased).toEqual([{ output_tokens: 110 }]);
});
