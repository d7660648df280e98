/** The cost that a provider states with a response is that of the call, unless the organization has a price of its own. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { formatUsd } from '../kernel/money.ts';

const gateway = useGatewayWorld();
const messages = [{ role: 'user', content: 'Say hello to the world' }];

beforeAll(async () => {
  gateway.connections = [connectionTo(gateway.provider.url, 'openai_compatible', { name: 'router' })];
  for (const model of ['listed', 'listed:free', 'own', 'discounted']) {
    await put(`/v1/admin/models/${encodeURIComponent(model)}`, { provider: 'router', ...rates('1', '10') });
  }
  const units = { web_search: '0.01' };
  await put(`/v1/admin/orgs/${gateway.org.id}/prices/own`, { ...rates('2', '20'), units });
  await put(`/v1/admin/orgs/${gateway.org.id}/prices/discounted`, { discount_percent: '50' });
  gateway.provider.outputOf = () => 30;
});
beforeEach(() => gateway.world.clock.advanceSeconds(1));
afterEach(() => {
  Object.assign(gateway.provider, { usageMembers: {}, reportedModel: undefined, fault: undefined });
});

function rates(input: string, output: string) {
  return { input_usd_per_million: input, output_usd_per_million: output };
}

async function put(path: string, body: object, key = gateway.world.operatorKey): Promise<void> {
  const { status, json } = await gateway.world.request('PUT', path, { key, body });
  expect([status < 300, json]).toEqual([true, json]);
}

function onUnpriced(body: object): Promise<void> {
  return put(`/v1/orgs/${gateway.org.id}/unpriced-policy`, body, gateway.org.ownerKey);
}

/** Calls the model, whose provider states this. Returns the run. */
async function call(model: string, usage: object, more: object = {}) {
  gateway.provider.usageMembers = usage;
  gateway.world.clock.advanceSeconds(1);
  const response = await fetch(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, max_tokens: 100, ...more }),
  });
  const text = await response.text().catch(() => '');
  expect([response.status, text]).toEqual([200, text]);
  return eventually(async () => {
    expect(await gateway.holds()).toBe(0);
    const [{ id } = { id: '' }] = await gateway.runs();
    const { json } = await gateway.world.request('GET', `/v1/runs/${id}`, { key: gateway.org.ownerKey });
    return json;
  });
}

/** The cost of the last call at dollars per million tokens. */
function atRates(input: bigint, output: bigint, moreNanos = 0n): string {
  const { inputTokens = 0, outputTokens = 0 } = gateway.provider.bill.at(-1) ?? {};
  return formatUsd((BigInt(inputTokens) * input + BigInt(outputTokens) * output) * 1_000n + moreNanos);
}

describe.each([{}, { stream: true }])('a stated cost (%j)', (more) => {
  test('is that of a call of a model with a list price', async () => {
    expect(await call('listed', { cost: 0.0125, is_byok: false }, more)).toMatchObject({
      cost_usd: '0.0125',
      marks: ['over_hold'],
    });
  });

  test.each([
    ['own', 2n, 20n],
    ['discounted', 1n, 10n],
  ] as const)(
    'does not replace the price of the organization (%s), and stays visible',
    async (model, input, output) => {
      const run = await call(model, { cost: 0.0125, is_byok: false }, more);
      const half = model === 'discounted' ? 2n : 1n;
      const [whole = 0n] = [gateway.provider.bill.at(-1)].map(
        (billed) =>
          (BigInt(billed?.inputTokens ?? 0) * input + BigInt(billed?.outputTokens ?? 0) * output) * 1_000n,
      );
      expect(run).toMatchObject({
        cost_usd: formatUsd(whole / half),
        metadata: { stated_cost_usd: '0.0125' },
        marks: [],
      });
    },
  );

  test('does not replace the price of the organization for tools', async () => {
    const usage = { cost: 0.0125, is_byok: false, server_tool_use: { web_search_requests: 2 } };
    const run = await call('own', usage, more);
    expect(run.cost_usd).toBe(atRates(2n, 20n, 20_000_000n));
  });

  test('counts where the price of the organization cannot price the call', async () => {
    const usage = { cost: 0.0125, is_byok: false, server_tool_use: { web_search_requests: 2 } };
    expect(await call('discounted', usage, more)).toMatchObject({ cost_usd: '0.0125' });
  });

  test('of 0 does not make a call free whose model has a price', async () => {
    const run = await call('listed', { cost: 0, is_byok: false }, more);
    expect(run).toMatchObject({ cost_usd: atRates(1n, 10n), marks: [] });
  });

  test('of 0 counts for a free variant, and for a model without a price', async () => {
    const free = { cost: 0, is_byok: false };
    expect(await call('listed:free', free, more)).toMatchObject({ cost_usd: '0' });
    await onUnpriced({ on_unpriced: 'hold_default', ...rates('5', '50') });
    expect(await call('unlisted', free, more)).toMatchObject({ cost_usd: '0' });
    gateway.provider.reportedModel = 'listed';
    expect(await call('unlisted', free, more)).toMatchObject({ cost_usd: atRates(1n, 10n) });
    await onUnpriced({ on_unpriced: 'refuse' });
  });

  test.each([
    { cost: -1, is_byok: false },
    { cost: '0.000000001', is_byok: false },
    { cost: 1e300 },
    { cost: [0] },
    { cost: { total_cost: 0 } },
    { cost: { total_cost: { total_cost: 1 } } },
    { cost: null, cost_in_usd_ticks: -5 },
    { cost_in_usd_ticks: '1' },
    { cost: 0.00000001, is_byok: true },
  ])('that is none is not charged: %j', async (usage) => {
    expect(await call('listed', usage, more)).toMatchObject({ cost_usd: atRates(1n, 10n), marks: [] });
  });
});

test('a stated cost that a stream lost with its end is not that of the call: an upper bound is charged', async () => {
  gateway.provider.fault = () => ({ cutAfter: 5 });
  const run = await call('listed', { cost: 0.0125, is_byok: false }, { stream: true });
  expect(run.marks).toContain('usage_estimated');
  expect(Number(run.cost_usd)).toBeGreaterThanOrEqual(Number(atRates(1n, 10n)));
});
